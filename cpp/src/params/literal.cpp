// SPDX-License-Identifier: Apache-2.0
#include "halocline/params/literal.hpp"

#include <functional>
#include <initializer_list>
#include <limits>

#include "halocline/core/expects.hpp"
#include "halocline/core/json.hpp"

namespace halocline::params {

namespace {

/// Reads the members of one object and refuses unknown ones.
class field_reader {
 public:
  using handler = std::pair<std::string_view, std::function<void(const json::value&, std::string_view)>>;

  static void read(const json::object& members, std::string_view where,
                   std::initializer_list<handler> handlers) {
    for (const auto& [name, content] : members) {
      const handler* match = nullptr;
      for (const handler& h : handlers) {
        if (h.first == name) match = &h;
      }
      HALOCLINE_EXPECTS(match != nullptr, invalid_argument, "unknown field \"", json::printable(name),
                        "\" in ", where, "; expected ", names(handlers), "; remove it or correct its name");
      match->second(content, match->first);
    }
  }

 private:
  static std::string names(std::initializer_list<handler> handlers) {
    std::string all;
    for (const handler& h : handlers) {
      if (!all.empty()) all += ", ";
      all += h.first;
    }
    return "one of " + all;
  }
};

auto into(unsigned& target) {
  return [&target](const json::value& v, std::string_view name) {
    target = static_cast<unsigned>(v.as_integer(name, 0, std::numeric_limits<unsigned>::max()));
  };
}

auto into(double& target) {
  return [&target](const json::value& v, std::string_view name) { target = v.as_number(name); };
}

auto into(bool& target) {
  return [&target](const json::value& v, std::string_view name) { target = v.as_bool(name); };
}

secret_distribution read_secret(const json::value& v, std::string_view name) {
  secret_distribution secret;
  const json::object& members = v.as_object(name);
  HALOCLINE_EXPECTS(json::find(members, "kind") != nullptr, invalid_argument,
                    "\"secret\" lacks \"kind\"; expected \"ternary\" or \"sparse\"");
  field_reader::read(members, "\"secret\"",
                     {{"kind",
                       [&](const json::value& kind, std::string_view field) {
                         const std::string& word = kind.as_string(field);
                         HALOCLINE_EXPECTS(word == "ternary" || word == "sparse", invalid_argument,
                                           "secret kind is \"", word,
                                           "\"; expected \"ternary\" or \"sparse\"");
                         secret.kind = word == "sparse" ? secret_kind::sparse : secret_kind::ternary;
                       }},
                      {"hamming_weight", into(secret.hamming_weight)}});
  return secret;
}

level_group read_group(const json::value& v, std::string_view name) {
  level_group group;
  const json::object& members = v.as_object(name);
  for (const std::string_view field : {"bits", "levels"}) {
    HALOCLINE_EXPECTS(json::find(members, field) != nullptr, invalid_argument, "\"", name, "\" lacks \"",
                      field, "\"; expected {\"bits\": 60, \"levels\": 8} or the like");
  }
  field_reader::read(members, text("\"", name, "\""),
                     {{"bits", into(group.bits)}, {"levels", into(group.levels)}});
  return group;
}

bootstrap_literal read_bootstrapping(const json::value& v, std::string_view name) {
  bootstrap_literal result;
  const json::object& members = v.as_object(name);
  const auto group = [](level_group& target) {
    return [&target](const json::value& each, std::string_view field) { target = read_group(each, field); };
  };
  field_reader::read(members, "\"bootstrapping\"",
                     {{"eval_mod", group(result.eval_mod)},
                      {"coeff_to_slot", group(result.coeff_to_slot)},
                      {"slot_to_coeff_levels", into(result.slot_to_coeff_levels)},
                      {"ephemeral_weight", into(result.ephemeral_weight)},
                      {"ephemeral_special_primes", into(result.ephemeral_special_primes)}});
  return result;
}

json::object write_bootstrapping(const bootstrap_literal& source) {
  const auto group = [](const level_group& each) {
    return json::object{{"bits", each.bits}, {"levels", each.levels}};
  };
  return {{"eval_mod", group(source.eval_mod)},
          {"coeff_to_slot", group(source.coeff_to_slot)},
          {"slot_to_coeff_levels", source.slot_to_coeff_levels},
          {"ephemeral_weight", source.ephemeral_weight},
          {"ephemeral_special_primes", source.ephemeral_special_primes}};
}

void require(const json::object& members, std::string_view name) {
  HALOCLINE_EXPECTS(json::find(members, name) != nullptr, invalid_argument, "parameter literal lacks \"",
                    name, "\"; expected it to be present");
}

void check_schema(const json::value& v, std::string_view field) {
  const std::uint64_t got = v.as_integer(field, 0, std::numeric_limits<unsigned>::max());
  HALOCLINE_EXPECTS(got == literal::schema_version, invalid_argument, "parameter literal has schema ", got,
                    "; expected ", literal::schema_version, "; read it with the version that wrote it");
}

}  // namespace

std::string literal::to_json(unsigned indent) const {
  json::object secret_members = {{"kind", secret.kind == secret_kind::sparse ? "sparse" : "ternary"}};
  if (secret.kind == secret_kind::sparse || secret.hamming_weight != 0) {
    secret_members.emplace_back("hamming_weight", secret.hamming_weight);
  }
  json::object members = {
      {"schema", schema_version},
      {"name", name},
      {"log_n", log_n},
      {"word_bits", word_bits},
      {"scale_bits", scale_bits},
      {"base_bits", base_bits},
      {"depth", depth},
      {"main_bits", main_bits},
      {"terminal_bits", terminal_bits},
      {"special_primes", special_primes},
      {"special_bits", special_bits},
      {"digit_size", digit_size},
      {"secret", std::move(secret_members)},
      {"error_stddev", error_stddev},
      {"galois_generator", galois_generator},
      {"allow_insecure", allow_insecure},
  };
  // Only where it is there, so that the canonical form, and the fingerprint, of all other sets stay.
  if (bootstrapping) members.emplace_back("bootstrapping", write_bootstrapping(*bootstrapping));
  return json::write(members, indent);
}

literal literal::from_json(std::string_view text) {
  json::limits limit;
  limit.bytes = max_json_bytes;
  const json::value parsed = json::parse(text, limit);
  const json::object& members = parsed.as_object("parameter literal");
  require(members, "schema");
  require(members, "log_n");
  literal result;
  const json::value* words = json::find(members, "word_bits");
  if (words != nullptr && *words == json::value(64)) {
    result.main_bits = 0;
    result.terminal_bits = 0;
  }
  field_reader::read(
      members, "the parameter literal",
      {{"schema", check_schema},
       {"name", [&](const json::value& v, std::string_view field) { result.name = v.as_string(field); }},
       {"log_n", into(result.log_n)},
       {"word_bits", into(result.word_bits)},
       {"scale_bits", into(result.scale_bits)},
       {"base_bits", into(result.base_bits)},
       {"depth", into(result.depth)},
       {"main_bits", into(result.main_bits)},
       {"terminal_bits", into(result.terminal_bits)},
       {"special_primes", into(result.special_primes)},
       {"special_bits", into(result.special_bits)},
       {"digit_size", into(result.digit_size)},
       {"secret",
        [&](const json::value& v, std::string_view field) { result.secret = read_secret(v, field); }},
       {"error_stddev", into(result.error_stddev)},
       {"galois_generator", into(result.galois_generator)},
       {"allow_insecure", into(result.allow_insecure)},
       {"bootstrapping", [&](const json::value& v, std::string_view field) {
          result.bootstrapping = read_bootstrapping(v, field);
        }}});
  return result;
}

}  // namespace halocline::params
