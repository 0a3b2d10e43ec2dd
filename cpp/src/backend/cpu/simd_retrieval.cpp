// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/simd_config.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/simd_retrieval.cpp"
#include "hwy/foreach_target.h"
// Highway needs foreach_target.h before everything else.
#include <cstring>

#include "backend/cpu/retrieval_kernels.hpp"
#include "backend/cpu/simd_exchange_inl.hpp"
#include "backend/cpu/simd_kernels.hpp"
#include "backend/cpu/simd_wide_inl.hpp"
#include "halocline/arith/arith.hpp"
#include "hwy/cache_control.h"

HWY_BEFORE_NAMESPACE();
namespace halocline::backend::cpu {
namespace HWY_NAMESPACE {

#if HALOCLINE_SIMD

using word = std::uint32_t;
using mod = arith::modulus<word>;
using sum = wide_sum<word>;

constexpr std::size_t word_lanes = hn::MaxLanes(tag<word>());

/// Sums of products that are kept below M = c 2^32 q: M is a multiple of q below 2^63, so that M / q^2
/// products of residues may be added before M is subtracted, and a Montgomery reduction leaves less than
/// (c + 1) q.
struct bounded_sum {
  vec64 bound;
  vec32 q4;
  montgomery_prime<word> prime;
  std::size_t products;  ///< that may be added to a sum below M

  HWY_INLINE explicit bounded_sum(const mod& m) : bound(), q4(broadcast(4 * m.value)), prime(m), products() {
    const std::uint64_t most =
        (m.value < (word{1} << 29) ? std::uint64_t{m.value} << 34 : std::uint64_t{m.value} << 33);
    bound = broadcast(most);
    products = static_cast<std::size_t>(most / (std::uint64_t{m.value - 1} * (m.value - 1)));
  }

  HWY_INLINE void limit(sum& z) const {
    z.even = subtract_once(z.even, bound);
    z.odd = subtract_once(z.odd, bound);
  }
  /// [0, M) to residues.
  HWY_INLINE vec32 reduce(const sum& z) const {
    const vec32 lazy = subtract_once(prime.reduce_lazy(z), q4);
    return subtract_once(subtract_once(lazy, prime.q2), prime.q);
  }
};

/// Columns of a tile, and vectors of the 32 points of each: as many sums of each component as there are
/// registers for, with whole cache lines read at once.
#if HALOCLINE_SIMD_AVX512
constexpr std::size_t tile_columns = 3;
#else
constexpr std::size_t tile_columns = 2;
#endif
constexpr std::size_t tile_vectors = HALOCLINE_SIMD_AVX512 ? 2 : 1;
static_assert(points_per_block % (tile_vectors * word_lanes) == 0);

/// Asks for the cache line at `line` in the second-level cache.
HWY_INLINE void prefetch_far(const word* line) {
#if HWY_COMPILER_GCC || HWY_COMPILER_CLANG
  __builtin_prefetch(line, 0, 2);
#else
  hwy::Prefetch(line);
#endif
}

/// A vector that the compiler loads once: it would rather read memory again for every use, and reads are what
/// binds here.
HWY_INLINE vec32 load_once(const word* from) {
  vec32 v = load(from);
#if HALOCLINE_SIMD_AVX512 && HWY_COMPILER_GCC
  __asm__("" : "+v"(v.raw));
#endif
  return v;
}

/// Adds the products of one vector of points of a row of `Columns` columns, which are `next` words apart.
template <std::size_t Columns>
HWY_INLINE void add_row(sum (&sums)[Columns][2], const word* database, std::size_t next,
                        const word* selectors) {
  const vec32 s0 = load_once(selectors), s0_odd = odd_lanes(s0);
  const vec32 s1 = load_once(selectors + points_per_block), s1_odd = odd_lanes(s1);
  HWY_UNROLL(3)
  for (std::size_t column = 0; column < Columns; ++column) {
    const word* const from = database + column * next;
    prefetch_far(from + Columns * next);  // of the next tile: the processor follows no stream that far
    const vec32 d = load_once(from), d_odd = odd_lanes(d);
    sum& first = sums[column][0];
    sum& second = sums[column][1];
    first.even = hn::Add(first.even, mul_even(d, s0));
    first.odd = hn::Add(first.odd, mul_even(d_odd, s0_odd));
    second.even = hn::Add(second.even, mul_even(d, s1));
    second.odd = hn::Add(second.odd, mul_even(d_odd, s1_odd));
  }
}

/// Points from `at` on of `Columns` columns.
template <std::size_t Columns>
void select_tile(word* const* dst, const row_block& block, std::size_t at, const bounded_sum& bounded) {
  sum sums[tile_vectors][Columns][2];
  const std::size_t next = std::size_t{block.rows} * points_per_block;
  const word* database = block.database + at;
  const word* selectors = block.selectors + at;
  for (std::size_t r = 0; r < block.rows; r += bounded.products) {
    const std::size_t count = HWY_MIN(bounded.products, block.rows - r);
    for (std::size_t i = 0; i < count; ++i) {
      HWY_UNROLL(2)
      for (std::size_t v = 0; v < tile_vectors; ++v) {
        add_row<Columns>(sums[v], database + v * word_lanes, next, selectors + v * word_lanes);
      }
      database += points_per_block;
      selectors += 2 * points_per_block;
    }
    for (std::size_t i = 0; i < 2 * Columns * tile_vectors; ++i) {
      bounded.limit(sums[i / 2 / Columns][i / 2 % Columns][i % 2]);
    }
  }
  for (std::size_t i = 0; i < 2 * Columns * tile_vectors; ++i) {
    const std::size_t v = i / 2 / Columns, column = i / 2 % Columns, c = i % 2;
    store<word>(bounded.reduce(sums[v][column][c]), dst[2 * column + c] + at + v * word_lanes);
  }
}

void row_select(word* const* dst, const row_block& block, const mod& q) {
  const bounded_sum bounded(q);
  for (std::uint32_t column = 0; column < block.columns; column += tile_columns) {
    row_block tile = block;
    tile.database += std::size_t{column} * block.rows * points_per_block;
    const std::size_t left = block.columns - column;
    for (std::size_t at = 0; at < points_per_block; at += tile_vectors * word_lanes) {
      if (left >= tile_columns) {
        select_tile<tile_columns>(dst + 2 * column, tile, at, bounded);
      } else if (left == 2) {
        select_tile<2>(dst + 2 * column, tile, at, bounded);
      } else {
        select_tile<1>(dst + 2 * column, tile, at, bounded);
      }
    }
  }
}

/// Sums of products of both components at vector `at`, in [0, q).
struct product_sums {
  vec32 value[2];

  HWY_INLINE product_sums(const product_term* terms, std::size_t count, const word* const* plus,
                          std::size_t at, const montgomery_prime<word>& p)
      : value{hn::Zero(tag<word>()), hn::Zero(tag<word>())} {
    for (unsigned c = 0; c < 2; ++c) {
      if (plus[c] != nullptr) value[c] = load(plus[c] + at);
    }
    for (std::size_t first = 0; first < count; first += max_products) {
      sum z0, z1;
      for (std::size_t r = first; r < HWY_MIN(count, first + max_products); ++r) {
        const vec32 digit = load(terms[r].digit + at);
        z0.add_product(digit, load(terms[r].row[0] + at));
        z1.add_product(digit, load(terms[r].row[1] + at));
      }
      value[0] = subtract_once(hn::Add(value[0], p.reduce(z0)), p.q);
      value[1] = subtract_once(hn::Add(value[1], p.reduce(z1)), p.q);
    }
  }
};

void product(word* const* dst, const product_term* terms, std::size_t count, const word* const* plus,
             const std::uint32_t* permutation, std::size_t n, const mod& q) {
  if (n % word_lanes != 0) {
    return scalar_retrieval_kernels().product(dst, terms, count, plus, permutation, n, q);
  }
  const tag<word> d;
  const montgomery_prime<word> p(q);
  const vec32 within = broadcast(static_cast<word>(word_lanes - 1));
  for (std::size_t j = 0; j < n; j += word_lanes) {
    if (permutation == nullptr) {
      const product_sums sums(terms, count, plus, j, p);
      for (unsigned c = 0; c < 2; ++c) store<word>(sums.value[c], dst[c] + j);
      continue;
    }
    // The points that come here are those of one vector, in another order (`automorphism_job`).
    const product_sums sums(terms, count, plus, permutation[j] & ~(word_lanes - 1), p);
    const auto order = hn::IndicesFromVec(d, hn::And(load(permutation + j), within));
    for (unsigned c = 0; c < 2; ++c) store<word>(hn::TableLookupLanes(sums.value[c], order), dst[c] + j);
  }
}

void children(word* even, word* odd, const word* src, const word* turned, const word* monomial, std::size_t n,
              const mod& q) {
  if (n % word_lanes != 0) return scalar_retrieval_kernels().children(even, odd, src, turned, monomial, n, q);
  const montgomery_prime<word> p(q);
  for (std::size_t j = 0; j < n; j += word_lanes) {
    const vec32 a = load(src + j), b = load(turned + j);
    store<word>(subtract_once(hn::Add(a, b), p.q), even + j);
    if (odd == nullptr) continue;
    sum z;
    z.add_product(subtract_once(hn::Sub(hn::Add(a, p.q), b), p.q), load(monomial + j));
    store<word>(subtract_once(p.reduce_lazy(z), p.q), odd + j);
  }
}

/// x + q for negative x, else x: residues of numbers above -q as 32-bit two's complement.
HWY_INLINE vec32 residue(vec32 x, vec32 q) { return hn::Min(x, hn::Add(x, q)); }

void split(word* dst, std::size_t stride, const split_source& from, std::size_t n) {
  if (n % word_lanes != 0) return scalar_retrieval_kernels().split(dst, stride, from, n);
  const hn::RebindToSigned<tag<word>> di;
  const word own = from.q[from.prime].value;
  const int bits = static_cast<int>(from.split.base_bits);
  const vec32 q = broadcast(own), largest = broadcast(own / 2);
  const vec32 half = broadcast(word{1} << (bits - 1)), low = broadcast((word{1} << bits) - 1);
  for (std::size_t j = 0; j < n; j += word_lanes) {
    const vec32 x = load(from.src + j);
    vec32 left = hn::IfThenElse(hn::Gt(x, largest), hn::Sub(x, q), x);
    for (unsigned k = 0; k < from.split.digits; ++k) {
      vec32 digit = left;
      if (k + 1 < from.split.digits) {
        digit = hn::Sub(hn::And(hn::Add(left, half), low), half);
        const auto rest = hn::BitCast(di, hn::Sub(left, digit));
        left = hn::BitCast(tag<word>(), hn::ShiftRightSame(rest, bits));
      }
      for (std::uint32_t t = 0; t < from.primes; ++t) {
        store<word>(residue(digit, broadcast(from.q[t].value)), dst + k * stride + t * n + j);
      }
    }
  }
}

/// The 64 bits from byte `first` on, zero behind the last byte.
HWY_INLINE std::uint64_t bytes_from(const packed_plain& from, std::size_t first) {
  std::uint64_t window = 0;
  if (first + sizeof(window) <= from.count) {
    std::memcpy(&window, from.bytes + first, sizeof(window));
  } else if (first < from.count) {
    std::memcpy(&window, from.bytes + first, from.count - first);
  }
  return window;
}

void unpack(word* dst, const packed_plain& from, word factor, std::size_t n, const mod& q) {
  if (n % word_lanes != 0) return scalar_retrieval_kernels().unpack(dst, from, factor, n, q);
  const montgomery_prime<word> p(q);
  const std::uint64_t power = (std::uint64_t{1} << from.bits) % q.value;
  // v factor mod q is one product, below 2q for every 32-bit v; where v stands for v - 2^bits, 2^bits factor
  // is subtracted.
  const vec32 scaled = broadcast(arith::mul_mod(factor, q.r, q));
  const vec32 negative = broadcast(arith::mul_mod(factor, static_cast<word>(power), q));
  const vec32 largest = broadcast((word{1} << (from.bits - 1)) - 1);
  const std::uint64_t low = (std::uint64_t{1} << from.bits) - 1;
  for (std::size_t j = 0; j < n; j += word_lanes) {
    HWY_ALIGN word values[word_lanes];
    for (std::size_t i = 0; i < word_lanes; ++i) {
      const std::size_t bit = (j + i) * from.bits;
      values[i] = static_cast<word>((bytes_from(from, bit / 8) >> (bit % 8)) & low);
    }
    const vec32 v = load(values);
    sum z;
    z.add_scaled(v, scaled);
    const vec32 positive = subtract_once(p.reduce_lazy(z), p.q);
    const vec32 taken = hn::IfThenElseZero(hn::Gt(v, largest), negative);
    store<word>(subtract_once(hn::Sub(hn::Add(positive, p.q), taken), p.q), dst + j);
  }
}

void fill_retrieval(kernel_set<word>& kernels) {
  static const retrieval_kernels table{split, product, children, row_select, scalar_retrieval_kernels().round,
                                       unpack};
  kernels.retrieval = &table;
}

#else

void fill_retrieval(kernel_set<std::uint32_t>&) {}

#endif  // HALOCLINE_SIMD

}  // namespace HWY_NAMESPACE
}  // namespace halocline::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halocline::backend::cpu {

HWY_EXPORT(fill_retrieval);

void add_retrieval_kernels(kernel_set<std::uint32_t>& kernels) {
  HWY_DYNAMIC_DISPATCH(fill_retrieval)(kernels);
}
void add_retrieval_kernels(kernel_set<std::uint64_t>&) {}

}  // namespace halocline::backend::cpu
#endif  // HWY_ONCE
