// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "backend/cuda/ntt/ntt_lean.cuh"
#include "backend/cuda/ntt/ntt_params.hpp"
#include "backend/cuda/ntt/ntt_tile.cuh"

/// Which words a thread of the production kernels works on. The *columns* kernel runs the first k stages of
/// a forward transform: sub-transforms of words N / 2^k apart, neighbouring columns in one block. The *rows*
/// kernel runs the last k stages: contiguous sub-transforms. Inverse transforms run them the other way
/// round, and small rings need only rows.
namespace halocline::backend::cuda {

/// Where a block is: a limb of a polynomial. TableT: `twiddle_table`, or `lean_table`.
template <typename WordT, typename TableT = twiddle_table<WordT>>
struct ntt_place {
  std::uint32_t group;
  std::uint32_t limb;  ///< in the group
  const WordT* src;
  WordT* dst;
  TableT at;
};

/// Whether group `group` of the launch has a polynomial `poly`.
template <typename WordT, typename GroupT>
HALOCLINE_HOST_DEVICE inline bool has_poly(const ntt_params<WordT, GroupT>& of, std::uint32_t group,
                                           std::uint32_t poly) {
  return poly < of.groups.items[group].polys;
}

/// Finds limb `limb` of the launch, which belongs to group `in`, polynomial `poly`. `n_bits` is log2 N where
/// it is known when compiling, else 0: it makes the places of words constants of the instructions.
template <bool inverse, unsigned n_bits = 0, template <typename, bool> typename TableT = twiddle_table,
          typename WordT, typename GroupT>
HALOCLINE_HOST_DEVICE inline auto find_limb(const ntt_params<WordT, GroupT>& of, std::uint32_t in,
                                            std::uint32_t limb, std::uint32_t poly) {
  ntt_place<WordT, TableT<WordT, false>> found;
  found.group = in;
  found.limb = limb - of.groups.begin[found.group];
  const GroupT& group = of.groups.items[found.group];
  const std::size_t n = std::size_t{1} << (n_bits != 0 ? n_bits : of.log_n);
  const std::uint32_t prime = group.prime + found.limb;
  found.src = group.src[poly] + found.limb * n;
  found.dst = group.dst[poly] + found.limb * n;
  found.at.roots = of.roots + (4 * std::size_t{prime} + (inverse ? 2 : 0)) * n;
  found.at.quotients = found.at.roots + n;
  set_prime<inverse>(found.at, of.moduli[prime]);
  return found;
}

/// Thread `thread` of block `block` of a limb in the columns kernel. `c` is the number
/// of neighbouring columns as a power of two if it is known when compiling, else 0, and so is `n_bits`.
template <unsigned e, unsigned k, unsigned c = 0, unsigned n_bits = 0, typename WordT, typename GroupT,
          typename TableT>
HALOCLINE_HOST_DEVICE inline ntt_thread<WordT, e, k, false, false, TableT> column_thread(
    const ntt_params<WordT, GroupT>& of, const ntt_place<WordT, TableT>& limb, std::uint32_t block,
    std::uint32_t thread, WordT* shared) {
  const unsigned bits = k != 0 ? k : of.bits;
  const unsigned log_columns = c != 0 ? c : of.log_columns;
  const std::uint32_t inside = thread & ((1U << log_columns) - 1);
  const std::uint32_t column = (block << log_columns) | inside;
  return {limb.at,
          limb.src + column,
          limb.dst + column,
          shared + inside,
          1,
          thread >> log_columns,
          bits,
          (n_bits != 0 ? n_bits : of.log_n) - bits,
          log_columns};
}

/// Thread `thread` of a block of the rows kernel whose first row is `first`.
template <unsigned e, unsigned k, unsigned n_bits = 0, typename WordT, typename GroupT, typename TableT>
HALOCLINE_HOST_DEVICE inline ntt_thread<WordT, e, k, false, false, TableT> row_thread(
    const ntt_params<WordT, GroupT>& of, const ntt_place<WordT, TableT>& limb, std::uint32_t first,
    std::uint32_t thread, WordT* shared) {
  const unsigned bits = k != 0 ? k : of.bits;
  const std::uint32_t inside = thread >> (bits - e), row = first + inside;
  const std::size_t start = static_cast<std::size_t>(row) << bits;
  return {limb.at,
          limb.src + start,
          limb.dst + start,
          shared + inside * exchange_words(bits, e),
          (1U << ((n_bits != 0 ? n_bits : of.log_n) - bits)) + row,
          thread & ((1U << (bits - e)) - 1),
          bits,
          0,
          0};
}

/// Words of the table of a block's rows in shared memory: quotients, then twiddles where those do not
/// suffice.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr std::size_t near_table_words(std::uint32_t rows, unsigned k) {
  return std::size_t{quotients_suffice<WordT> ? 1U : 2U} * rows << k;
}

/// The same thread where the twiddles of the block's `rows` rows lie in shared memory: these rows' trees, as
/// if they were numbers `rows` to 2 rows - 1 of their level, so that all entries are numbers below 2^k rows.
template <unsigned e, unsigned k, typename WordT, template <typename, bool> typename TableT>
HALOCLINE_HOST_DEVICE inline ntt_thread<WordT, e, k, true, false, TableT<WordT, true>> with_near_table(
    const ntt_thread<WordT, e, k, false, false, TableT<WordT, false>>& on, const WordT* table,
    std::uint32_t rows, std::uint32_t inside) {
  const WordT* const roots =
      quotients_suffice<WordT> ? nullptr : table + (static_cast<std::size_t>(rows) << k);
  return {near_table(on.at, roots, table),
          on.src,
          on.dst,
          on.shared,
          rows + inside,
          on.member,
          on.bits,
          on.log_stride,
          on.log_columns};
}

/// Where entry `word` of such a table comes from; `first` is the node of the block's first row.
HALOCLINE_HOST_DEVICE inline std::uint32_t near_entry(std::uint32_t word, std::uint32_t rows,
                                                      std::uint32_t first) {
#if defined(__CUDA_ARCH__)
  const int level = __clz(static_cast<int>(rows)) - __clz(static_cast<int>(word));
#else
  unsigned level = 0;
  while ((word >> level) >= 2 * rows) ++level;
#endif
  return word + ((first - rows) << level);
}

/// Full reduction of the results of a forward transform.
template <typename WordT, typename TableT>
HALOCLINE_HOST_DEVICE inline chunk<WordT> reduce_chunk(chunk<WordT> x, const TableT& at) {
  HALOCLINE_UNROLL
  for (unsigned i = 0; i < chunk<WordT>::words; ++i) x.word[i] = reduce_result(x.word[i], at);
  return x;
}

/// factors.a * a + factors.b * x, fully reduced.
template <typename WordT, typename TableT>
HALOCLINE_HOST_DEVICE inline chunk<WordT> combine_chunk(const chunk<WordT>& a, chunk<WordT> x,
                                                        const combine_factors<WordT>& f, const TableT& at) {
  HALOCLINE_UNROLL
  for (unsigned i = 0; i < chunk<WordT>::words; ++i)
    x.word[i] = mul_lazy(a.word[i], f.a, f.a_quotient, at.q) + mul_lazy(x.word[i], f.b, f.b_quotient, at.q);
  return reduce_chunk(x, at);
}

/// Stores the results of a forward transform, or what they are combined to.
template <typename ParamsT, typename PlaceT, typename ThreadT>
HALOCLINE_HOST_DEVICE inline void store_results(const ParamsT& params, const PlaceT& place,
                                                std::uint32_t poly, const ThreadT& on) {
  using word = std::remove_cvref_t<decltype(*on.dst)>;
  if constexpr (!std::is_same_v<ParamsT, combine_params<word>>) {
    on.store_chunks([&](std::uint32_t, const chunk<word>& got) { return reduce_chunk(got, place.at); });
  } else {
    const auto& group = params.groups.items[place.group];
    const combine_factors<word> factors = params.factors[group.factors[poly] + place.limb];
    const auto* const a = reinterpret_cast<const chunk<word>*>(group.a[poly] + (on.dst - group.dst[poly]));
    on.store_chunks([&](std::uint32_t c, const chunk<word>& got) {
      return combine_chunk(read_chunk(a + c), got, factors, place.at);
    });
  }
}

}  // namespace halocline::backend::cuda
