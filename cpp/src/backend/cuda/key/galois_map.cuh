// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/cuda/elementwise/elementwise_access.cuh"

/// Tables of automorphisms, computed instead of read.
namespace halocline::backend::cuda {

/// The lowest `bits` bits of x in opposite order; 0 < bits <= 32.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline std::uint32_t mirrored(std::uint32_t x, std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return __brev(x << (32 - bits));
#else
  std::uint32_t result = 0;
  for (std::uint32_t i = 0; i < bits; ++i) result = result << 1 | (x >> i & 1);
  return result;
#endif
}

/// Table of an automorphism X -> X^g, computed from its first entry instead of read once per limb: entry j is
/// the index of exponent g (2 mirrored(j) + 1), that of entry 0 is g.
class galois_map {
 public:
  HALOCLINE_HOST_DEVICE galois_map(std::uint32_t first_entry, std::uint32_t log_n)
      : log_n_(log_n), element_(2 * mirrored(first_entry, log_n) + 1) {}
  [[nodiscard]] HALOCLINE_HOST_DEVICE std::uint32_t operator()(std::uint32_t j) const {
    return mirrored(element_ * (2 * mirrored(j, log_n_) + 1) >> 1, log_n_);
  }

 private:
  std::uint32_t log_n_;
  std::uint32_t element_;
};

}  // namespace halocline::backend::cuda
