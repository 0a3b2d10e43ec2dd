// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <istream>
#include <sstream>
#include <streambuf>
#include <string_view>

#include "bindings.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/memory/plan/minimum.hpp"
#include "halocline/memory/trace.hpp"
#include "halocline/memory/trace_formats/perfetto.hpp"
#include "halocline/memory/trace_formats/rmm_log.hpp"

namespace halocline::python {
namespace {

using memory::trace;
using memory::trace_event;

/// A numpy column of one number of every event.
template <typename GetT>
auto column(const trace& t, GetT get) {
  std::vector<std::uint64_t> values;
  values.reserve(t.events.size());
  for (const trace_event& each : t.events) values.push_back(static_cast<std::uint64_t>(get(each)));
  return to_numpy(std::move(values));
}

/// A text column as (texts, number of the text of every event).
template <typename GetT>
nb::tuple texts(const trace& t, const std::vector<std::string>& names, GetT get) {
  std::vector<std::uint32_t> values;
  values.reserve(t.events.size());
  for (const trace_event& each : t.events) values.push_back(static_cast<std::uint32_t>(get(each)));
  return nb::make_tuple(names, to_numpy(std::move(values)));
}

/// Names of the values of an enumeration from 0 up to `last`.
template <typename EnumT>
std::vector<std::string> names_up_to(EnumT last) {
  std::vector<std::string> names;
  for (unsigned i = 0; i <= static_cast<unsigned>(last); ++i) {
    names.emplace_back(to_string(static_cast<EnumT>(i)));
  }
  return names;
}

nb::dict columns(const trace& t) {
  nb::dict out;
  out["step"] = column(t, [](const trace_event& e) { return e.step; });
  out["object"] = column(t, [](const trace_event& e) { return e.object; });
  out["bytes"] = column(t, [](const trace_event& e) { return e.bytes; });
  out["offset"] = column(t, [](const trace_event& e) { return e.offset; });
  out["stream"] = column(t, [](const trace_event& e) { return e.stream; });
  out["time_ns"] = column(t, [](const trace_event& e) { return e.time_ns; });
  out["op"] = texts(t, t.names, [](const trace_event& e) { return e.op; });
  out["tag"] = texts(t, t.names, [](const trace_event& e) { return e.tag; });
  out["action"] =
      texts(t, names_up_to(memory::trace_action::exists), [](const trace_event& e) { return e.action; });
  out["class"] =
      texts(t, names_up_to(memory::object_class::table), [](const trace_event& e) { return e.cls; });
  return out;
}

std::string to_csv(const trace& t) {
  std::ostringstream out;
  t.write_csv(out);
  return std::move(out).str();
}

/// A stream over a text that stays where it is: traces are too large to be copied for it.
class text_stream : private std::streambuf, public std::istream {
 public:
  explicit text_stream(const nb::bytes& text) : std::istream(static_cast<std::streambuf*>(this)) {
    auto* const begin = const_cast<char*>(text.c_str());  // never written to: there is no put area
    setg(begin, begin, begin + text.size());
  }
};

trace from_csv(const nb::bytes& text) {
  text_stream in(text);
  const released meanwhile;
  const std::string_view all(text.c_str(), text.size());
  const auto lines = static_cast<std::size_t>(std::count(all.begin(), all.end(), '\n'));
  return trace::read_csv(in, std::min(lines, all.size() / trace::least_row_bytes));
}

std::string to_rmm(const trace& t) {
  std::ostringstream out;
  memory::write_rmm_log(t, out);
  return std::move(out).str();
}

trace from_rmm(const nb::bytes& text, const std::string& cls) {
  text_stream in(text);
  const released meanwhile;
  for (std::size_t i = 0; i < memory::object_class_count; ++i) {
    const auto each = static_cast<memory::object_class>(i);
    if (to_string(each) == cls) return memory::read_rmm_log(in, each);
  }
  throw invalid_argument("unknown object class '" + cls + "'");
}

std::string to_perfetto(const trace& t) {
  std::ostringstream out;
  memory::write_perfetto(memory::make_timeline(t), out);
  return std::move(out).str();
}

/// (under 'lru', under 'planned', under 'managed')
std::tuple<std::uint64_t, std::uint64_t, std::uint64_t> minimum_budget(const trace& t) {
  const memory::plan::minimum_budget found = memory::plan::find_minimum(t);
  return {found.lru_bytes, found.planned_bytes, found.managed_bytes};
}

}  // namespace

void bind_trace(nb::module_& module) {
  nb::class_<trace>(module, "Trace")
      .def(nb::init<>())
      .def_static("from_csv", from_csv, nb::arg("text"))
      .def("to_csv", to_csv, nb::call_guard<released>())
      .def_static("from_rmm", from_rmm, nb::arg("text"), nb::arg("cls"))
      .def("to_rmm", to_rmm, nb::call_guard<released>())
      .def("to_perfetto", to_perfetto, nb::call_guard<released>())
      .def("columns", columns)
      .def("minimum_budget", minimum_budget, nb::call_guard<released>())
      .def("__len__", [](const trace& t) { return t.events.size(); });
  module.def(
      "start_trace", [](bound_engine& e) { e.where->ctx->runtime().start_trace(); }, nb::arg("engine"));
  module.def(
      "stop_trace", [](bound_engine& e) { return e.where->ctx->runtime().stop_trace(); }, nb::arg("engine"));
  module.def(
      "set_phase",
      [](bound_engine& e, const std::string& phase) { e.where->ctx->runtime().set_phase(phase); },
      nb::arg("engine"), nb::arg("phase"));
}

}  // namespace halocline::python
