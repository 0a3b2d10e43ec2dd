// SPDX-License-Identifier: Apache-2.0
// Messages and sizes of private retrieval, checked or described without a client or server.
#include "halocline/pir/messages.hpp"

#include "halocline/core/expects.hpp"
#include "halocline/pir/least_budget.hpp"
#include "pir.hpp"

namespace halocline::python {
namespace {

nb::dict inspect(const nb::bytes& bytes) {
  const pir::message_info found = pir::inspect_message(span_of(bytes));
  nb::dict out;
  out["kind"] = found.kind;
  out["levels"] = found.levels;
  out["of"] = to_bytes(found.of);
  out["client"] = to_bytes(found.client);
  return out;
}

/// Checks keys of a client for a database. Returns whose they are.
nb::bytes check_keys(const pir::geometry& of, const nb::bytes& bytes) {
  pir::client_id owner{};
  {
    const released meanwhile;
    const pir::server_keys_message read = pir::read_server_keys(of, span_of(bytes));
    const unsigned depth = of.at.expansion_depth(of.scheme);
    HALOCLINE_EXPECTS(read.levels >= depth, invalid_argument, "retrieval keys: they have ", read.levels,
                      " levels, and this database needs ", depth, "; make keys with a client of it");
    owner = read.client;
  }
  return to_bytes(owner);
}

/// Checks a query to a database. Returns whose it is.
nb::bytes check_query(const pir::geometry& of, const nb::bytes& bytes) {
  pir::client_id owner{};
  {
    const released meanwhile;
    owner = pir::read_query(of, span_of(bytes)).client;
  }
  return to_bytes(owner);
}

nb::dict sizes(const pir::geometry& of) {
  const pir::message_sizes found = pir::message_sizes_of(of);
  nb::dict out;
  out["server_keys"] = found.server_keys;
  out["query"] = found.query;
  out["answer"] = found.answer;
  return out;
}

bool falls_short(const pir::geometry& of, bool raw, std::uint64_t bytes, const std::string& policy) {
  const released meanwhile;
  return pir::falls_short(of, raw ? pir::storage::raw : pir::storage::transformed, bytes, policy);
}

nb::dict budgets(const pir::geometry& of, bool raw) {
  pir::least_budgets found;
  {
    const released meanwhile;
    found = pir::find_least_budgets(of, raw ? pir::storage::raw : pir::storage::transformed);
  }
  nb::dict out;
  out["resident"] = found.resident_bytes;
  out["lru"] = found.lru_bytes;
  return out;
}

}  // namespace

void bind_retrieval_messages(nb::module_& module) {
  module.def("least_retrieval_budgets", budgets, nb::arg("geometry"), nb::arg("raw"));
  module.def("retrieval_budget_falls_short", falls_short, nb::arg("geometry"), nb::arg("raw"),
             nb::arg("budget_bytes"), nb::arg("policy"));
  module.def("retrieval_message", inspect, nb::arg("data"));
  module.def("check_retrieval_keys", check_keys, nb::arg("geometry"), nb::arg("data"));
  module.def("check_retrieval_query", check_query, nb::arg("geometry"), nb::arg("data"));
  module.def("retrieval_message_sizes", sizes, nb::arg("geometry"));
}

}  // namespace halocline::python
