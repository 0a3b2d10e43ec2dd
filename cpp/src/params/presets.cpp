// SPDX-License-Identifier: Apache-2.0
#include "halocline/params/presets.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include "halocline/core/expects.hpp"

namespace halocline::params {

namespace {

struct entry {
  literal source;
  std::string description;
};

/// 32-bit words, 40-bit scale. K special primes of 30 bits, digits of alpha primes.
literal narrow(std::string name, unsigned log_n, unsigned depth, double base_bits, unsigned special,
               unsigned alpha) {
  literal result;
  result.name = std::move(name);
  result.log_n = log_n;
  result.depth = depth;
  result.base_bits = base_bits;
  result.special_primes = special;
  result.digit_size = alpha;
  return result;
}

/// 64-bit words, one prime for each level; `scale_bits` is the size of all primes but the first.
literal wide(std::string name, unsigned log_n, unsigned depth, double base_bits, double scale_bits) {
  literal result;
  result.name = std::move(name);
  result.log_n = log_n;
  result.word_bits = 64;
  result.depth = depth;
  result.base_bits = base_bits;
  result.scale_bits = scale_bits;
  result.main_bits = 0;
  result.terminal_bits = 0;
  return result;
}

literal with_special(literal base, unsigned special, double special_bits, unsigned alpha) {
  base.special_primes = special;
  base.special_bits = special_bits;
  base.digit_size = alpha;
  return base;
}

literal insecure(literal base) {
  base.allow_insecure = true;
  return base;
}

/// At N = 2^13 a 40-bit scale misses the bound by two bits: everything is 1.25 % smaller.
literal make_n13_d3() {
  literal result = narrow("n13-d3", 13, 3, 49.375, 1, 1);
  result.scale_bits = 39.5;
  result.main_bits = 29.625;
  result.terminal_bits = 19.75;
  return result;
}

/// A set of Table I: `count` primes with a product of `log_q` bits, the first of `base_bits` bits and the
/// others equal.
literal table_one(std::string name, unsigned log_n, double log_q, unsigned count, double base_bits) {
  return wide(std::move(name), log_n, count - 1, base_bits, (log_q - base_bits) / (count - 1));
}

std::vector<entry> build_entries() {
  return {
      {insecure(narrow("test-n10-d3", 10, 3, 60, 2, 2)),
       "insecure, for tests: N 2^10, 3 levels, 32-bit words"},
      {insecure(with_special(wide("test-n10-d3-w64", 10, 3, 60, 40), 2, 55, 2)),
       "insecure, for tests: N 2^10, 3 levels, 64-bit words"},
      {insecure(narrow("test-n11-d8", 11, 8, 60, 3, 3)),
       "insecure, for tests: N 2^11, 8 levels, 32-bit words"},
      {insecure(narrow("test-n12-d14", 12, 14, 60, 4, 4)),
       "insecure, for tests: N 2^12, 14 levels, 32-bit words"},
      {make_n13_d3(), "smallest useful set: 4096 slots, 3 levels, 39.5-bit scale"},
      {narrow("n14-d6", 14, 6, 70, 4, 4), "8192 slots, 6 levels, 3 key-switching digits"},
      {narrow("n14-d7", 14, 7, 60, 3, 3), "8192 slots, 7 levels, 4 key-switching digits"},
      {narrow("n15-d14", 15, 14, 60, 6, 6), "16384 slots, 14 levels, 4 key-switching digits"},
      {narrow("n15-d16", 15, 16, 60, 6, 6), "16384 slots, 16 levels, 4 key-switching digits"},
      {narrow("n16-d25", 16, 25, 60, 18, 18), "32768 slots, 25 levels, 2 key-switching digits"},
      {with_special(table_one("FVa", 17, 2070, 40, 60), 18, 58, 20),
       "HEaaN-size FVa: N 2^17, log Q 2070, 40 primes"},
      {with_special(table_one("FVb", 17, 2292, 40, 60), 19, 60.5, 20),
       "HEaaN-size FVb: N 2^17, log Q 2292, 40 primes"},
      {with_special(table_one("FVc", 17, 2341, 40, 60), 20, 58.6, 20),
       "HEaaN-size FVc: N 2^17, log Q 2341, 40 primes"},
      {with_special(table_one("FGa", 16, 1555, 28, 60), 3, 57, 3),
       "HEaaN-size FGa: N 2^16, log Q 1555, 28 primes"},
      {with_special(table_one("FGb", 16, 1555, 30, 60), 3, 55, 3),
       "HEaaN-size FGb: N 2^16, log Q 1555, 30 primes"},
      {with_special(table_one("FTa", 15, 777, 22, 55), 2, 44.7, 2),
       "HEaaN-size FTa: N 2^15, log Q 777, 22 primes"},
      {with_special(table_one("FTb", 15, 771, 17, 60), 2, 52.3, 2),
       "HEaaN-size FTb: N 2^15, log Q 771, 17 primes"},
  };
}

const std::vector<entry>& entries() {
  static const std::vector<entry> all = build_entries();
  return all;
}

const entry& find_entry(std::string_view name) {
  const auto it =
      std::find_if(entries().begin(), entries().end(), [&](const entry& e) { return e.source.name == name; });
  if (it != entries().end()) return *it;
  std::string known;
  for (const std::string& n : preset_names()) known += (known.empty() ? "" : ", ") + n;
  throw invalid_argument(text("unknown preset \"", name.substr(0, 64), "\"; expected one of ", known));
}

}  // namespace

const std::vector<std::string>& preset_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    for (const entry& e : entries()) result.push_back(e.source.name);
    return result;
  }();
  return names;
}

const std::string& preset_description(std::string_view name) { return find_entry(name).description; }

literal preset_literal(std::string_view name) { return find_entry(name).source; }

parameters preset(std::string_view name) {
  static std::mutex guard;
  static std::map<std::string, parameters, std::less<>> built;
  const entry& chosen = find_entry(name);
  const std::scoped_lock lock(guard);
  const auto it = built.find(name);
  if (it != built.end()) return it->second;
  return built.emplace(chosen.source.name, parameters::from_literal(chosen.source)).first->second;
}

}  // namespace halocline::params
