// SPDX-License-Identifier: Apache-2.0
// Private retrieval: parameters, and what its other files share.
#include "pir.hpp"

#include <cstring>

#include "halocline/core/expects.hpp"
#include "halocline/pir/geometry.hpp"

namespace halocline::python {
namespace {

pir::parameters make_parameters(const std::string& name, unsigned log_n, unsigned prime_count,
                                double prime_bits, unsigned plain_bits, double error_stddev,
                                double log2_failure, bool allow_insecure, unsigned expansion_digits,
                                unsigned selection_digits, unsigned secret_digits, unsigned answer_bits) {
  return pir::parameters::from_literal({name, log_n, prime_count, prime_bits, plain_bits, error_stddev,
                                        log2_failure, allow_insecure, unless_zero(expansion_digits),
                                        unless_zero(selection_digits), unless_zero(secret_digits),
                                        unless_zero(answer_bits)});
}

/// The fields from which `make_parameters` makes the same.
nb::dict fields_of(const pir::parameters& p) {
  const pir::literal& source = p.source();
  nb::dict out;
  out["name"] = source.name;
  out["log_n"] = source.log_n;
  out["prime_count"] = source.prime_count;
  out["prime_bits"] = source.prime_bits;
  out["plain_bits"] = source.plain_bits;
  out["error_stddev"] = source.error_stddev;
  out["log2_failure"] = source.log2_failure;
  out["allow_insecure"] = source.allow_insecure;
  out["expansion_digits"] = source.expansion_digits;
  out["selection_digits"] = source.selection_digits;
  out["secret_digits"] = source.secret_digits;
  out["answer_bits"] = source.answer_bits;
  return out;
}

pir::geometry make_geometry(const pir::parameters& scheme, std::uint64_t records, std::uint64_t record_bytes,
                            const std::string& device, unsigned threads, std::uint32_t batch,
                            std::uint32_t rows, std::size_t max_key_bytes, std::size_t memory_bytes) {
  pir::layout_request request;
  request.batch = batch;
  request.rates = pir::rates_of(device, threads);
  request.rows = unless_zero(rows);
  request.max_key_bytes = max_key_bytes;
  request.memory_bytes = memory_bytes;
  return pir::make_geometry(scheme, records, record_bytes, request);
}

/// Numbers about a database that its public description determines.
nb::dict about(const pir::geometry& of) {
  const pir::layout_sizes bytes = pir::sizes(of.scheme, of.at);
  const pir::noise_forecast noise = pir::forecast(of.scheme, of.at, of.planes());
  nb::dict out;
  out["records"] = of.records;
  out["record_bytes"] = of.record_bytes;
  out["rows"] = of.at.rows;
  out["columns"] = of.at.columns;
  out["planes"] = of.planes();
  out["plaintexts"] = of.plaintexts();
  out["records_per_plaintext"] = of.records_per_plaintext();
  out["expansion_levels"] = of.at.expansion_depth(of.scheme);
  out["expansion_digits"] = of.at.expansion.digits;
  out["selection_digits"] = of.at.selection.digits;
  out["secret_digits"] = of.at.secret.digits;
  out["query_bytes"] = bytes.query;
  out["server_keys_bytes"] = bytes.server_keys;
  out["transformed_bytes"] = bytes.database * of.planes();
  out["expanded_query_bytes"] = bytes.expanded;
  out["log2_failure"] = noise.log2_failure;
  return out;
}

void bind_geometry(nb::module_& module) {
  nb::class_<pir::geometry>(module, "RetrievalGeometry")
      .def_static("make", make_geometry, nb::arg("params"), nb::arg("records"), nb::arg("record_bytes"),
                  nb::arg("device"), nb::arg("threads"), nb::arg("batch"), nb::arg("rows"),
                  nb::arg("max_key_bytes"), nb::arg("memory_bytes"), nb::call_guard<released>())
      .def_static(
          "from_json",
          [](const std::string& text, bool allow_insecure) {
            return pir::geometry_from_json(text, allow_insecure);
          },
          nb::arg("text"), nb::arg("allow_insecure"), nb::call_guard<released>())
      .def("to_json", [](const pir::geometry& of) { return pir::to_json(of); })
      .def(
          "with_id",
          [](const pir::geometry& of, nb::bytes id) {
            pir::geometry named = of;
            HALOCLINE_EXPECTS(id.size() == named.id.size(), invalid_argument, "database: an identity of ",
                              id.size(), " bytes; expected ", named.id.size());
            std::memcpy(named.id.data(), id.c_str(), named.id.size());
            return named;
          },
          nb::arg("id"))
      .def("about", about)
      .def_prop_ro("params", [](const pir::geometry& of) { return of.scheme; })
      .def_prop_ro("records", [](const pir::geometry& of) { return of.records; })
      .def_prop_ro("record_bytes", [](const pir::geometry& of) { return of.record_bytes; })
      .def_prop_ro("fingerprint", [](const pir::geometry& of) { return to_bytes(pir::fingerprint_of(of)); })
      .def_prop_ro("key_shape", [](const pir::geometry& of) { return to_bytes(pir::key_shape_of(of)); });
}

}  // namespace

std::function<void(std::uint64_t, std::uint64_t)> progress_of(const nb::object& call) {
  if (call.is_none()) return {};
  return [&call](std::uint64_t done, std::uint64_t total) {
    call_python([&] {
      const nb::gil_scoped_acquire inside;
      call(done, total);
    });
  };
}

void bind_retrieval(nb::module_& module) {
  nb::class_<pir::parameters>(module, "RetrievalParams")
      .def_static("make", make_parameters, nb::arg("name"), nb::arg("log_n"), nb::arg("prime_count"),
                  nb::arg("prime_bits"), nb::arg("plain_bits"), nb::arg("error_stddev"),
                  nb::arg("log2_failure"), nb::arg("allow_insecure"), nb::arg("expansion_digits"),
                  nb::arg("selection_digits"), nb::arg("secret_digits"), nb::arg("answer_bits"))
      .def_static(
          "preset",
          [](const std::string& name, bool allow_insecure) { return pir::preset(name, allow_insecure); },
          nb::arg("name"), nb::arg("allow_insecure"))
      .def("fields", fields_of)
      .def_prop_ro("n", [](const pir::parameters& p) { return p.n(); })
      .def_prop_ro("primes",
                   [](const pir::parameters& p) {
                     return std::vector<std::uint64_t>(p.primes().begin(), p.primes().end());
                   })
      .def_prop_ro("log2_q", &pir::parameters::log2_q)
      .def_prop_ro("security_bits", &pir::parameters::security_bits)
      .def_prop_ro("plaintext_bytes", &pir::parameters::plaintext_bytes);
  module.def("retrieval_preset_names", &pir::preset_names);
  bind_geometry(module);
  bind_retrieval_messages(module);
  bind_retrieval_records(module);
  bind_retrieval_parties(module);
  bind_keyword_tables(module);
}

}  // namespace halocline::python
