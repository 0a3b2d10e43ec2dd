// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "bindings.hpp"
#include "halocline/backend/descriptors.hpp"
#include "halocline/ckks/key_generator.hpp"
#include "halocline/core/format.hpp"
#include "halocline/params/footprint.hpp"
#include "halocline/params/insecure.hpp"
#include "halocline/params/presets.hpp"
#include "halocline/params/raise_range.hpp"

namespace halocline::python {
namespace {

using params::footprint;
using params::parameters;

/// One row of the level table as a dictionary.
nb::dict level_row(const parameters& p, unsigned level) {
  const params::level_info& info = p.level(level);
  nb::dict row;
  row["level"] = level;
  row["log2_modulus"] = info.log2_modulus;
  row["scale"] = info.scale;
  row["arrival_scale"] = info.arrival_scale;
  row["use"] = std::string(params::level_use_name(info.use));
  row["primes"] = info.q.count;
  row["terminals"] = info.terminals;
  row["mains"] = info.mains;
  row["ciphertext_bytes"] = footprint(p).ciphertext(level);
  row["key_bytes"] = footprint(p).evaluation_key(level);
  return row;
}

/// What bootstrapping needs as a dictionary, or None.
std::optional<nb::dict> bootstrapping_of(const parameters& p) {
  if (!p.bootstrapping()) return std::nullopt;
  const params::bootstrap_literal& source = *p.bootstrapping();
  nb::dict out;
  out["eval_mod_levels"] = source.eval_mod.levels;
  out["eval_mod_bits"] = source.eval_mod.bits;
  out["coeff_to_slot_levels"] = source.coeff_to_slot.levels;
  out["coeff_to_slot_bits"] = source.coeff_to_slot.bits;
  out["slot_to_coeff_levels"] = source.slot_to_coeff_levels;
  out["raise_weight"] = params::raise_weight(p);
  out["encapsulated"] = p.encapsulation().has_value();
  const params::encapsulation_info none;
  const params::encapsulation_info& e = p.encapsulation() ? *p.encapsulation() : none;
  out["ephemeral_log2_pq"] = e.log2_pq;
  out["ephemeral_max_log2_pq"] = e.security.max_log2_pq;
  out["ephemeral_security_bits"] = e.security.bits;
  out["ephemeral_security_source"] = e.security.source;
  return out;
}

nb::bytes fingerprint_of(const parameters& p) {
  const params::fingerprint_bytes& value = p.fingerprint();
  return nb::bytes(reinterpret_cast<const char*>(value.data()), value.size());
}

void bind_values(nb::class_<parameters>& type) {
  type.def_prop_ro("name", [](const parameters& p) { return p.name(); })
      .def_prop_ro("log_n", &parameters::log_n)
      .def_prop_ro("n", &parameters::n)
      .def_prop_ro("slots", &parameters::slots)
      .def_prop_ro("word_bits", &parameters::word_bits)
      .def_prop_ro("max_level", &parameters::max_level)
      .def_prop_ro("top_level", &parameters::top_level)
      .def("lowered_offset", &parameters::lowered_offset, nb::arg("message_level"))
      .def_prop_ro("base_modulus", &parameters::base_modulus)
      .def_prop_ro("digit_count", &parameters::digit_count)
      .def_prop_ro("log2_q", &parameters::log2_q)
      .def_prop_ro("log2_p", &parameters::log2_p)
      .def_prop_ro("log2_pq", &parameters::log2_pq)
      .def_prop_ro("security_bits", &parameters::security_bits)
      .def_prop_ro("main_security_bits", [](const parameters& p) { return p.security().bits; })
      .def_prop_ro("security_source", [](const parameters& p) { return p.security().source; })
      .def_prop_ro("max_log2_pq", [](const parameters& p) { return p.security().max_log2_pq; })
      .def_prop_ro("primes", [](const parameters& p) {
        return std::vector<std::uint64_t>(p.primes().begin(), p.primes().end());
      });
}

/// Bytes of one key; seeded, one half of each digit is 32 bytes.
std::size_t request_bytes(const parameters& p, std::uint64_t element, unsigned level, bool seeded) {
  constexpr std::size_t seed = 32;
  std::size_t total = 0;
  for (const ckks::key_digit_layout& each : ckks::key_layout(p, {element, level})) {
    const std::size_t half = each.limbs() * p.limb_bytes();
    total += half + (seeded ? seed : half);
  }
  return total;
}

void bind_footprint(nb::class_<parameters>& type) {
  type.def(
          "ciphertext_bytes",
          [](const parameters& p, unsigned level, unsigned components) {
            return footprint(p).ciphertext(level, components);
          },
          nb::arg("level"), nb::arg("components") = 2)
      .def(
          "plaintext_bytes",
          [](const parameters& p, unsigned level) { return footprint(p).plaintext(level); }, nb::arg("level"))
      .def(
          "key_bytes",
          [](const parameters& p, unsigned level, bool seeded) {
            return seeded ? footprint(p).evaluation_key_seeded(level) : footprint(p).evaluation_key(level);
          },
          nb::arg("level"), nb::arg("seeded") = false)
      .def(
          "encapsulation_key_bytes",
          [](const parameters& p, unsigned level, bool seeded) {
            return footprint(p).encapsulation_key(level, seeded);
          },
          nb::arg("level"), nb::arg("seeded") = false)
      .def(
          "is_key_element",
          [](const parameters& p, std::uint64_t element) { return ckks::is_key_element(p, element); },
          nb::arg("element"))
      .def("request_bytes", request_bytes, nb::arg("element"), nb::arg("level"), nb::arg("seeded"))
      .def("public_key_bytes", [](const parameters& p) { return footprint(p).public_key(); })
      .def("secret_key_bytes", [](const parameters& p) { return footprint(p).secret_key(); })
      .def("table_bytes", [](const parameters& p) { return footprint(p).ring_tables(); })
      .def("permutation_bytes", [](const parameters& p) { return footprint(p).permutation(); })
      .def(
          "key_switch_workspace_bytes",
          [](const parameters& p, unsigned level) { return footprint(p).key_switch_workspace(level); },
          nb::arg("level"));
}

}  // namespace

void bind_params(nb::module_& module) {
  nb::class_<parameters> type(module, "Params");
  type.def_static(
          "preset", [](const std::string& name) { return params::preset(name); }, nb::arg("name"))
      .def_static(
          "from_json",
          [](const std::string& text, bool allow_insecure) {
            const params::literal source = params::literal::from_json(text);
            return allow_insecure ? params::accept_insecure(source) : parameters::from_literal(source);
          },
          nb::arg("text"), nb::arg("allow_insecure"), nb::call_guard<released>())
      .def("to_json", &parameters::to_json, nb::arg("indent") = 2)
      .def_prop_ro("fingerprint", fingerprint_of)
      .def("level_row", level_row, nb::arg("level"))
      .def("galois_element", &parameters::galois_element, nb::arg("rotation"))
      .def_prop_ro("conjugation_element", &parameters::conjugation_element)
      .def(
          "rotation_of",
          [](const parameters& p, std::uint64_t element) { return ckks::rotation_of(p, element); },
          nb::arg("galois_element"))
      .def("bootstrapping", bootstrapping_of)
      .def("__eq__", [](const parameters& a, const parameters& b) { return a == b; });
  bind_values(type);
  bind_footprint(type);
  module.def("log2_overflow_probability", &params::log2_overflow_probability, nb::arg("weight"),
             nb::arg("range"), nb::arg("coefficients"));
  module.def("overflow_range", &params::overflow_range, nb::arg("weight"), nb::arg("log2_probability"),
             nb::arg("coefficients"));
  module.def("preset_names", [] { return params::preset_names(); });
  module.def(
      "preset_description", [](const std::string& name) { return params::preset_description(name); },
      nb::arg("name"));
  module.def("format_bytes", &format_bytes, nb::arg("bytes"));
  module.def(
      "parse_bytes", [](const std::string& text) { return parse_bytes(text); }, nb::arg("text"));
}

}  // namespace halocline::python
