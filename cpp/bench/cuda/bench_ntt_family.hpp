// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "backend/cuda/device/launcher.hpp"
#include "halocline/arith/modulus.hpp"

/// Parts of `halocline_ntt_bench`.
namespace halocline::bench {

using namespace halocline::backend;

/// Device memory of a benchmark; freed with the object.
class device_bytes {
 public:
  explicit device_bytes(std::size_t bytes);
  ~device_bytes();
  device_bytes(const device_bytes&) = delete;
  device_bytes& operator=(const device_bytes&) = delete;
  template <typename T>
  [[nodiscard]] T* as() const noexcept {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
};

/// Moduli, roots, random polynomials and their transforms by the scalar kernel, on the device: one limb for
/// each of `primes` primes.
template <typename WordT>
class ntt_bench_tables {
 public:
  /// @param bits of the primes; 0: the most that words may have
  ntt_bench_tables(unsigned log_n, unsigned primes, unsigned bits = 0);

  unsigned log_n;
  unsigned primes;
  device_bytes moduli, roots, values, transformed;
};

/// Words dst[i] = base[i & mask] on the compute stream.
template <typename WordT>
void repeat_words(const cuda::device_context& device, WordT* dst, const WordT* base, std::size_t mask,
                  std::size_t count);
/// Number of words in which data differs from base[i & mask].
template <typename WordT>
[[nodiscard]] std::uint64_t count_wrong(const cuda::device_context& device, const WordT* data,
                                        const WordT* base, std::size_t mask, std::size_t count);

/// Ceilings of the card, measured.
struct peaks {
  double copy_bytes = 0;           ///< bytes read plus written per second by a copy kernel
  double butterflies[2] = {0, 0};  ///< per second, operands in registers; 32-bit and 64-bit words
  double lean_butterflies = 0;     ///< of 64-bit words and small primes (ntt_lean.cuh)
};
[[nodiscard]] peaks measure_peaks(const cuda::device_context& device, void* pool, std::size_t bytes);

/// Median seconds of one `run(i)`, i counting up: events around groups that take long enough for their
/// resolution, after a warm-up. At least 20 groups.
[[nodiscard]] double median_seconds(const cuda::device_context& device,
                                    const std::function<void(std::size_t)>& run);

/// Size of the pool that the benchmarks get, and how much of it they use in turn, several times the L2.
inline constexpr std::size_t pool_bytes = std::size_t{1} << 30;
inline constexpr std::size_t rotated_bytes = std::size_t{1} << 29;

/// The table of variants: N = 2^12 ... 2^17, batch 1 ... 1024. JSON rows go to `out`. False when a variant
/// computes wrong integers.
bool run_family(cuda::device_context& device, void* pool, const peaks& ceiling, bool quick,
                std::ostream& out);
/// Forms of the production transform of 64-bit words (`ntt_form`) at N = 2^14 and 2^15.
bool run_forms(cuda::device_context& device, void* pool, const peaks& ceiling, bool quick, std::ostream& out);
/// A product of SEAL ciphertexts, relinearized and rescaled, with each form: N = 2^15, 8 primes of 55 bits.
bool run_routine(int device, bool quick, std::ostream& out);
/// Shapes of the production kernel at N = 2^16; `limbs` per polynomial.
bool run_tuning(cuda::device_context& device, void* pool, unsigned word_bits, unsigned limbs,
                std::ostream& out);

}  // namespace halocline::bench
