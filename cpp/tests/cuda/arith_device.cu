// SPDX-License-Identifier: Apache-2.0
//
// Compiles every function of arith/arith.hpp for the device, for both words. Host and device kernels share
// that header, so a change that only the host compiler accepts must fail here, on machines without a GPU too.

#include <cstdint>

#include "halocline/arith/arith.hpp"

namespace halocline::arith {
namespace {

/// Writes one result per function and element; `x` and `y` hold residues below q.value.
template <typename WordT>
__global__ void apply_all(const WordT* x, const WordT* y, WordT* out, unsigned count, modulus<WordT> q) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const WordT a = x[i];
  const WordT b = y[i];
  const WordT quotient = shoup_quotient(b, q);
  const double_word<WordT> product = static_cast<double_word<WordT>>(a) * b;
  WordT* result = out + static_cast<std::size_t>(i) * 11;
  result[0] = add_mod(a, b, q);
  result[1] = sub_mod(a, b, q);
  result[2] = negate_mod(a, q);
  result[3] = reduce<WordT>(product, q);
  result[4] = mul_mod(a, b, q);
  result[5] = mul_shoup_lazy(a, b, quotient, q);
  result[6] = mul_shoup(a, b, quotient, q);
  result[7] = montgomery_reduce<WordT>(product, q);
  result[8] = pow_mod(a, 65537, q);
  result[9] = inverse_mod(b, q);
  result[10] = signed_mod(-static_cast<std::int64_t>(a), q);
}

template __global__ void apply_all(const std::uint32_t*, const std::uint32_t*, std::uint32_t*, unsigned,
                                   modulus<std::uint32_t>);
template __global__ void apply_all(const std::uint64_t*, const std::uint64_t*, std::uint64_t*, unsigned,
                                   modulus<std::uint64_t>);

}  // namespace
}  // namespace halocline::arith
