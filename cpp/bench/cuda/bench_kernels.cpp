// SPDX-License-Identifier: Apache-2.0
// halocline_kernel_bench: every operation of the reference configuration except
// transforms, at 47 and 23 limbs, in each variant that the tuning offers, with its two floors.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "backend/cuda/elementwise/kernel_tuning.hpp"
#include "cuda/arguments.hpp"
#include "cuda/bench_retrieval.hpp"
#include "cuda/bench_retrieval_levels.hpp"
#include "cuda/kernel_rig.hpp"
#include "cuda/timing.hpp"
#include "halocline/core/version.hpp"
#include "halocline/ring/automorphism.hpp"

namespace {

using namespace halocline;
using namespace halocline::bench;
using arith::window;
using backend::limb_view;
using backend::cuda::cache_hint;
using backend::cuda::kernel_tuning;
using backend::cuda::map_hints;

/// Primes of the reference configuration: 12 special ones, then 47 of the chain; a digit has 12.
constexpr std::uint32_t special = 12, chain = 47, digit = 12;
constexpr unsigned log_n = 16;
/// 32 x 32 + 64-bit multiply-adds per second, measured on an H200.
constexpr double mad_rate = 4.61e12;
/// Butterflies of 32-bit words in registers per second, measured on an H200.
constexpr double butterfly_rate = 3.82e12;

struct row {
  std::string op, variant;
  std::uint32_t limbs;
  timing time;
  double bytes, mads, byte_floor_us, mad_floor_us;
};

class bench_run {
 public:
  bench_run() : rig_(log_n, special + chain), watch_(rig_.device()), bandwidth_(watch_.copy_bandwidth()) {}

  void all(std::uint32_t limbs) {
    limbs_ = limbs;
    q_ = {special, limbs};
    elementwise();
    products();
    permutation();
    shift();
    conversions();
    keys();
    keys_of_coefficients();
    sums_of_keys();
    sampling();
  }
  /// The weighted sums of key products alone.
  void only_sums_of_keys(std::uint32_t limbs) {
    limbs_ = limbs;
    q_ = {special, limbs};
    sums_of_keys();
  }
  /// The products of digits in coefficient form alone.
  void only_keys_of_coefficients(std::uint32_t limbs) {
    limbs_ = limbs;
    q_ = {special, limbs};
    keys_of_coefficients();
  }
  [[nodiscard]] const std::vector<row>& rows() const noexcept { return rows_; }
  [[nodiscard]] double bandwidth() const noexcept { return bandwidth_; }
  [[nodiscard]] std::string device() const { return rig_.backend().describe().device; }

 private:
  using body = std::function<void()>;

  /// Times `run` under `tuning`; `limb_passes` limbs and `extra_bytes` are moved, `mads` per coefficient.
  void measure(const char* op, const std::string& variant, const kernel_tuning& tuning, double limb_passes,
               double mads, const body& run, double extra_bytes = 0) {
    backend::cuda::override_tuning(&tuning);
    row each{op, variant, limbs_, watch_.time(run), 0, 0, 0, 0};
    backend::cuda::override_tuning(nullptr);
    const double n = static_cast<double>(rig_.tables().n());
    each.bytes = limb_passes * static_cast<double>(rig_.tables().limb_bytes()) + extra_bytes;
    each.mads = mads * n;
    each.byte_floor_us = 1e6 * each.bytes / bandwidth_;
    each.mad_floor_us = 1e6 * each.mads / mad_rate;
    rows_.push_back(each);
    const double floor = std::max(each.byte_floor_us, each.mad_floor_us);
    std::printf("%-18s %-26s %3u  %8.2f us  (shortest %8.2f)  bytes %6.1f us  mads %6.1f us  x%.2f\n", op,
                variant.c_str(), limbs_, each.time.median_us, each.time.shortest_us, each.byte_floor_us,
                each.mad_floor_us, each.time.median_us / floor);
  }

  /// Prints how many residues the last row expanded from seeds in a second, all its time counted.
  void report_expansion(double limbs) const {
    const double bytes = limbs * static_cast<double>(rig_.tables().limb_bytes());
    std::printf("%-18s expanded %.1f MB from seeds: %.2f TB/s of residues\n", "", bytes * 1e-6,
                bytes / rows_.back().time.median_us * 1e-6);
  }

  /// Variants of hints for operands and results.
  void with_hints(const char* op, double limb_passes, double mads, const body& run) {
    constexpr auto normal = cache_hint::normal, first = cache_hint::evict_first,
                   last = cache_hint::evict_last, most = cache_hint::keep_most;
    static constexpr std::pair<const char*, map_hints> variants[] = {
        {"normal, normal, normal", {normal, normal, normal}}, {"first, most, first", {first, most, first}},
        {"first, last, first", {first, last, first}},         {"first, first, last", {first, first, last}},
        {"first, first, normal", {first, first, normal}},     {"normal, last, first", {normal, last, first}},
    };
    for (const auto& [name, hints] : variants) {
      kernel_tuning tuning;
      tuning.small = tuning.large = hints;
      measure(op, name, tuning, limb_passes, mads, run);
    }
    measure(op, "table", backend::cuda::tuning_of(rig_.device().architecture()), limb_passes, mads, run);
  }

  void elementwise() {
    const auto& ring = rig_.tables();
    backend::backend& on = rig_.backend();
    const limb_view a0 = rig_.limbs(q_), a1 = rig_.limbs(q_), b0 = rig_.limbs(q_), b1 = rig_.limbs(q_);
    const limb_view d0 = rig_.limbs(q_), d1 = rig_.limbs(q_);
    const double l = limbs_;
    const std::vector<backend::binary_job> sums{{d0, a0, b0}, {d1, a1, b1}};
    const std::vector<backend::binary_job> plain{{d0, a0, b0}, {d1, a1, b0}};
    with_hints("add", 6 * l, 0, [&] { on.add(ring, sums); });
    std::vector<backend::binary_job> chain{{d0, a0, b0}, {d1, a1, b1}};
    const limb_view rest[] = {rig_.limbs(q_), rig_.limbs(q_), rig_.limbs(q_), rig_.limbs(q_)};
    const std::array<limb_view, 4> first{a0, d0, rest[0], rest[1]}, other{a1, d1, rest[2], rest[3]};
    std::size_t step = 0;
    with_hints("add_chain", 6 * l, 0, [&] {
      const std::size_t from = step++ % 4, to = step % 4;
      chain = {{first[to], first[from], b0}, {other[to], other[from], b1}};
      on.add(ring, chain);
    });
    // What a large addition leaves in the cache for others: it and five copies that fit the cache.
    const window part{special, limbs_ / 2};
    const std::vector<backend::unary_job> copies{{rig_.limbs(part), rig_.limbs(part)}};
    with_hints("add_5_copies", 6 * l + 10 * part.count, 0, [&] {
      on.add(ring, sums);
      for (int i = 0; i < 5; ++i) on.copy(ring, copies);
    });
    with_hints("multiply_plain", 5 * l, 4 * l, [&] { on.multiply(ring, plain); });
    with_hints("multiply_add_plain", 7 * l, 4 * l, [&] { on.multiply_add(ring, plain); });
    const std::vector<backend::unary_job> pair{{d0, a0}, {d1, a1}};
    measure("negate", "", {}, 4 * l, 0, [&] { on.negate(ring, pair); });
    measure("copy", "", {}, 4 * l, 0, [&] { on.copy(ring, pair); });
    const std::vector<limb_view> views{d0, d1};
    measure("set_zero", "", {}, 2 * l, 0, [&] { on.set_zero(ring, views); });
    std::vector<backend::scalar_job> scalars{{d0, a0, {}}, {d1, a1, {}}};
    std::vector<backend::linear_job> linear{{d0, a0, b0, {}, {}}, {d1, a1, b1, {}, {}}};
    for (std::uint32_t p = q_.first; p < q_.end(); ++p) {
      for (auto& job : scalars) job.scalars.push_back({rig_.residue(p), rig_.residue(p)});
      for (auto& job : linear) {
        job.factor_a.push_back(rig_.residue(p));
        job.factor_b.push_back(rig_.residue(p));
      }
    }
    measure("scalar_multiply", "", {}, 4 * l, 2 * l, [&] { on.scalar_multiply(ring, scalars); });
    measure("linear_combine", "", {}, 6 * l, 4 * l, [&] { on.linear_combine(ring, linear); });
  }

  void products() {
    const limb_view a0 = rig_.limbs(q_), a1 = rig_.limbs(q_), b0 = rig_.limbs(q_), b1 = rig_.limbs(q_);
    const std::vector<backend::tensor_job> tensor{
        {rig_.limbs(q_), rig_.limbs(q_), rig_.limbs(q_), a0, a1, b0, b1}};
    with_hints("tensor", 7.0 * limbs_, 7.0 * limbs_, [&] { rig_.backend().tensor(rig_.tables(), tensor); });
    backend::dot_job dot{rig_.limbs(q_), {}, {}, false};
    constexpr unsigned terms = 8;
    for (unsigned t = 0; t < terms; ++t) {
      dot.a.push_back(rig_.limbs(q_));
      dot.b.push_back(rig_.limbs(q_));
    }
    const std::vector<backend::dot_job> dots{dot};
    measure("dot", "8 terms", {}, (2.0 * terms + 1) * limbs_, (terms + 3.0) * limbs_,
            [&] { rig_.backend().dot(rig_.tables(), dots); });
  }

  void permutation() {
    const memory::buffer& table = rig_.keep(ring::automorphism_permutation(5, log_n));
    const std::vector<backend::automorphism_job> jobs{{rig_.limbs(q_), rig_.limbs(q_), &table},
                                                      {rig_.limbs(q_), rig_.limbs(q_), &table}};
    for (const std::uint32_t threads : {128U, 256U}) {
      kernel_tuning tuning;
      tuning.threads = threads;
      measure("automorphism", std::to_string(threads) + " threads", tuning, 4.0 * limbs_, 0,
              [&] { rig_.backend().automorphism(rig_.tables(), jobs); });
    }
  }

  /// By odd numbers of places, so that warps read across lines.
  void shift() {
    const std::vector<backend::shift_job> jobs{{rig_.limbs(q_), rig_.limbs(q_), (1U << log_n) + 12345},
                                               {rig_.limbs(q_), rig_.limbs(q_), 1}};
    measure("negacyclic_shift", "", {}, 4.0 * limbs_, 0,
            [&] { rig_.backend().negacyclic_shift(rig_.tables(), jobs); });
  }

  /// Conversions in both variants of the kernel.
  void convert(const char* op, const std::vector<backend::convert_job>& jobs) {
    double limbs = 0, mads = 0;
    for (const auto& job : jobs) {
      const auto sources = static_cast<double>(job.table->sources.size());
      const auto targets = static_cast<double>(job.table->targets.size());
      limbs += sources + targets;
      mads += sources * targets;
    }
    const body run = [&] { rig_.backend().base_convert(rig_.tables(), jobs); };
    kernel_tuning tuning = backend::cuda::tuning_of(rig_.device().architecture());
    measure(op, "table", tuning, limbs, mads, run);
    for (const std::uint32_t blocks : {3U, 4U}) {
      tuning.convert_blocks_per_unit = blocks;
      measure(op, std::to_string(blocks) + " blocks", tuning, limbs, mads, run);
    }
    tuning = {};
    tuning.convert_tensor_cores = false;
    measure(op, "multiply-add", tuning, limbs, mads, run);
  }

  void conversions() {
    std::vector<backend::convert_job> up, down, rescale;
    for (std::uint32_t first = 0; first < limbs_; first += digit) {
      const window from{special + first, std::min(digit, limbs_ - first)};
      std::vector<window> to{{0, from.first}};
      if (from.end() < special + limbs_) to.push_back({from.end(), special + limbs_ - from.end()});
      backend::convert_job job{{rig_.limbs(from)}, {}, &rig_.conversion({from}, to)};
      for (const window& w : to) job.dst.push_back(rig_.limbs(w));
      up.push_back(job);
    }
    convert("mod_up", up);
    const window p{0, special}, dropped{special + limbs_ - 3, 3}, kept{special, limbs_ - 3};
    for (int half = 0; half < 2; ++half) {
      down.push_back({{rig_.limbs(p)}, {rig_.limbs(q_)}, &rig_.conversion({p}, {q_})});
      rescale.push_back({{rig_.limbs(dropped)}, {rig_.limbs(kept)}, &rig_.conversion({dropped}, {kept})});
    }
    convert("mod_down", down);
    convert("rescale", rescale);
    for (const std::uint32_t count : {2U, 3U}) combinations(count);
  }

  /// What a rescale of both components that drops `count` primes does after its inverse transform: the
  /// conversion and the transform one after the other, and joined. Floors: operands and result once.
  void combinations(std::uint32_t count) {
    const window dropped{special + limbs_ - count, count}, kept{special, limbs_ - count};
    const backend::conversion_table& table = rig_.conversion({dropped}, {kept});
    std::vector<backend::convert_job> conversions;
    std::vector<backend::linear_job> joined, apart;
    for (int half = 0; half < 2; ++half) {
      const limb_view dst = rig_.limbs(kept);
      backend::linear_job job{dst, rig_.limbs(kept), dst, {}, {}};
      for (std::uint32_t p = kept.first; p < kept.end(); ++p) {
        job.factor_a.push_back(rig_.residue(p));
        job.factor_b.push_back(rig_.residue(p));
      }
      apart.push_back(job);
      job.from = {rig_.limbs(dropped)};
      job.conversion = &table;
      joined.push_back(job);
      conversions.push_back({job.from, {dst}, &table});
    }
    const double limbs = 2.0 * (count + 2.0 * kept.count);
    const std::string name = std::to_string(count) + " primes, ";
    measure("rescale_combine", name + "apart", {}, limbs, 0, [&] {
      rig_.backend().base_convert(rig_.tables(), conversions);
      rig_.backend().ntt_linear_combine(rig_.tables(), apart);
    });
    measure("rescale_combine", name + "joined", {}, limbs, 0,
            [&] { rig_.backend().ntt_linear_combine(rig_.tables(), joined); });
  }

  void keys() {
    const window all{0, special + limbs_};
    const std::uint32_t digits = (limbs_ + digit - 1) / digit;
    backend::key_job job{rig_.limbs(all), rig_.limbs(all), {}, false};
    for (std::uint32_t d = 0; d < digits; ++d) {
      backend::key_digit each{rig_.limbs(all), rig_.limbs(all).data, rig_.limbs(all).data, {}};
      for (auto& byte : each.a_source.seed) byte = static_cast<std::uint8_t>(rig_.random());
      each.a_source.stream = d;
      job.digits.push_back(each);
    }
    std::vector<backend::key_job> in_memory{job}, seeded{job};
    for (auto& each : seeded.front().digits) each.key_a = nullptr;
    std::vector<backend::key_job> old_seeds = seeded;
    for (auto& each : old_seeds.front().digits) each.a_source.rule = stream_rule::chacha20_retry;
    const double expanded = static_cast<double>(all.count) * digits;
    const double passes = static_cast<double>(all.count) * (3 * digits + 2);
    const double mads = static_cast<double>(all.count) * (2 * digits + 2);
    for (const cache_hint hint : {cache_hint::evict_first, cache_hint::normal}) {
      kernel_tuning tuning;
      tuning.keys = hint;
      measure("key_multiply", hint == cache_hint::normal ? "keys normal" : "keys first", tuning, passes, mads,
              [&] { rig_.backend().key_multiply_accumulate(rig_.tables(), in_memory); });
    }
    measure("key_multiply", "seeded", {}, passes - expanded, mads,
            [&] { rig_.backend().key_multiply_accumulate(rig_.tables(), seeded); });
    report_expansion(expanded);
    measure("key_multiply", "seeded, chacha20", {}, passes - expanded, mads,
            [&] { rig_.backend().key_multiply_accumulate(rig_.tables(), old_seeds); });
    report_expansion(expanded);
    const memory::buffer& table = rig_.keep(ring::automorphism_permutation(5, log_n));
    in_memory.front().permutation = seeded.front().permutation = &table;
    measure("key_multiply", "keys first, turned", {}, passes, mads,
            [&] { rig_.backend().key_multiply_accumulate(rig_.tables(), in_memory); });
    measure("key_multiply", "seeded, turned", {}, passes - expanded, mads,
            [&] { rig_.backend().key_multiply_accumulate(rig_.tables(), seeded); });
    report_expansion(expanded);
  }

  /// Key products of digits that a base conversion left, with and without the second phase of the transform
  /// in the kernel. Raised limbs are read, written and read once more, or read twice and written once.
  void keys_of_coefficients() {
    const window all{0, special + limbs_};
    std::vector<window> parts{{0, special}};
    for (std::uint32_t first = 0; first < limbs_; first += digit) {
      parts.push_back({special + first, std::min(digit, limbs_ - first)});
    }
    const auto digits = static_cast<std::uint32_t>(parts.size() - 1);
    const backend::limb_view dst0 = rig_.limbs(all), dst1 = rig_.limbs(all);
    std::vector<backend::key_digit> whole;
    for (std::uint32_t d = 0; d < digits; ++d)
      whole.push_back({rig_.limbs(all), rig_.limbs(all).data, rig_.limbs(all).data, {}});
    std::vector<backend::key_job> jobs;
    for (const window& part : parts) {
      backend::key_job& job = jobs.emplace_back(dst0.slice(part), dst1.slice(part), whole, false);
      for (std::uint32_t d = 0; d < digits; ++d) {
        job.digits[d].digit = job.digits[d].digit.slice(part);
        job.digits[d].coefficients = parts[d + 1] != part;
      }
    }
    const memory::buffer& table = rig_.keep(ring::automorphism_permutation(5, log_n));
    const double passes = all.count * (5.0 * digits + 2) - 2.0 * limbs_;
    for (const bool turned : {false, true}) {
      for (backend::key_job& job : jobs) job.permutation = turned ? &table : nullptr;
      for (const bool rows : {false, true}) {
        kernel_tuning tuning;
        tuning.key_rows = rows;
        measure("key_transform",
                std::string(rows ? "rows in the product" : "transforms before") + (turned ? ", turned" : ""),
                tuning, passes, all.count * (2.0 * digits + 2),
                [&] { rig_.backend().key_multiply_accumulate(rig_.tables(), jobs); });
      }
    }
  }

  /// Weighted sums of key products, as CoeffToSlot has them: keys of all digits, and of one.
  void sums_of_keys() {
    struct shape {
      std::uint32_t terms, digits, sums;
    };
    const window all{0, special + limbs_};
    const std::uint32_t digits = (limbs_ + digit - 1) / digit;
    for (const shape& of : {shape{8, digits, 4}, {4, digits, 8}, {16, 1, 1}}) {
      std::vector<limb_view> of_digits;
      for (std::uint32_t d = 0; d < of.digits; ++d) of_digits.push_back(random_limbs(all));
      backend::key_dot_job job;
      for (std::uint32_t t = 0; t < of.terms; ++t) {
        backend::key_term& term = job.terms.emplace_back();
        term.permutation = &rig_.keep(ring::automorphism_permutation(2 * t + 3, log_n));
        for (const limb_view& each : of_digits) {
          term.digits.push_back({each, random_limbs(all).data, random_limbs(all).data, {}});
        }
      }
      // Diagonals of which each word stands for many, as those of most matrices.
      constexpr unsigned log_repeat = 5;
      const auto weight_bytes =
          static_cast<std::size_t>(all.count) * (rig_.tables().limb_bytes() >> log_repeat);
      for (std::uint32_t s = 0; s < of.sums; ++s) {
        backend::weighted_sum sum{random_limbs(all), random_limbs(all), false, {}, {}};
        for (std::uint32_t t = 0; t < of.terms; ++t) {
          limb_view weight{&rig_.random_room((all.count >> log_repeat) + 1), 0, all};
          weight.log_repeat = log_repeat;
          sum.numbers.push_back(t);
          sum.weights.push_back(weight);
        }
        job.sums.push_back(sum);
      }
      const double keys = of.terms * of.digits;
      const double passes = all.count * (2 * keys + of.digits + 2.0 * of.sums);
      const double mads = all.count * (2 * keys + 4.0 * of.terms + 2.0 * of.terms * of.sums);
      const std::string name = std::to_string(of.terms) + " terms, " + std::to_string(of.digits) +
                               " digits, " + std::to_string(of.sums) + " sums";
      for (const bool piped : {true, false}) {
        kernel_tuning tuning = backend::cuda::tuning_of(rig_.device().architecture());
        tuning.pipe_key_dot = piped;
        measure(
            "key_dot", name + (piped ? "" : ", loads"), tuning, passes, mads,
            [&] {
              rig_.backend().key_dot(rig_.tables(), {&job, 1});
            },
            static_cast<double>(of.terms * of.sums * weight_bytes));
      }
    }
  }

  /// Random residues in a buffer of their own, few of them, repeated.
  [[nodiscard]] limb_view random_limbs(window primes) { return {&rig_.random_room(primes.count), 0, primes}; }

  void sampling() {
    std::vector<std::uint64_t> words(2 * rig_.tables().n());
    for (auto& word : words) word = rig_.random();
    const std::vector<backend::encode_job> encode{{rig_.limbs(q_), &rig_.keep(words), 2}};
    measure(
        "encode_expand", "2 words", {}, limbs_, 8.0 * limbs_,
        [&] { rig_.backend().encode_expand(rig_.tables(), encode); }, 16.0 * (1 << log_n));
    for (const stream_rule rule : {stream_rule::chacha8_spare, stream_rule::chacha20_retry}) {
      const std::vector<backend::uniform_job> uniform{{rig_.limbs(q_), {{}, 0, rule}}};
      measure("sample_uniform", rule == stream_rule::chacha8_spare ? "" : "chacha20", {}, limbs_, 0,
              [&] { rig_.backend().sample_uniform(rig_.tables(), uniform); });
      report_expansion(limbs_);
    }
  }

  kernel_rig rig_;
  stopwatch watch_;
  double bandwidth_;
  std::uint32_t limbs_ = 0;
  window q_;
  std::vector<row> rows_;
};

void write_retrieval(std::ofstream& out, const std::vector<retrieval_row>& rows) {
  const char* separator = "\n";
  for (const retrieval_row& each : rows) {
    out << separator << "    {\"op\": \"" << each.op << "\", \"variant\": \"" << each.variant
        << "\", \"set\": \"" << each.set << "\", \"batch\": " << each.batch
        << ", \"median_us\": " << each.time.median_us << ", \"shortest_us\": " << each.time.shortest_us
        << ", \"samples\": " << each.time.samples << ", \"bytes\": " << each.bytes
        << ", \"byte_floor_us\": " << each.byte_floor_us
        << ", \"integer_floor_us\": " << each.integer_floor_us << "}";
    separator = ",\n";
  }
}

void write_json(const bench_run& run, const std::vector<retrieval_row>& retrieval,
                const kernel_arguments& given) {
  std::ofstream out(given.out);
  out << "{\n  \"schema\": 1,\n  \"suite\": \"kernels\",\n  \"driver\": \"" << given.driver
      << "\",\n  \"device\": \"" << run.device() << "\",\n  \"commit\": \"" << commit()
      << "\",\n  \"bandwidth_bytes_per_s\": " << run.bandwidth() << ",\n  \"mads_per_s\": " << mad_rate
      << ",\n  \"log_n\": " << log_n << ",\n  \"rows\": [";
  const char* separator = "\n";
  for (const row& each : run.rows()) {
    const double floor = std::max(each.byte_floor_us, each.mad_floor_us);
    out << separator << "    {\"op\": \"" << each.op << "\", \"variant\": \"" << each.variant
        << "\", \"limbs\": " << each.limbs << ", \"median_us\": " << each.time.median_us
        << ", \"shortest_us\": " << each.time.shortest_us << ", \"samples\": " << each.time.samples
        << ", \"bytes\": " << each.bytes << ", \"mads\": " << each.mads
        << ", \"byte_floor_us\": " << each.byte_floor_us << ", \"mad_floor_us\": " << each.mad_floor_us
        << ", \"over_floor\": " << each.time.median_us / floor << "}";
    separator = ",\n";
  }
  out << "\n  ],\n  \"retrieval\": [";
  write_retrieval(out, retrieval);
  out << "\n  ]\n}\n";
}

}  // namespace

int main(int count, char** values) {
  kernel_arguments given;
  CLI::App program;
  declare(program, given);
  CLI11_PARSE(program, count, values);
  try {
    if (!given.levels.empty()) {
      const std::vector<level_row> rows = time_levels(given.levels);
      if (!given.out.empty()) write_levels(given.out, given.driver, rows);
      return EXIT_SUCCESS;
    }
    bench_run run;
    std::printf("copy bandwidth %.2f TB/s\n", run.bandwidth() * 1e-12);
    if (!given.retrieval) {
      for (const std::uint32_t limbs : {chain, 23U}) {
        if (given.key_rows) {
          run.only_keys_of_coefficients(limbs);
        } else {
          given.key_sums ? run.only_sums_of_keys(limbs) : run.all(limbs);
        }
      }
    }
    std::vector<retrieval_row> retrieval;
    if (!given.reference && !given.key_sums && !given.key_rows)
      retrieval = time_retrieval({run.bandwidth(), mad_rate, butterfly_rate});
    if (!given.out.empty()) write_json(run, retrieval, given);
  } catch (const std::exception& failure) {
    std::cerr << "halocline_kernel_bench: " << failure.what() << "\n";
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
