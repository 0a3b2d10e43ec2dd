// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "halocline/core/expects.hpp"
#include "halocline/core/json.hpp"
#include "halocline/pir/geometry.hpp"
#include "halocline/pir/keyword_layout.hpp"

namespace halocline::pir {
namespace {

constexpr std::uint64_t schema = 1;
constexpr std::size_t max_text = 1024;
constexpr std::string_view hex_digits = "0123456789abcdef";

std::string seed_text(const arith::seed_bytes& seed) {
  std::string out;
  for (const std::uint8_t each : seed) {
    out += hex_digits[each >> 4];
    out += hex_digits[each & 15];
  }
  return out;
}

arith::seed_bytes read_seed(const std::string& digits) {
  arith::seed_bytes seed{};
  HALOCLINE_EXPECTS(
      digits.size() == 2 * seed.size() && digits.find_first_not_of(hex_digits) == std::string::npos,
      invalid_argument, "keyword layout: the seed has ", digits.size(), " characters; expected ",
      2 * seed.size(), " lower-case hexadecimal digits");
  for (std::size_t i = 0; i < seed.size(); ++i) {
    const std::size_t high = hex_digits.find(digits[2 * i]);
    seed[i] = static_cast<std::uint8_t>(high << 4 | hex_digits.find(digits[2 * i + 1]));
  }
  return seed;
}

/// Members in their canonical order.
json::object members_of(const keyword_layout& at) {
  return {{"schema", schema},
          {"seed", seed_text(at.seed)},
          {"attempt", std::uint64_t{at.attempt}},
          {"hashes", std::uint64_t{at.hashes}},
          {"slots", std::uint64_t{at.slots}},
          {"tag_bytes", std::uint64_t{at.tag_bytes}},
          {"max_value_bytes", at.max_value_bytes},
          {"buckets", at.buckets}};
}

/// Refuses members that there are not.
void check_names(const json::object& members) {
  const json::object known = members_of({});
  for (const auto& [name, content] : members) {
    HALOCLINE_EXPECTS(json::find(known, name) != nullptr, invalid_argument,
                      "keyword layout: unknown field \"", json::printable(name),
                      "\"; remove it or correct its name");
  }
}

}  // namespace

std::string to_json(const keyword_layout& at) { return json::write(members_of(at)); }

keyword_layout keyword_layout_from_json(std::string_view text) {
  json::limits limit;
  limit.bytes = max_text;
  limit.depth = 2;
  limit.values = 64;
  const json::value parsed = json::parse(text, limit);
  const json::object& members = parsed.as_object("keyword layout");
  check_names(members);
  const auto field = [&members](std::string_view name) -> const json::value& {
    const json::value* found = json::find(members, name);
    HALOCLINE_EXPECTS(found != nullptr, invalid_argument, "keyword layout lacks \"", name,
                      "\"; expected it to be present");
    return *found;
  };
  const auto integer = [&field](std::string_view name, std::uint64_t low, std::uint64_t high) {
    return field(name).as_integer(name, low, high);
  };
  (void)integer("schema", schema, schema);
  keyword_layout at;
  at.seed = read_seed(field("seed").as_string("seed"));
  at.attempt = static_cast<std::uint32_t>(integer("attempt", 0, std::numeric_limits<std::uint32_t>::max()));
  at.hashes = static_cast<unsigned>(integer("hashes", 1, max_keyword_hashes));
  at.slots = static_cast<std::uint32_t>(integer("slots", 1, max_keyword_slots));
  at.tag_bytes = static_cast<unsigned>(integer("tag_bytes", 1, key_digest{}.size()));
  at.max_value_bytes = integer("max_value_bytes", 0, max_record_bytes);
  at.buckets = integer("buckets", 1, max_records);
  check(at);
  return at;
}

}  // namespace halocline::pir
