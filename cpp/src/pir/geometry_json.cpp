// SPDX-License-Identifier: Apache-2.0
// Canonical text of a geometry, and the fingerprints that follow from such texts.
#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "geometry_check.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/core/json.hpp"
#include "halocline/io/checksum.hpp"

namespace halocline::pir {
namespace {

constexpr unsigned schema_version = 1;
/// A text with all fields has less than 1 KiB.
constexpr json::limits text_limits{.bytes = 4096, .depth = 3, .values = 64};

using names = std::span<const std::string_view>;
constexpr std::array<std::string_view, 6> top_fields = {"schema", "id",      "scheme",
                                                        "layout", "records", "record_bytes"};
constexpr std::array<std::string_view, 11> scheme_fields = {
    "name",         "log_n",        "prime_count",      "prime_bits",       "plain_bits",
    "error_stddev", "log2_failure", "expansion_digits", "selection_digits", "secret_digits",
    "answer_bits"};
constexpr std::array<std::string_view, 7> layout_fields = {
    "rows",          "columns",      "expansion_digits", "selection_digits",
    "secret_digits", "answer_bits0", "answer_bits1"};

/// Members of an object that has exactly these fields.
class fields {
 public:
  fields(const json::value& source, std::string_view where, names expected)
      : members_(source.as_object(where)) {
    for (const auto& [name, content] : members_) {
      HALOCLINE_EXPECTS(std::ranges::find(expected, name) != expected.end(), invalid_argument,
                        "retrieval geometry: unknown field \"", json::printable(name), "\" in ", where,
                        "; remove it");
    }
    for (const std::string_view name : expected) {
      HALOCLINE_EXPECTS(json::find(members_, name) != nullptr, invalid_argument,
                        "retrieval geometry: ", where, " lacks the field \"", name,
                        "\"; every field must be there");
    }
  }

  [[nodiscard]] const json::value& at(std::string_view name) const { return *json::find(members_, name); }
  [[nodiscard]] double number(std::string_view name) const { return at(name).as_number(name); }
  [[nodiscard]] std::uint64_t integer(std::string_view name, std::uint64_t low, std::uint64_t high) const {
    return at(name).as_integer(name, low, high);
  }
  [[nodiscard]] unsigned small(std::string_view name, unsigned high) const {
    return static_cast<unsigned>(integer(name, 0, high));
  }
  [[nodiscard]] std::optional<unsigned> optional(std::string_view name, unsigned high) const {
    if (at(name) == json::value(nullptr)) return std::nullopt;
    return static_cast<unsigned>(integer(name, 1, high));
  }

 private:
  const json::object& members_;
};

json::value optional_value(std::optional<unsigned> source) {
  return source ? json::value(*source) : json::value(nullptr);
}

json::object write_scheme(const literal& source) {
  // + 0: -0 and 0 are the same bound and must give the same text.
  return {{"name", source.name},
          {"log_n", source.log_n},
          {"prime_count", source.prime_count},
          {"prime_bits", source.prime_bits},
          {"plain_bits", source.plain_bits},
          {"error_stddev", source.error_stddev},
          {"log2_failure", source.log2_failure + 0.0},
          {"expansion_digits", optional_value(source.expansion_digits)},
          {"selection_digits", optional_value(source.selection_digits)},
          {"secret_digits", optional_value(source.secret_digits)},
          {"answer_bits", optional_value(source.answer_bits)}};
}

json::object write_layout(const layout& at) {
  return {{"rows", at.rows},
          {"columns", at.columns},
          {"expansion_digits", at.expansion.digits},
          {"selection_digits", at.selection.digits},
          {"secret_digits", at.secret.digits},
          {"answer_bits0", at.answer_bits0},
          {"answer_bits1", at.answer_bits1}};
}

/// `parameters::from_literal` and `forecast` check the numbers further.
parameters read_scheme(const json::value& source, bool allow_insecure) {
  const fields in(source, "\"scheme\"", scheme_fields);
  literal found;
  found.name = in.at("name").as_string("name");
  found.log_n = in.small("log_n", 64);
  found.prime_count = in.small("prime_count", 64);
  found.prime_bits = in.number("prime_bits");
  found.plain_bits = in.small("plain_bits", 64);
  found.error_stddev = in.number("error_stddev");
  found.log2_failure = in.number("log2_failure");
  found.allow_insecure = allow_insecure;
  found.expansion_digits = in.optional("expansion_digits", 8);
  found.selection_digits = in.optional("selection_digits", 8);
  found.secret_digits = in.optional("secret_digits", 8);
  found.answer_bits = in.optional("answer_bits", max_answer_bits);
  return parameters::from_literal(found);
}

layout read_layout(const json::value& source, const parameters& scheme) {
  const fields in(source, "\"layout\"", layout_fields);
  layout found;
  found.rows = static_cast<std::uint32_t>(in.integer("rows", 1, scheme.n()));
  found.columns =
      static_cast<std::uint32_t>(in.integer("columns", 1, std::numeric_limits<std::uint32_t>::max()));
  found.expansion = scheme.split(in.small("expansion_digits", 8));
  found.selection = scheme.split(in.small("selection_digits", 8));
  found.secret = scheme.split(in.small("secret_digits", 8));
  found.answer_bits0 = in.small("answer_bits0", max_answer_bits);
  found.answer_bits1 = in.small("answer_bits1", max_answer_bits);
  return found;
}

json::object write_ring(const parameters& scheme) {
  json::array primes;
  for (const std::uint64_t prime : scheme.primes()) primes.emplace_back(prime);
  return {{"log_n", scheme.source().log_n},
          {"primes", std::move(primes)},
          {"error_stddev", scheme.source().error_stddev}};
}

json::object write_gadget(const gadget& split) {
  return {{"digits", split.digits}, {"base_bits", split.base_bits}};
}

/// Lower-case hexadecimal, the only form that is read: equal geometries have equal texts.
std::string write_id(const database_id& id) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : id) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

database_id read_id(const std::string& text) {
  constexpr std::string_view digits = "0123456789abcdef";
  database_id id{};
  HALOCLINE_EXPECTS(text.size() == 2 * id.size() && text.find_first_not_of(digits) == std::string::npos,
                    invalid_argument, "retrieval geometry: \"id\" has ", text.size(),
                    " characters; expected 32 hexadecimal digits in lower case");
  for (std::size_t i = 0; i < id.size(); ++i) {
    id[i] = static_cast<std::uint8_t>(16 * digits.find(text[2 * i]) + digits.find(text[2 * i + 1]));
  }
  return id;
}

fingerprint hash(std::string_view text) { return io::blake2b_128(std::as_bytes(std::span(text))); }

}  // namespace

std::string to_json(const geometry& of) {
  return json::write(json::object{{"schema", schema_version},
                                  {"id", write_id(of.id)},
                                  {"scheme", write_scheme(of.scheme.source())},
                                  {"layout", write_layout(of.at)},
                                  {"records", of.records},
                                  {"record_bytes", of.record_bytes}});
}

geometry geometry_from_json(std::string_view text, bool allow_insecure) {
  const json::value parsed = json::parse(text, text_limits);
  HALOCLINE_EXPECTS(std::holds_alternative<json::object>(parsed.data()), invalid_argument,
                    "retrieval geometry: a ", parsed.kind(), "; expected an object");
  const fields in(parsed, "the geometry", top_fields);
  const std::uint64_t schema = in.integer("schema", 0, std::numeric_limits<std::uint32_t>::max());
  HALOCLINE_EXPECTS(schema == schema_version, invalid_argument, "retrieval geometry: schema ", schema,
                    "; expected ", schema_version, ". Read it with the version that wrote it");
  geometry found{read_scheme(in.at("scheme"), allow_insecure), {}, 0, 0};
  found.id = read_id(in.at("id").as_string("id"));
  found.at = read_layout(in.at("layout"), found.scheme);
  found.records = in.integer("records", 1, max_records);
  found.record_bytes = in.integer("record_bytes", 1, max_record_bytes);
  check_geometry(found);
  return found;
}

fingerprint fingerprint_of(const geometry& of) { return hash(to_json(of)); }

fingerprint key_shape_of(const geometry& of) {
  return hash(json::write(json::object{{"halocline", "retrieval keys"},
                                       {"ring", write_ring(of.scheme)},
                                       {"expansion", write_gadget(of.at.expansion)},
                                       {"secret", write_gadget(of.at.secret)}}));
}

fingerprint ring_fingerprint_of(const parameters& scheme) {
  return hash(json::write(json::object{{"halocline", "retrieval secret"}, {"ring", write_ring(scheme)}}));
}

}  // namespace halocline::pir
