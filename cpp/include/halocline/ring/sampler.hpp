// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halocline/backend/descriptors.hpp"

namespace halocline::ring {

/// Private randomness of a client: a ChaCha20 stream (libsodium) under a 32-byte key that comes from the operating
/// system through libsodium, or from the caller in tests. The key is zeroed on destruction. Not copyable.
class random_source {
 public:
  /// Keyed by libsodium's system randomness.
  random_source();
  /// Deterministic: for tests and reproducible experiments only.
  explicit random_source(const backend::seed_bytes& seed);
  ~random_source();
  random_source(const random_source&) = delete;
  random_source& operator=(const random_source&) = delete;

  void fill(std::span<std::byte> out);
  /// A fresh public seed for a uniform stream.
  [[nodiscard]] backend::seed_bytes next_seed();
  [[nodiscard]] std::uint64_t next_u64();
  /// Uniform integer in [0, bound), without bias. bound > 0.
  [[nodiscard]] std::uint64_t next_below(std::uint64_t bound);

 private:
  backend::seed_bytes key_{};
  std::uint64_t counter_ = 0;
};

/// Uniform ternary coefficients in {-1, 0, 1}.
void sample_ternary(random_source& random, std::span<std::int64_t> out);

/// Ternary coefficients with exactly `hamming_weight` non-zeros of random sign at random places (Fisher-Yates).
/// @throws invalid_argument when the weight exceeds the length.
void sample_sparse_ternary(random_source& random, std::size_t hamming_weight, std::span<std::int64_t> out);

/// Centred discrete Gaussian of standard deviation `stddev` (0 < stddev <= 2^20): inversion of the cumulative
/// distribution with 63-bit precision, a full scan of the table per sample so that time does not depend on the
/// value; large deviations (noise flooding) add a scaled and a small Gaussian.
void sample_gaussian(random_source& random, double stddev, std::span<std::int64_t> out);

}  // namespace halocline::ring
