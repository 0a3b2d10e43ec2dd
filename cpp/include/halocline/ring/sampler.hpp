// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halocline/backend/descriptors.hpp"

namespace halocline::ring {

/// Private randomness of a client, not copyable.
///
/// Without a seed it has no state at all: each call of `fill` takes fresh bytes from the operating system
/// through libsodium, longer outputs as a ChaCha20 stream (RFC 8439) under a key that is drawn for the call
/// and wiped after it. Nothing can repeat in a forked child, in another thread or after a restart.
///
/// With a seed, for tests, it is one ChaCha20 stream: every call uses a nonce of its own, a running counter.
/// It draws in the process that made it only, because a child would repeat its parent. Not thread-safe then.
/// The key is zeroed on destruction.
class random_source {
 public:
  /// Draws from the operating system.
  /// @throws device_error when libsodium cannot be initialised
  random_source();
  /// Deterministic: for tests and reproducible experiments only.
  explicit random_source(const backend::seed_bytes& seed);
  ~random_source();
  random_source(const random_source&) = delete;
  random_source& operator=(const random_source&) = delete;

  /// Fills `out` with random bytes. This and all that draws from a source:
  /// @throws invalid_argument when the source has a seed and this process was forked off after it was made
  void fill(std::span<std::byte> out);
  /// A fresh public seed for a uniform stream.
  [[nodiscard]] backend::seed_bytes next_seed();
  /// Uniform in [0, 2^64).
  [[nodiscard]] std::uint64_t next_u64();
  /// Uniform integer in [0, bound), without bias (rejection).
  /// @throws invalid_argument when bound is 0
  [[nodiscard]] std::uint64_t next_below(std::uint64_t bound);

 private:
  void fill_from_seed(std::span<std::byte> out);

  bool seeded_ = false;
  backend::seed_bytes key_{};  ///< this and the next two: only with a seed
  std::uint64_t counter_ = 0;
  std::uint64_t process_ = 0;  ///< that may draw
};

/// Uniform ternary coefficients in {-1, 0, 1}: pairs of random bits, of which the value 3 is rejected.
/// Without branches or memory accesses that depend on a coefficient.
void sample_ternary(random_source& random, std::span<std::int64_t> out);

/// Ternary coefficients with exactly `hamming_weight` non-zeros of random sign at random places (the first
/// steps of a Fisher-Yates shuffle). For secret keys only: the places show in the memory accesses of this
/// function.
/// @throws invalid_argument when the weight exceeds the length.
void sample_sparse_ternary(random_source& random, std::size_t hamming_weight, std::span<std::int64_t> out);

/// Largest standard deviation for which one table is enough.
inline constexpr double max_table_stddev = 16.0;

/// Cumulative distribution of the magnitudes of a centred discrete Gaussian: entry k is the probability of
/// magnitudes up to k in units of 2^-63, cut where less than 2^-63 remains. For the operation `sample_small`.
/// @param stddev above 0, at most `max_table_stddev`
[[nodiscard]] std::vector<std::uint64_t> gaussian_table(double stddev);

/// Largest standard deviation that `sample_gaussian` takes: 2^50, so that every sample fits a signed 64-bit
/// integer.
inline constexpr double max_gaussian_stddev = 0x1p50;

/// Centred discrete Gaussian, probability of x proportional to exp(-x^2 / (2 stddev^2)).
///
/// Up to standard deviation 16: inversion of the cumulative distribution with 63-bit precision, cut where
/// less than 2^-63 remains, by a full scan of the table, so that time does not depend on the value. Above: 4
/// y + z with z of standard deviation 9 and y of sqrt(stddev^2 - 81) / 4, drawn in the same way (convolution;
/// Micciancio and Walter, "Gaussian sampling over the integers", 2017, section 4: the sum is within 2^-64 of
/// a discrete Gaussian because 1 / sqrt(1/(4 s)^2 + 1/81) with s the deviation of y exceeds the smoothing
/// parameter of 4 Z).
/// @throws invalid_argument unless 0 < stddev <= max_gaussian_stddev
void sample_gaussian(random_source& random, double stddev, std::span<std::int64_t> out);

}  // namespace halocline::ring
