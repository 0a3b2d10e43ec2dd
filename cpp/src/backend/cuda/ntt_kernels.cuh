// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/ntt_params.hpp"
#include "backend/cuda/ntt_tile.cuh"

/// Which words a thread of the production kernels works on. The *columns* kernel runs the first k stages of
/// a forward transform: sub-transforms of words N / 2^k apart, neighbouring columns in one block. The *rows*
/// kernel runs the last k stages: contiguous sub-transforms. Inverse transforms run them the other way
/// round, and small rings need only rows.
namespace halocline::backend::cuda {

/// Where a block is: a limb of a polynomial.
template <typename WordT>
struct ntt_place {
  std::uint32_t group;
  std::uint32_t limb;  ///< in the group
  const WordT* src;
  WordT* dst;
  twiddle_table<WordT> at;
};

/// Finds limb `limb` of the launch, polynomial `poly` of its group.
template <bool inverse, typename WordT, typename GroupT>
HALOCLINE_HOST_DEVICE inline ntt_place<WordT> find_limb(const ntt_params<WordT, GroupT>& of,
                                                        std::uint32_t limb, std::uint32_t poly) {
  ntt_place<WordT> found;
  found.group = of.groups.find(limb);
  found.limb = limb - of.groups.begin[found.group];
  const GroupT& group = of.groups.items[found.group];
  const std::size_t n = std::size_t{1} << of.log_n;
  const std::uint32_t prime = group.prime + found.limb;
  found.src = group.src[poly] + found.limb * n;
  found.dst = group.dst[poly] + found.limb * n;
  found.at.roots = of.roots + (4 * std::size_t{prime} + (inverse ? 2 : 0)) * n;
  found.at.quotients = found.at.roots + n;
  found.at.q = of.moduli[prime].value;
  return found;
}

/// Thread `thread` of block `block` of a limb in the columns kernel.
template <unsigned e, unsigned k, typename WordT, typename GroupT>
HALOCLINE_HOST_DEVICE inline ntt_thread<WordT, e, k> column_thread(const ntt_params<WordT, GroupT>& of,
                                                                   const ntt_place<WordT>& limb,
                                                                   std::uint32_t block, std::uint32_t thread,
                                                                   WordT* shared) {
  const unsigned bits = k != 0 ? k : of.bits;
  const std::uint32_t inside = thread & ((1U << of.log_columns) - 1);
  const std::uint32_t column = (block << of.log_columns) | inside;
  return {limb.at, limb.src + column, limb.dst + column, shared + inside, 1, thread >> of.log_columns,
          bits,    of.log_n - bits,   of.log_columns};
}

/// Thread `thread` of a block of the rows kernel whose first row is `first`.
template <unsigned e, unsigned k, typename WordT, typename GroupT>
HALOCLINE_HOST_DEVICE inline ntt_thread<WordT, e, k> row_thread(const ntt_params<WordT, GroupT>& of,
                                                                const ntt_place<WordT>& limb,
                                                                std::uint32_t first, std::uint32_t thread,
                                                                WordT* shared) {
  const unsigned bits = k != 0 ? k : of.bits;
  const std::uint32_t inside = thread >> (bits - e), row = first + inside;
  const std::size_t start = static_cast<std::size_t>(row) << bits;
  return {limb.at,
          limb.src + start,
          limb.dst + start,
          shared + inside * exchange_words(bits, e),
          (1U << (of.log_n - bits)) + row,
          thread & ((1U << (bits - e)) - 1),
          bits,
          0,
          0};
}

/// Full reduction of the results of a forward transform.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline chunk<WordT> reduce_chunk(chunk<WordT> x, WordT q) {
  HALOCLINE_UNROLL
  for (unsigned i = 0; i < chunk<WordT>::words; ++i)
    x.word[i] = reduce_once<WordT>(reduce_once<WordT>(x.word[i], 2 * q), q);
  return x;
}

/// factors.a * a + factors.b * x, fully reduced.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline chunk<WordT> combine_chunk(const chunk<WordT>& a, chunk<WordT> x,
                                                        const combine_factors<WordT>& f, WordT q) {
  HALOCLINE_UNROLL
  for (unsigned i = 0; i < chunk<WordT>::words; ++i)
    x.word[i] = mul_lazy(a.word[i], f.a, f.a_quotient, q) + mul_lazy(x.word[i], f.b, f.b_quotient, q);
  return reduce_chunk(x, q);
}

}  // namespace halocline::backend::cuda
