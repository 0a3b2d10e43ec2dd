// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/simd_config.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/simd_ntt.cpp"
#include "hwy/foreach_target.h"
// Highway needs foreach_target.h before everything else.
#include "backend/cpu/scalar_elementwise.hpp"
#include "backend/cpu/scalar_ntt.hpp"
#include "backend/cpu/simd_arith_inl.hpp"
#include "backend/cpu/simd_kernels.hpp"
#include "backend/cpu/simd_ntt_stages_inl.hpp"

// Negacyclic NTT on vectors. Stages whose butterflies span whole vectors go several at a time through
// registers ("pass"); the last ones of them are fused with the stages inside a vector ("core"). Passes over a
// limb larger than the first-level cache recurse into blocks, so that a limb is read from the second level
// about twice.

HWY_BEFORE_NAMESPACE();
namespace halocline::backend::cpu {
namespace HWY_NAMESPACE {

#if HALOCLINE_SIMD

/// Bytes of a block that stays in the first-level data cache (32 KiB or more on all targets).
constexpr std::size_t block_bytes = std::size_t{1} << 15;
/// Most stages of a pass. Its 2^4 values stay in registers, as far as there are enough; its twiddle factors
/// come from the cache. Eight independent butterflies hide the latency of one, about 14 cycles. Measured on
/// Zen 5, N = 2^15, 32-bit words, against 3 stages: 16.0 and 18.1 us with AVX-512, 33.0 and 36.5 us with
/// AVX2.
constexpr unsigned pass_stages = 4;
constexpr std::size_t core_vectors = std::size_t{1} << pass_stages;

template <typename WordT>
constexpr std::size_t lanes = hn::MaxLanes(tag<WordT>());
/// Words that one core works on.
template <typename WordT>
constexpr std::size_t core_words = core_vectors* lanes<WordT>;

/// How far ahead of their use words and twiddle factors are prefetched: the factors of a prime are twice as
/// large as a limb, and in a program both come from beyond the second-level cache. Measured on Zen 5, N =
/// 2^15, 32-bit words, forward and inverse: 20.5 and 22 us without and 18.5 us with prefetches when 30 primes
/// take turns; 31 and 33 us against 23 and 25 us when everything comes from memory; no difference when all is
/// cached.
constexpr std::size_t cores_ahead = 2;
constexpr std::size_t vectors_ahead = 4;

/// Prefetches `Vectors` vectors.
template <std::size_t Vectors, typename WordT>
HWY_INLINE void prefetch_words(const WordT* from) {
  HWY_UNROLL(16)
  for (std::size_t i = 0; i < Vectors; ++i) hwy::Prefetch(from + i * lanes<WordT>);
}

/// Splits the stages before the cores into passes, the shorter ones first.
struct pass_plan {
  unsigned count = 0;
  unsigned stages[16] = {};

  explicit pass_plan(unsigned total) : count((total + pass_stages - 1) / pass_stages) {
    for (unsigned i = 0; i < count; ++i) stages[i] = (total + i) / count;
  }
};

/// First words of a transform: those of the source.
template <typename WordT>
struct load_words {
  HWY_INLINE vec<WordT> operator()(const lazy_prime<WordT>&, const WordT* from) const { return load(from); }
};

/// First words of a transform: those of a limb modulo another prime p. What is below 2B - q needs no
/// reduction; otherwise a product by 1 is in [0, B]. Negative integers are greater by p in the limb.
template <typename WordT>
struct load_reduced {
  bool product;
  vec<WordT> one, one_quotient, half, wrapped;

  HWY_INLINE load_reduced(const reduction<WordT>& by, const arith::modulus<WordT>& q)
      : product(by.source / (sizeof(WordT) == 8 ? 7 : 3) >= q.value),
        one(broadcast<WordT>(1)),
        one_quotient(broadcast(arith::shoup_quotient<WordT>(1, q))),
        half(broadcast<WordT>(by.centred ? by.source / 2 : by.source)),
        wrapped(broadcast(arith::negate_mod(static_cast<WordT>(by.source % q.value), q))) {}
  HWY_INLINE vec<WordT> operator()(const lazy_prime<WordT>& f, const WordT* from) const {
    const vec<WordT> x = load(from);
    const vec<WordT> added = hn::IfThenElseZero(hn::Gt(x, half), wrapped);
    return hn::Add(product ? f.mul_paired(x, one, one_quotient) : x, added);
  }
};

/// Stores reduced results of a core.
template <typename WordT>
struct store_reduced {
  WordT* dst;

  HWY_INLINE void prefetch(std::size_t) const {}
  HWY_INLINE void operator()(const lazy_prime<WordT>& f, std::size_t at, vec<WordT> even,
                             vec<WordT> odd) const {
    const tag<WordT> d;
    hn::StoreInterleaved2(f.finish_product(f.reduce(even)), f.finish_product(f.reduce(odd)), d, dst + at);
  }
};

/// Stores factor_a * a + factor_b * result.
template <typename WordT>
struct store_combined {
  WordT* dst;
  const WordT* a;
  factor<WordT> factor_a, factor_b;

  HWY_INLINE void prefetch(std::size_t at) const { prefetch_words<core_vectors>(a + at); }
  HWY_INLINE vec<WordT> combine(const lazy_prime<WordT>& f, vec<WordT> x, vec<WordT> y) const {
    const vec<WordT> left = multiply_lazy<lane_factors::paired>(f, x, factor_a);
    const vec<WordT> right = multiply_lazy<lane_factors::paired>(f, y, factor_b);
    return f.finish_product(f.reduce(hn::Add(left, right)));
  }
  HWY_INLINE void operator()(const lazy_prime<WordT>& f, std::size_t at, vec<WordT> even,
                             vec<WordT> odd) const {
    const tag<WordT> d;
    vec<WordT> a_even, a_odd;
    hn::LoadInterleaved2(d, a + at, a_even, a_odd);
    hn::StoreInterleaved2(combine(f, a_even, even), combine(f, a_odd, odd), d, dst + at);
  }
};

/// One forward NTT.
template <typename WordT, typename StoreT, typename LoadT = load_words<WordT>>
class forward_transform {
 public:
  forward_transform(const prime_tables<WordT>& tables, const StoreT& out, const LoadT& in = {})
      : tables_(tables),
        n_(std::size_t{1} << tables.log_n),
        f_(*tables.q),
        inner_(tables.roots, tables.root_quotients, n_),
        out_(out),
        in_(in),
        plan_(tables.log_n - hwy::FloorLog2(static_cast<std::uint32_t>(core_words<WordT>))) {}

  /// `work` holds intermediate values; it may be `src`. There is a pass before the cores (`is_small`).
  void run(WordT* work, const WordT* src) const { block(0, 1, 0, n_, work, src); }

 private:
  /// Transforms the group with table entry `group` at words [first, first + size), from pass `level` on.
  void block(unsigned level, std::size_t group, std::size_t first, std::size_t size, WordT* work,
             const WordT* src) const {
    if (level == plan_.count) {
      cores(work, group, first, size);
      return;
    }
    const unsigned stages = plan_.stages[level];
    const std::size_t children = std::size_t{1} << stages;
    if (size * sizeof(WordT) > block_bytes) {
      pass(stages, group, work + first, src + first, size);
      for (std::size_t i = 0; i < children; ++i) {
        block(level + 1, group * children + i, first + i * (size >> stages), size >> stages, work, work);
      }
      return;
    }
    // The rest fits the cache: pass by pass over all groups of the block.
    std::size_t groups = 1;
    const WordT* from = src;
    for (; level < plan_.count; ++level) {
      const std::size_t group_size = size / groups;
      for (std::size_t i = 0; i < groups; ++i) {
        pass(plan_.stages[level], group * groups + i, work + first + i * group_size,
             from + first + i * group_size, group_size);
      }
      groups <<= plan_.stages[level];
      from = work;
    }
    cores(work, group, first, size);
  }

  void pass(unsigned stages, std::size_t group, WordT* dst, const WordT* src, std::size_t size) const {
    size == n_ ? pass_from(in_, stages, group, dst, src, size)
               : pass_from(load_words<WordT>(), stages, group, dst, src, size);
  }

  template <typename FromT>
  void pass_from(const FromT& in, unsigned stages, std::size_t group, WordT* dst, const WordT* src,
                 std::size_t size) const {
    switch (stages) {
      case 1:
        return pass_of<1>(in, group, dst, src, size);
      case 2:
        return pass_of<2>(in, group, dst, src, size);
      case 3:
        return pass_of<3>(in, group, dst, src, size);
      default:
        return pass_of<4>(in, group, dst, src, size);
    }
  }

  template <unsigned Stages, typename FromT>
  void pass_of(const FromT& from, std::size_t group, WordT* dst, const WordT* src, std::size_t size) const {
    constexpr std::size_t values = std::size_t{1} << Stages;
    const lazy_prime<WordT> f = f_;
    const FromT in = from;
    const group_factors<WordT, Stages> w(tables_.roots, tables_.root_quotients, group);
    const std::size_t stride = size / values;
    for (std::size_t j = 0; j < stride; j += lanes<WordT>) {
      if (size == n_) {
        const std::size_t ahead = (j + vectors_ahead * lanes<WordT>)&(stride - 1);
        HWY_UNROLL(16)
        for (std::size_t i = 0; i < values; ++i) hwy::Prefetch(src + i * stride + ahead);
      }
      vec<WordT> x[values];
      HWY_UNROLL(16)
      for (std::size_t i = 0; i < values; ++i) x[i] = in(f, src + i * stride + j);
      forward_stages<Stages>(f, x, w);
      HWY_UNROLL(16)
      for (std::size_t i = 0; i < values; ++i) store<WordT>(x[i], dst + i * stride + j);
    }
  }

  /// Last stages of the group with table entry `group`, core by core.
  void cores(const WordT* src, std::size_t group, std::size_t first, std::size_t size) const {
    const lazy_prime<WordT> f = f_;
    const vector_stages<WordT> inner = inner_;
    const StoreT out = out_;
    const std::size_t count = size / core_words<WordT>;
    for (std::size_t c = 0; c < count; ++c) {
      const std::size_t at = first + c * core_words<WordT>;
      const group_factors<WordT, pass_stages> w(tables_.roots, tables_.root_quotients, group * count + c);
      vec<WordT> x[core_vectors];
      HWY_UNROLL(16)
      for (std::size_t i = 0; i < core_vectors; ++i) x[i] = load(src + at + i * lanes<WordT>);
      const std::size_t ahead = (at + cores_ahead * core_words<WordT>)&(n_ - 1);
      inner.template prefetch<core_vectors>(ahead);
      out.prefetch(ahead);
      forward_stages<pass_stages>(f, x, w);
      inner.template forward<core_vectors>(f, at, x);
      HWY_UNROLL(16)
      for (std::size_t i = 0; i < core_vectors; i += 2) out(f, at + i * lanes<WordT>, x[i], x[i + 1]);
    }
  }

  const prime_tables<WordT>& tables_;
  std::size_t n_;
  lazy_prime<WordT> f_;
  vector_stages<WordT> inner_;
  StoreT out_;
  LoadT in_;
  pass_plan plan_;
};

/// One inverse NTT, the mirror image: cores first, then passes, the last of which multiplies by 1/N.
template <typename WordT>
class inverse_transform {
 public:
  explicit inverse_transform(const prime_tables<WordT>& tables)
      : tables_(tables),
        n_(std::size_t{1} << tables.log_n),
        f_(*tables.q),
        inner_(tables.inverse_roots, tables.inverse_root_quotients, n_),
        plan_(tables.log_n - hwy::FloorLog2(static_cast<std::uint32_t>(core_words<WordT>))) {}

  void run(WordT* dst, const WordT* src) const { block(0, 1, 0, n_, dst, src); }

 private:
  void block(unsigned level, std::size_t group, std::size_t first, std::size_t size, WordT* dst,
             const WordT* src) const {
    if (level == plan_.count) {
      cores(dst, src, group, first, size);
      return;
    }
    const unsigned stages = plan_.stages[level];
    const std::size_t children = std::size_t{1} << stages;
    if (size * sizeof(WordT) > block_bytes) {
      for (std::size_t i = 0; i < children; ++i) {
        block(level + 1, group * children + i, first + i * (size >> stages), size >> stages, dst, src);
      }
      pass(stages, group, dst + first, size);
      return;
    }
    cores(dst, src, group, first, size);
    std::size_t group_size = core_words<WordT>;
    for (unsigned l = plan_.count; l-- > level;) {
      group_size <<= plan_.stages[l];
      const std::size_t groups = size / group_size;
      for (std::size_t i = 0; i < groups; ++i) {
        pass(plan_.stages[l], group * groups + i, dst + first + i * group_size, group_size);
      }
    }
  }

  void pass(unsigned stages, std::size_t group, WordT* x, std::size_t size) const {
    if (size == n_) {
      switch (stages) {
        case 1:
          return pass_of<1, true>(group, x, size);
        case 2:
          return pass_of<2, true>(group, x, size);
        case 3:
          return pass_of<3, true>(group, x, size);
        default:
          return pass_of<4, true>(group, x, size);
      }
    }
    switch (stages) {
      case 1:
        return pass_of<1, false>(group, x, size);
      case 2:
        return pass_of<2, false>(group, x, size);
      case 3:
        return pass_of<3, false>(group, x, size);
      default:
        return pass_of<4, false>(group, x, size);
    }
  }

  template <unsigned Stages, bool Final>
  void pass_of(std::size_t group, WordT* data, std::size_t size) const {
    constexpr std::size_t values = std::size_t{1} << Stages;
    const lazy_prime<WordT> f = f_;
    const group_factors<WordT, Stages> w(tables_.inverse_roots, tables_.inverse_root_quotients, group);
    const auto [scale, scaled_root] = Final ? final_factors() : final_pair{w.w[0], w.w[0]};
    const std::size_t stride = size / values;
    for (std::size_t j = 0; j < stride; j += lanes<WordT>) {
      vec<WordT> x[values];
      HWY_UNROLL(16)
      for (std::size_t i = 0; i < values; ++i) x[i] = load(data + i * stride + j);
      inverse_stages<Stages, Final ? 1 : 0>(f, x, w);
      if constexpr (Final) {
        HWY_UNROLL(16)
        for (std::size_t i = 0; i < values / 2; ++i)
          final_butterfly(f, x[i], x[i + values / 2], scale, scaled_root);
      }
      HWY_UNROLL(16)
      for (std::size_t i = 0; i < values; ++i) store<WordT>(x[i], data + i * stride + j);
    }
  }

  struct final_pair {
    factor<WordT> scale, scaled_root;
  };

  /// 1/N, and 1/N times the factor of the last butterfly.
  HWY_INLINE final_pair final_factors() const {
    const auto& q = *tables_.q;
    const WordT root = arith::mul_shoup(tables_.inverse_roots[1], tables_.inverse_roots[0],
                                        tables_.inverse_root_quotients[0], q);
    return {broadcast_factor(tables_.inverse_roots[0], tables_.inverse_root_quotients[0]),
            broadcast_factor(root, arith::shoup_quotient(root, q))};
  }

  static HWY_INLINE void final_butterfly(const lazy_prime<WordT>& f, vec<WordT>& x, vec<WordT>& y,
                                         const factor<WordT>& scale, const factor<WordT>& scaled_root) {
    const vec<WordT> difference = hn::Sub(hn::Add(x, f.bound), y);
    x = f.finish_product(multiply_lazy<lane_factors::paired>(f, hn::Add(x, y), scale));
    y = f.finish_product(multiply_lazy<lane_factors::paired>(f, difference, scaled_root));
  }

  void cores(WordT* dst, const WordT* src, std::size_t group, std::size_t first, std::size_t size) const {
    const tag<WordT> d;
    const lazy_prime<WordT> f = f_;
    const vector_stages<WordT> inner = inner_;
    const std::size_t count = size / core_words<WordT>;
    for (std::size_t c = 0; c < count; ++c) {
      const std::size_t at = first + c * core_words<WordT>;
      const group_factors<WordT, pass_stages> w(tables_.inverse_roots, tables_.inverse_root_quotients,
                                                group * count + c);
      vec<WordT> x[core_vectors];
      HWY_UNROLL(16)
      for (std::size_t i = 0; i < core_vectors; i += 2) {
        hn::LoadInterleaved2(d, src + at + i * lanes<WordT>, x[i], x[i + 1]);
      }
      const std::size_t ahead = (at + cores_ahead * core_words<WordT>)&(n_ - 1);
      inner.template prefetch<core_vectors>(ahead);
      prefetch_words<core_vectors>(src + ahead);
      inner.template inverse<core_vectors>(f, at, x);
      inverse_stages<pass_stages, 0>(f, x, w);
      HWY_UNROLL(16)
      for (std::size_t i = 0; i < core_vectors; ++i) store<WordT>(x[i], dst + at + i * lanes<WordT>);
    }
  }

  const prime_tables<WordT>& tables_;
  std::size_t n_;
  lazy_prime<WordT> f_;
  vector_stages<WordT> inner_;
  pass_plan plan_;
};

/// Smaller transforms have no pass besides the core; they take the specification.
template <typename WordT>
bool is_small(const prime_tables<WordT>& tables) {
  return (std::size_t{1} << tables.log_n) < 2 * core_words<WordT>;
}

template <typename WordT>
void ntt(WordT* dst, const WordT* src, const prime_tables<WordT>& tables) {
  if (is_small(tables)) return scalar::ntt(dst, src, tables);
  forward_transform<WordT, store_reduced<WordT>>(tables, {dst}).run(dst, src);
}

template <typename WordT>
void intt(WordT* dst, const WordT* src, const prime_tables<WordT>& tables) {
  if (is_small(tables)) return scalar::intt(dst, src, tables);
  inverse_transform<WordT>(tables).run(dst, src);
}

template <typename WordT>
void ntt_linear_combine(WordT* dst, const WordT* a, WordT* b, WordT factor_a, WordT factor_b,
                        const prime_tables<WordT>& tables) {
  if (is_small(tables)) return scalar::ntt_linear_combine(dst, a, b, factor_a, factor_b, tables);
  const auto& q = *tables.q;
  const store_combined<WordT> out{dst, a, broadcast_factor(factor_a, arith::shoup_quotient(factor_a, q)),
                                  broadcast_factor(factor_b, arith::shoup_quotient(factor_b, q))};
  forward_transform<WordT, store_combined<WordT>>(tables, out).run(b, b);
}

template <typename WordT>
void ntt_reduced(WordT* dst, const WordT* src, const WordT* a, WordT factor_a, WordT factor_b,
                 const reduction<WordT>& from, const prime_tables<WordT>& tables) {
  if (is_small(tables)) return scalar::ntt_reduced(dst, src, a, factor_a, factor_b, from, tables);
  const auto& q = *tables.q;
  const load_reduced<WordT> in(from, q);
  using reduced = load_reduced<WordT>;
  if (a == nullptr) {
    return forward_transform<WordT, store_reduced<WordT>, reduced>(tables, {dst}, in).run(dst, src);
  }
  const store_combined<WordT> out{dst, a, broadcast_factor(factor_a, arith::shoup_quotient(factor_a, q)),
                                  broadcast_factor(factor_b, arith::shoup_quotient(factor_b, q))};
  forward_transform<WordT, store_combined<WordT>, reduced>(tables, out, in).run(dst, src);
}

template <typename WordT>
void fill(kernel_set<WordT>& kernels) {
  kernels.ntt = ntt<WordT>;
  kernels.ntt_reduced = ntt_reduced<WordT>;
  kernels.intt = intt<WordT>;
  kernels.ntt_linear_combine = ntt_linear_combine<WordT>;
}

#else

template <typename WordT>
void fill(kernel_set<WordT>&) {}

#endif  // HALOCLINE_SIMD

void fill_ntt32(kernel_set<std::uint32_t>& kernels) { fill(kernels); }
void fill_ntt64(kernel_set<std::uint64_t>& kernels) { fill(kernels); }

}  // namespace HWY_NAMESPACE
}  // namespace halocline::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halocline::backend::cpu {

HWY_EXPORT(fill_ntt32);
HWY_EXPORT(fill_ntt64);

void add_ntt_kernels(kernel_set<std::uint32_t>& kernels) { HWY_DYNAMIC_DISPATCH(fill_ntt32)(kernels); }
void add_ntt_kernels(kernel_set<std::uint64_t>& kernels) { HWY_DYNAMIC_DISPATCH(fill_ntt64)(kernels); }

}  // namespace halocline::backend::cpu
#endif  // HWY_ONCE
