// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/cuda/elementwise/elementwise_access.cuh"
#include "backend/cuda/retrieval/row_select_mma_params.hpp"

/// Bytes of selectors, as the right matrices of `row_select_mma.cuh` have them.
namespace halocline::backend::cuda {

/// Four bytes of eight: byte i of the result is byte (selector >> 4 i) % 8 of b:a.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline std::uint32_t permute_bytes(std::uint32_t a, std::uint32_t b,
                                                                       std::uint32_t selector) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(a, b, selector);
#else
  const std::uint64_t both = static_cast<std::uint64_t>(b) << 32 | a;
  std::uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    result |= static_cast<std::uint32_t>(both >> (8 * (selector >> (4 * i) & 7)) & 0xff) << (8 * i);
  }
  return result;
#endif
}

/// Word b of the result has byte b of x 2^(8a) mod q, in [0, 2q), as its byte a.
HALOCLINE_HOST_DEVICE inline void row_mma_shifts(std::uint32_t x, const row_mma_prime& q,
                                                 std::uint32_t (&bytes)[4]) {
  std::uint32_t shifted[4] = {x};
  HALOCLINE_UNROLL
  for (unsigned a = 1; a < 4; ++a) {
    const std::uint32_t y = shifted[a - 1];
    const auto estimate = static_cast<std::uint32_t>((static_cast<std::uint64_t>(y) * q.quotient) >> 32);
    shifted[a] = (y << 8) - estimate * q.value;
  }
  const std::uint32_t low01 = permute_bytes(shifted[0], shifted[1], 0x5140);
  const std::uint32_t high01 = permute_bytes(shifted[0], shifted[1], 0x7362);
  const std::uint32_t low23 = permute_bytes(shifted[2], shifted[3], 0x5140);
  const std::uint32_t high23 = permute_bytes(shifted[2], shifted[3], 0x7362);
  bytes[0] = permute_bytes(low01, low23, 0x5410);
  bytes[1] = permute_bytes(low01, low23, 0x7632);
  bytes[2] = permute_bytes(high01, high23, 0x5410);
  bytes[3] = permute_bytes(high01, high23, 0x7632);
}

}  // namespace halocline::backend::cuda
