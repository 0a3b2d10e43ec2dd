// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/elementwise/kernel_tuning.hpp"

namespace halocline::backend::cuda {
namespace {

const kernel_tuning* overridden = nullptr;

/// Compute capability 8.0: not measured.
constexpr kernel_tuning ampere() {
  kernel_tuning row;
  row.cached_bytes = std::uint64_t{32} << 20;  // of 40 MB
  return row;
}

/// Compute capability 9.0, measured on an H200 (60 MB of second-level cache), N = 2^16, 32-bit words,
/// microseconds (cpp/bench/results/h200/kernels.json). At 47 limbs the operands exceed the cache:
///   add             normal 18.1, first operand and result go first and most of the second stays 14.9
///   dependent adds  17.8, 15.6      multiply by plaintext 16.5, 13.9     tensor 22.9, 20.8
///   addition and five copies of half as many limbs, which fill the cache: 34.6, 33.4
/// At 23 limbs all fit, and hints cost: add 6.8, 7.7; multiply by plaintext 6.2, 7.9.
/// Halves of keys: first 17.8, normal 20.4 (23 limbs). ModUp: matrix instructions 24.6, multiply-adds 73.1.
/// Blocks per multiprocessor of a ModUp: 3 24.6, 4 25.9. Two packs per thread lost to one: 15.3, 14.9 (add),
/// 16.1, 13.9 (multiply by plaintext).
constexpr kernel_tuning hopper() {
  kernel_tuning row;
  row.large = {cache_hint::evict_first, cache_hint::keep_most, cache_hint::evict_first};
  row.cached_bytes = std::uint64_t{50} << 20;
  row.key_rows = true;
  return row;
}

}  // namespace

const kernel_tuning& tuning_of(int architecture) noexcept {
  static constexpr kernel_tuning table_90 = hopper(), table_80 = ampere(), other;
  if (overridden != nullptr) return *overridden;
  if (architecture == 90) return table_90;
  return architecture / 10 == 8 ? table_80 : other;
}

void override_tuning(const kernel_tuning* tuning) noexcept { overridden = tuning; }

}  // namespace halocline::backend::cuda
