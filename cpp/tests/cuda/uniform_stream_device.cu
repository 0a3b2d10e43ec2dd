// SPDX-License-Identifier: Apache-2.0
//
// Compiles arith/uniform_stream.hpp for the device, for both words: seeded keys are expanded inside kernels,
// from the same definition as on the host.

#include <cstddef>
#include <cstdint>

#include "halocline/arith/uniform_stream.hpp"

namespace halocline::arith {
namespace {

/// Fills one limb with its seeded uniform residues.
template <typename WordT>
__global__ void fill_limb(uniform_limb limb, modulus<WordT> q, WordT* out, std::size_t count) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) out[i] = uniform_word(limb, i, q);
}

template __global__ void fill_limb(uniform_limb, modulus<std::uint32_t>, std::uint32_t*, std::size_t);
template __global__ void fill_limb(uniform_limb, modulus<std::uint64_t>, std::uint64_t*, std::size_t);

}  // namespace
}  // namespace halocline::arith
