// SPDX-License-Identifier: Apache-2.0
#include "halocline/params/presets.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include "halocline/core/expects.hpp"
#include "halocline/core/process.hpp"

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

/// At N = 2^13 a 40-bit scale misses the bound by six bits: everything is 2.5 % smaller, which is as far as
/// terminal primes go, and the special prime a little more.
literal make_n13_d3() {
  literal result = narrow("n13-d3", 13, 3, 48.75, 1, 1);
  result.scale_bits = 39;
  result.main_bits = 29.25;
  result.terminal_bits = 19.5;
  result.special_bits = 28.6;
  return result;
}

/// A set of Table I: `count` primes with a product of `log_q` bits, the first of `base_bits` bits and the
/// others equal.
literal table_one(std::string name, unsigned log_n, double log_q, unsigned count, double base_bits) {
  return wide(std::move(name), log_n, count - 1, base_bits, (log_q - base_bits) / (count - 1));
}

literal with_bootstrapping(literal base, level_group eval_mod, level_group coeff_to_slot,
                           unsigned slot_to_coeff_levels, unsigned weight, unsigned ephemeral_special) {
  base.bootstrapping =
      bootstrap_literal{eval_mod, coeff_to_slot, slot_to_coeff_levels, weight, ephemeral_special};
  return base;
}

/// 32-bit words, 50-bit base, EvalMod of 60 and CoeffToSlot of 50 bits, SlotToCoeff of three 40-bit levels.
/// The errors of EvalMod reach the message multiplied by Q_0 / scale, so the base is no larger than values of
/// a few hundred need.
literal narrow_boot(std::string name, unsigned log_n, unsigned depth, unsigned special) {
  return with_bootstrapping(narrow(std::move(name), log_n, depth, 50, special, special), {60, 8}, {50, 3}, 3,
                            32, 2);
}

/// A bootstrappable set with the ring degree and log Q of one of Table I: above EvalMod and CoeffToSlot what
/// is left of `log_q` goes to `depth` equal primes and a base of `ratio_bits` more.
literal table_one_boot(std::string name, unsigned log_n, double log_q, unsigned depth, double ratio_bits,
                       const bootstrap_literal& extra) {
  const double above =
      extra.eval_mod.levels * extra.eval_mod.bits + extra.coeff_to_slot.levels * extra.coeff_to_slot.bits;
  const double scale_bits = (log_q - above - ratio_bits) / (depth + 1);
  literal result = wide(std::move(name), log_n, depth, scale_bits + ratio_bits, scale_bits);
  result.bootstrapping = extra;
  return result;
}

std::vector<entry> build_bootstrap_entries() {
  const bootstrap_literal large{{58, 8}, {50, 3}, 3, 32, 1};
  // At ring degree 2^15 there is no published bound for weight 32, so the sparse secret has weight 128,
  // EvalMod a wider range and one level more; all levels are as small as 771 bits need. The bound leaves 91
  // bits for P, less than two primes of EvalMod have, so each prime is a digit of its own.
  const bootstrap_literal small{{52, 9}, {42, 2}, 2, 128, 1};
  return {
      {insecure(narrow_boot("test-n11-boot", 11, 5, 6)),
       "insecure, for tests: N 2^11, bootstrappable, 5 levels, 32-bit words"},
      {insecure(with_special(
           with_bootstrapping(wide("test-n11-boot64", 11, 5, 50, 40), {58, 8}, {50, 3}, 3, 32, 1), 3, 58.5,
           3)),
       "insecure, for tests: N 2^11, bootstrappable, 5 levels, 64-bit words"},
      {insecure(narrow_boot("test-n12-boot", 12, 17, 12)),
       "insecure, for tests: N 2^12, the levels of n16-boot"},
      {narrow_boot("n16-boot", 16, 17, 12),
       "32768 slots, bootstrappable: 17 levels, of which bootstrapping takes 3, 4 key-switching digits"},
      {with_special(table_one_boot("FVa-boot", 17, 2070, 33, 10, large), 18, 58.5, 18),
       "FVa bootstrappable: N 2^17, log Q 2070, 33 levels"},
      {with_special(table_one_boot("FVb-boot", 17, 2292, 38, 10, large), 19, 60.5, 19),
       "FVb bootstrappable: N 2^17, log Q 2292, 38 levels"},
      {with_special(table_one_boot("FVc-boot", 17, 2341, 39, 10, large), 20, 58.6, 20),
       "FVc bootstrappable: N 2^17, log Q 2341, 39 levels"},
      {with_special(table_one_boot("FGa-boot", 16, 1555, 20, 10, large), 3, 58.5, 3),
       "FGa bootstrappable: N 2^16, log Q 1555, 20 levels"},
      {with_special(table_one_boot("FGb-boot", 16, 1555, 21, 10, large), 3, 58.5, 3),
       "FGb bootstrappable: N 2^16, log Q 1555, 21 levels"},
      {with_special(table_one_boot("FTa-boot", 15, 777, 6, 8, small), 1, 60, 1),
       "FTa bootstrappable: N 2^15, log Q 777, 6 levels of 31 bits"},
      {with_special(table_one_boot("FTb-boot", 15, 771, 6, 8, small), 1, 60, 1),
       "FTb bootstrappable: N 2^15, log Q 771, 6 levels of 30 bits"},
  };
}

std::vector<entry> build_entries() {
  std::vector<entry> result = {
      {insecure(narrow("test-n10-d3", 10, 3, 60, 2, 2)),
       "insecure, for tests: N 2^10, 3 levels, 32-bit words"},
      {insecure(with_special(wide("test-n10-d3-w64", 10, 3, 60, 40), 2, 55, 2)),
       "insecure, for tests: N 2^10, 3 levels, 64-bit words"},
      {insecure(narrow("test-n11-d8", 11, 8, 60, 3, 3)),
       "insecure, for tests: N 2^11, 8 levels, 32-bit words"},
      {insecure(narrow("test-n12-d14", 12, 14, 60, 4, 4)),
       "insecure, for tests: N 2^12, 14 levels, 32-bit words"},
      {make_n13_d3(), "smallest useful set: 4096 slots, 3 levels, 39-bit scale"},
      {narrow("n14-d6", 14, 6, 70, 4, 4), "8192 slots, 6 levels, 3 key-switching digits"},
      {narrow("n14-d7", 14, 7, 60, 3, 3), "8192 slots, 7 levels, 4 key-switching digits"},
      {narrow("n15-d14", 15, 14, 60, 6, 6), "16384 slots, 14 levels, 4 key-switching digits"},
      {narrow("n15-d16", 15, 16, 60, 5, 5), "16384 slots, 16 levels, 5 key-switching digits"},
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
      {with_special(table_one("FTb", 15, 771, 17, 52), 2, 48.3, 2),
       "HEaaN-size FTb: N 2^15, log Q 771, 17 primes"},
  };
  for (entry& each : build_bootstrap_entries()) result.push_back(std::move(each));
  return result;
}

const std::vector<entry>& entries() {
  // Never destroyed, like the other tables here: threads may be at work while the program ends.
  static const auto& all = *new std::vector<entry>(build_entries());
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
  static const auto& names = *new std::vector<std::string>([] {
    std::vector<std::string> result;
    for (const entry& e : entries()) result.push_back(e.source.name);
    return result;
  }());
  return names;
}

const std::string& preset_description(std::string_view name) { return find_entry(name).description; }

literal preset_literal(std::string_view name) { return find_entry(name).source; }

parameters preset(std::string_view name) {
  static fork_mutex& guard = *new fork_mutex(fork_order::table);
  static auto& built = *new std::map<std::string, parameters, std::less<>>;
  const entry& chosen = find_entry(name);
  const std::scoped_lock lock(guard);
  const auto it = built.find(name);
  if (it != built.end()) return it->second;
  return built.emplace(chosen.source.name, parameters::from_literal(chosen.source)).first->second;
}

}  // namespace halocline::params
