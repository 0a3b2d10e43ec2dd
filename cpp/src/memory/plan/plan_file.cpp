// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "halocline/core/expects.hpp"
#include "halocline/memory/plan/plan.hpp"

namespace halocline::memory::plan {
namespace {

constexpr std::string_view magic = "HALOPLAN";
constexpr std::uint64_t version = 2;        // 1: fingerprints of steps did not tell objects apart
constexpr std::uint64_t chain_version = 3;  // with forecasts of links
constexpr std::uint64_t max_object_bytes = std::uint64_t{1} << 43;
constexpr std::size_t checksum_bytes = 8;
/// Least bytes of one entry of each table: lengths that the file cannot hold are refused before anything is
/// allocated for them.
constexpr std::size_t least_object = 6, least_hash = 4, least_directive = 3, least_composition = 2;

/// Longest text of the parameters, and what a composition may say: 2N of no parameters is above 2^32.
constexpr std::uint64_t max_text = std::uint64_t{1} << 20, max_element = std::uint64_t{1} << 32,
                        max_parts = 16;
/// Tiers of a chain, and bytes of the name of one.
constexpr std::uint64_t max_links = 16;
constexpr std::size_t max_name = 64;

/// FNV-1a, 64 bits (Fowler, Noll, Vo).
std::uint64_t checksum(std::span<const std::byte> bytes) noexcept {
  std::uint64_t state = 0xCBF29CE484222325U;
  for (const std::byte each : bytes) state = (state ^ static_cast<std::uint8_t>(each)) * 0x100000001B3U;
  return state;
}

class writer {
 public:
  explicit writer(std::size_t expected) { bytes_.reserve(expected); }

  void byte(std::uint8_t value) { bytes_.push_back(static_cast<std::byte>(value)); }
  /// Seven bits per byte, least significant first; the upper bit says that more follow (LEB128).
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) byte(static_cast<std::uint8_t>(value | 0x80));
    byte(static_cast<std::uint8_t>(value));
  }
  void fixed(std::uint64_t value, unsigned size) {
    for (unsigned i = 0; i < size; ++i) byte(static_cast<std::uint8_t>(value >> (8 * i)));
  }
  void real(double value) { fixed(std::bit_cast<std::uint64_t>(value), 8); }
  void characters(std::string_view value) {
    for (const char c : value) byte(static_cast<std::uint8_t>(c));
  }
  std::vector<std::byte> finish() {
    fixed(checksum(bytes_), checksum_bytes);
    return std::move(bytes_);
  }

 private:
  std::vector<std::byte> bytes_;
};

class reader {
 public:
  explicit reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[nodiscard]] std::size_t left() const noexcept { return bytes_.size() - at_; }
  std::uint8_t byte() {
    HALOCLINE_EXPECTS(left() > 0, corrupt_data, "plan: truncated at byte ", at_);
    return static_cast<std::uint8_t>(bytes_[at_++]);
  }
  std::uint64_t fixed(unsigned size) {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < size; ++i) value |= std::uint64_t{byte()} << (8 * i);
    return value;
  }
  std::uint64_t number(std::string_view what, std::uint64_t low, std::uint64_t high) {
    std::uint64_t value = 0;
    unsigned shift = 0;
    std::uint8_t part = 0x80;
    for (; (part & 0x80) != 0; shift += 7) {
      part = byte();
      HALOCLINE_EXPECTS(shift < 63 || (shift == 63 && part <= 1), corrupt_data, "plan: ", what,
                        " has more than 64 bits at byte ", at_);
      value |= std::uint64_t{part & 0x7FU} << shift;
    }
    HALOCLINE_EXPECTS(value >= low && value <= high, corrupt_data, "plan: ", what, " is ", value, " at byte ",
                      at_, ", expected ", low, " to ", high);
    return value;
  }
  std::uint32_t index(std::string_view what, std::uint64_t low, std::uint64_t high) {
    return static_cast<std::uint32_t>(number(what, low, high));
  }
  /// Number of entries of a table, each of which takes at least `least` bytes.
  std::size_t count(std::string_view what, std::size_t least) {
    return static_cast<std::size_t>(number(what, 0, std::min<std::uint64_t>(left() / least, 0x80000000U)));
  }
  double real(std::string_view what) {
    const auto value = std::bit_cast<double>(fixed(8));
    HALOCLINE_EXPECTS(std::isfinite(value) && !std::signbit(value), corrupt_data, "plan: ", what,
                      " is no time");
    return value;
  }
  std::string characters(std::size_t count) {
    std::string value(count, '\0');
    for (char& c : value) c = static_cast<char>(byte());
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

constexpr std::uint64_t any = std::numeric_limits<std::uint64_t>::max();

constexpr std::array byte_members{&forecast::footprint_bytes, &forecast::minimum_bytes,
                                  &forecast::peak_bytes,      &forecast::loaded_bytes,
                                  &forecast::written_bytes,   &forecast::expanded_bytes,
                                  &forecast::encoded_bytes,   &forecast::lower_bound_bytes};
constexpr std::array time_members{&forecast::resident_ns, &forecast::total_ns, &forecast::stall_ns,
                                  &forecast::load_busy_ns, &forecast::store_busy_ns};

void write_object(writer& out, const object& each) {
  out.number(each.id);
  out.number(each.identity);
  out.number(each.bytes);
  out.byte(static_cast<std::uint8_t>(static_cast<unsigned>(each.cls) +
                                     8 * static_cast<unsigned>(each.comes_back) +
                                     (each.preexisting ? 32 : 0)));
  out.number(each.born);
  out.number(each.dead == no_step ? 0 : std::uint64_t{each.dead} + 1);
}

object read_object(reader& in, std::uint64_t steps) {
  object each;
  each.id = in.number("buffer id", 0, any);
  each.identity = in.number("identity", 0, any);
  each.bytes = in.number("size of an object", 1, max_object_bytes);
  const unsigned kind = in.byte();
  HALOCLINE_EXPECTS(kind % 8 < object_class_count && kind / 8 % 4 < 3 && kind < 64, corrupt_data,
                    "plan: unknown kind of object ", kind);
  each.cls = static_cast<object_class>(kind % 8);
  each.comes_back = static_cast<recovery>(kind / 8 % 4);
  each.preexisting = kind >= 32;
  each.born = in.index("first step of an object", 0, steps);
  const std::uint64_t dead = in.number("last step of an object", 0, steps + 1);
  each.dead = dead == 0 ? no_step : static_cast<step_index>(dead - 1);
  return each;
}

void write_directives(writer& out, const std::vector<directive>& list) {
  out.number(list.size());
  step_index before = 0;
  for (const directive& each : list) {
    out.number((std::uint64_t{each.before} - before) * 8 + static_cast<unsigned>(each.action));
    out.number(each.target);
    out.number(each.pages);
    before = each.before;
  }
}

std::vector<directive> read_directives(reader& in, const plan& target) {
  std::vector<directive> list(in.count("number of directives", least_directive));
  std::uint64_t before = 0;
  for (directive& each : list) {
    const std::uint64_t head = in.number("directive", 0, 8 * std::uint64_t{0x80000000U} + 7);
    HALOCLINE_EXPECTS(head % 8 <= static_cast<unsigned>(verb::shrink), corrupt_data, "plan: unknown verb ",
                      head % 8);
    before += head / 8;
    HALOCLINE_EXPECTS(before < target.steps() && !target.objects.empty(), corrupt_data,
                      "plan: a directive names step ", before, " of ", target.steps(), " or an object of ",
                      target.objects.size());
    each.before = static_cast<step_index>(before);
    each.action = static_cast<verb>(head % 8);
    each.target = in.index("object of a directive", 0, target.objects.size() - 1);
    each.pages = in.index("pages of a directive", 1, pages_of(target.objects[each.target].bytes));
  }
  return list;
}

void write_compositions(writer& out, const std::vector<composition>& list) {
  out.number(list.size());
  for (const composition& each : list) {
    out.number(each.element);
    out.number(each.parts.size());
    for (const std::uint64_t part : each.parts) out.number(part);
  }
}

/// `ckks::check_routes` checks them against the parameters before they are used: a plan does not contain the
/// ring.
std::vector<composition> read_compositions(reader& in) {
  std::vector<composition> list(in.count("number of compositions", least_composition));
  std::uint64_t last = 1;  // the identity: no rotation
  for (composition& each : list) {
    each.element = in.number("element of a composition", last + 1, max_element);
    last = each.element;
    const std::uint64_t parts = in.number("number of parts", 1, max_parts);
    for (std::uint64_t i = 0; i < parts; ++i)
      each.parts.push_back(in.number("part of a composition", 2, max_element));
  }
  return list;
}

/// Length of the UTF-8 sequence that begins with these bytes, 0 when there is none: shortest form, no
/// surrogates, at most U+10FFFF (Unicode 15, table 3-7).
std::size_t sequence_length(std::string_view text) {
  const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto follows = [&](std::size_t i) { return (at(i) & 0xC0U) == 0x80U; };
  const unsigned lead = at(0), second = at(1);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4 || !follows(1)) return 0;
  if (lead < 0xE0) return 2;
  if (!follows(2) || (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second >= 0xA0)) return 0;
  if (lead < 0xF0) return 3;
  if (!follows(3) || (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second >= 0x90)) return 0;
  return 4;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

void write_links(writer& out, const std::vector<link_forecast>& list) {
  out.number(list.size());
  for (const link_forecast& each : list) {
    out.number(each.name.size());
    out.characters(each.name);
    for (const std::uint64_t number : {each.loads, each.loaded_bytes, each.least_bytes}) out.number(number);
    out.real(each.busy_ns);
    out.real(each.ns_per_byte);
  }
}

std::vector<link_forecast> read_links(reader& in) {
  std::vector<link_forecast> list(in.index("number of links", 2, max_links));
  for (link_forecast& each : list) {
    each.name = in.characters(
        static_cast<std::size_t>(in.number("length of a link's name", 1, std::min(in.left(), max_name))));
    HALOCLINE_EXPECTS(is_utf8(each.name), corrupt_data, "plan: the name of a link is no text in UTF-8");
    each.loads = in.number("forecast of a link", 0, any);
    each.loaded_bytes = in.number("forecast of a link", 0, any);
    each.least_bytes = in.number("forecast of a link", 0, any);
    each.busy_ns = in.real("forecast of a link");
    each.ns_per_byte = in.real("forecast of a link");
  }
  return list;
}

plan read_plan(reader& in, bool has_links) {
  plan result;
  result.capacity_bytes = in.number("capacity", 0, any);
  result.parameters = in.characters(static_cast<std::size_t>(
      in.number("length of the parameters", 0, std::min<std::uint64_t>(in.left(), max_text))));
  HALOCLINE_EXPECTS(is_utf8(result.parameters), corrupt_data, "plan: the parameters are no text in UTF-8");
  result.hashes.resize(in.count("number of steps", least_hash));
  for (std::uint32_t& each : result.hashes) each = static_cast<std::uint32_t>(in.fixed(4));
  result.objects.resize(in.count("number of objects", least_object));
  for (object& each : result.objects) each = read_object(in, result.steps());
  result.directives = read_directives(in, result);
  result.compositions = read_compositions(in);
  for (const auto member : byte_members) result.expected.*member = in.number("forecast", 0, any);
  for (const auto member : time_members) result.expected.*member = in.real("forecast");
  if (has_links) result.expected.links = read_links(in);
  return result;
}

}  // namespace

std::vector<std::byte> to_bytes(const plan& source) {
  writer out(64 + 4 * source.hashes.size() + 16 * source.objects.size() + 7 * source.directives.size());
  out.characters(magic);
  out.number(source.expected.links.empty() ? version : chain_version);
  out.number(source.capacity_bytes);
  out.number(source.parameters.size());
  out.characters(source.parameters);
  out.number(source.hashes.size());
  for (const std::uint32_t each : source.hashes) out.fixed(each, 4);
  out.number(source.objects.size());
  for (const object& each : source.objects) write_object(out, each);
  write_directives(out, source.directives);
  write_compositions(out, source.compositions);
  for (const auto member : byte_members) out.number(source.expected.*member);
  for (const auto member : time_members) out.real(source.expected.*member);
  if (!source.expected.links.empty()) write_links(out, source.expected.links);
  return out.finish();
}

plan plan_from_bytes(std::span<const std::byte> bytes) {
  HALOCLINE_EXPECTS(bytes.size() > magic.size() + checksum_bytes, corrupt_data, "plan: only ", bytes.size(),
                    " bytes");
  reader head(bytes);
  HALOCLINE_EXPECTS(head.characters(magic.size()) == magic, corrupt_data,
                    "not a Halocline plan: it must begin with ", magic);
  const std::size_t content = bytes.size() - checksum_bytes;
  HALOCLINE_EXPECTS(reader(bytes.subspan(content)).fixed(checksum_bytes) == checksum(bytes.first(content)),
                    corrupt_data, "plan: the checksum is wrong; the file is damaged, plan again");
  reader in(bytes.subspan(magic.size(), content - magic.size()));
  const std::uint64_t found = in.number("format version", 0, any);
  HALOCLINE_EXPECTS(found == version || found == chain_version, corrupt_data, "plan: format version ", found,
                    ", this library reads version ", version, " and ", chain_version, "; plan again");
  plan result = read_plan(in, found == chain_version);
  HALOCLINE_EXPECTS(in.left() == 0, corrupt_data, "plan: ", in.left(), " bytes too many");
  // Numbers have only one valid spelling: whatever is accepted is what `to_bytes` writes.
  HALOCLINE_EXPECTS(std::ranges::equal(to_bytes(result), bytes), corrupt_data,
                    "plan: a number is not in its shortest form");
  return result;
}

}  // namespace halocline::memory::plan
