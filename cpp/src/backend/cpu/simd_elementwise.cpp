// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/simd_config.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/simd_elementwise.cpp"
#include "hwy/foreach_target.h"
// Highway needs foreach_target.h before everything else.
#include "backend/cpu/scalar_elementwise.hpp"
#include "backend/cpu/simd_exchange_inl.hpp"
#include "backend/cpu/simd_kernels.hpp"
#include "backend/cpu/simd_wide_inl.hpp"
#include "halocline/backend/descriptors.hpp"

HWY_BEFORE_NAMESPACE();
namespace halocline::backend::cpu {
namespace HWY_NAMESPACE {

#if HALOCLINE_SIMD

template <typename WordT>
constexpr std::size_t lanes = hn::MaxLanes(tag<WordT>());

/// Whether a range is shorter than a vector (it is a power of two then) and takes the specification.
template <typename WordT>
bool is_small(std::size_t count) {
  return count % lanes<WordT> != 0;
}

/// a + b mod q of residues.
template <typename WordT>
HWY_INLINE vec<WordT> add_residues(vec<WordT> a, vec<WordT> b, vec<WordT> q) {
  return subtract_once(hn::Add(a, b), q);
}

template <typename WordT>
void add(WordT* dst, const WordT* a, const WordT* b, std::size_t count, const arith::modulus<WordT>& m) {
  if (is_small<WordT>(count)) return scalar::add(dst, a, b, count, m);
  const vec<WordT> q = broadcast(m.value);
  for (std::size_t i = 0; i < count; i += lanes<WordT>) {
    store<WordT>(add_residues<WordT>(load(a + i), load(b + i), q), dst + i);
  }
}

template <typename WordT>
void sub(WordT* dst, const WordT* a, const WordT* b, std::size_t count, const arith::modulus<WordT>& m) {
  if (is_small<WordT>(count)) return scalar::sub(dst, a, b, count, m);
  const vec<WordT> q = broadcast(m.value);
  for (std::size_t i = 0; i < count; i += lanes<WordT>) {
    store<WordT>(add_residues<WordT>(load(a + i), hn::Sub(q, load(b + i)), q), dst + i);
  }
}

template <typename WordT>
void negate(WordT* dst, const WordT* src, std::size_t count, const arith::modulus<WordT>& m) {
  if (is_small<WordT>(count)) return scalar::negate(dst, src, count, m);
  const vec<WordT> q = broadcast(m.value);
  for (std::size_t i = 0; i < count; i += lanes<WordT>) {
    store<WordT>(subtract_once(hn::Sub(q, load(src + i)), q), dst + i);
  }
}

template <typename WordT>
void multiply(WordT* dst, const WordT* a, const WordT* b, std::size_t count, const arith::modulus<WordT>& m) {
  if (is_small<WordT>(count)) return scalar::multiply(dst, a, b, count, m);
  const barrett_prime<WordT> p(m);
  for (std::size_t i = 0; i < count; i += lanes<WordT>) {
    wide_sum<WordT> z;
    z.add_product(load(a + i), load(b + i));
    store<WordT>(p.reduce(z), dst + i);
  }
}

template <typename WordT>
void multiply_add(WordT* dst, const WordT* a, const WordT* b, std::size_t count,
                  const arith::modulus<WordT>& m) {
  if (is_small<WordT>(count)) return scalar::multiply_add(dst, a, b, count, m);
  const barrett_prime<WordT> p(m);
  for (std::size_t i = 0; i < count; i += lanes<WordT>) {
    wide_sum<WordT> z;
    z.add_product(load(a + i), load(b + i));
    store<WordT>(add_residues<WordT>(load(dst + i), p.reduce(z), p.q), dst + i);
  }
}

template <typename WordT>
void scalar_multiply(WordT* dst, const WordT* src, WordT factor, std::size_t count,
                     const arith::modulus<WordT>& m) {
  if (is_small<WordT>(count)) return scalar::scalar_multiply(dst, src, factor, count, m);
  const lazy_prime<WordT> f(m);
  const vec<WordT> w = broadcast(factor);
  const vec<WordT> w_quotient = broadcast(arith::shoup_quotient(factor, m));
  for (std::size_t i = 0; i < count; i += lanes<WordT>) {
    store<WordT>(f.finish_product(f.mul_paired(load(src + i), w, w_quotient)), dst + i);
  }
}

template <typename WordT>
void scalar_add(WordT* dst, const WordT* src, WordT summand, std::size_t count,
                const arith::modulus<WordT>& m) {
  if (is_small<WordT>(count)) return scalar::scalar_add(dst, src, summand, count, m);
  const vec<WordT> q = broadcast(m.value);
  const vec<WordT> s = broadcast(summand);
  for (std::size_t i = 0; i < count; i += lanes<WordT>) {
    store<WordT>(add_residues<WordT>(load(src + i), s, q), dst + i);
  }
}

template <typename WordT>
void linear_combine(WordT* dst, const WordT* a, const WordT* b, WordT factor_a, WordT factor_b,
                    std::size_t count, const arith::modulus<WordT>& m) {
  if (is_small<WordT>(count)) return scalar::linear_combine(dst, a, b, factor_a, factor_b, count, m);
  const lazy_prime<WordT> f(m);
  const vec<WordT> wa = broadcast(factor_a), wb = broadcast(factor_b);
  const vec<WordT> wa_quotient = broadcast(arith::shoup_quotient(factor_a, m));
  const vec<WordT> wb_quotient = broadcast(arith::shoup_quotient(factor_b, m));
  for (std::size_t i = 0; i < count; i += lanes<WordT>) {
    const vec<WordT> left = f.mul_paired(load(a + i), wa, wa_quotient);
    const vec<WordT> right = f.mul_paired(load(b + i), wb, wb_quotient);
    store<WordT>(f.finish_product(f.reduce(hn::Add(left, right))), dst + i);
  }
}

/// Plain residue of a sum of up to `max_products` products: Montgomery reduction, the factor 2^2w, and again.
template <typename WordT>
HWY_INLINE vec<WordT> reduce_sum(const wide_sum<WordT>& z, const montgomery_prime<WordT>& p, vec<WordT> r2) {
  wide_sum<WordT> scaled;
  scaled.add_scaled(p.reduce_lazy(z), r2);
  return p.reduce(scaled);
}

/// Words `i` and following of a limb of which each word stands for 2^repeat.
template <typename WordT>
HWY_INLINE vec<WordT> load_repeated(const WordT* from, std::size_t i, unsigned repeat) {
  static_assert(lanes<WordT> <= std::size_t{1} << least_log_repeat);
  return repeat == 0 ? load(from + i) : broadcast(from[i >> repeat]);
}

template <typename WordT>
void dot(WordT* dst, const WordT* const* a, const WordT* const* b, const std::uint8_t* repeats,
         std::size_t terms, bool accumulate, std::size_t offset, std::size_t count,
         const arith::modulus<WordT>& m) {
  if (is_small<WordT>(count)) {
    return scalar::dot(dst, a, b, repeats, terms, accumulate, offset, count, m);
  }
  const montgomery_prime<WordT> p(m);
  const vec<WordT> r2 = broadcast(m.r2);
  for (std::size_t i = offset; i < offset + count; i += lanes<WordT>) {
    vec<WordT> sum = accumulate ? load<WordT>(dst + i) : hn::Zero(tag<WordT>());
    for (std::size_t first = 0; first < terms; first += max_products) {
      wide_sum<WordT> z;
      const std::size_t end = HWY_MIN(terms, first + max_products);
      for (std::size_t t = first; t < end; ++t) {
        z.add_product(load(a[t] + i), load_repeated(b[t], i, repeats[t]));
      }
      sum = add_residues<WordT>(sum, reduce_sum(z, p, r2), p.q);
    }
    store<WordT>(sum, dst + i);
  }
}

template <typename WordT>
void tensor(WordT* const* d, const WordT* const* a, const WordT* const* b, std::size_t offset,
            std::size_t count, const arith::modulus<WordT>& m) {
  if (is_small<WordT>(count)) return scalar::tensor(d, a, b, offset, count, m);
  const barrett_prime<WordT> p(m);
  for (std::size_t i = offset; i < offset + count; i += lanes<WordT>) {
    const vec<WordT> a0 = load(a[0] + i), a1 = load(a[1] + i);
    const vec<WordT> b0 = load(b[0] + i), b1 = load(b[1] + i);
    wide_sum<WordT> z0, z1, z2;
    z0.add_product(a0, b0);
    z1.add_product(a0, b1);
    z1.add_product(a1, b0);
    z2.add_product(a1, b1);
    store<WordT>(p.reduce(z0), d[0] + i);
    store<WordT>(p.reduce(z1), d[1] + i);
    store<WordT>(p.reduce(z2), d[2] + i);
  }
}

template <typename WordT>
void automorphism(WordT* dst, const WordT* src, const std::uint32_t* permutation, std::size_t count) {
  if (is_small<WordT>(count)) return scalar::automorphism(dst, src, permutation, count);
  for (std::size_t i = 0; i < count; i += lanes<WordT>) {
    store<WordT>(load_permuted(src, permutation + i, count), dst + i);
  }
}

template <typename WordT>
void fill(kernel_set<WordT>& kernels) {
  kernels.add = add<WordT>;
  kernels.sub = sub<WordT>;
  kernels.negate = negate<WordT>;
  kernels.multiply = multiply<WordT>;
  kernels.multiply_add = multiply_add<WordT>;
  kernels.scalar_multiply = scalar_multiply<WordT>;
  kernels.scalar_add = scalar_add<WordT>;
  kernels.linear_combine = linear_combine<WordT>;
  kernels.dot = dot<WordT>;
  kernels.tensor = tensor<WordT>;
  kernels.automorphism = automorphism<WordT>;
}

#else

template <typename WordT>
void fill(kernel_set<WordT>&) {}

#endif  // HALOCLINE_SIMD

void fill_elementwise32(kernel_set<std::uint32_t>& kernels) { fill(kernels); }
void fill_elementwise64(kernel_set<std::uint64_t>& kernels) { fill(kernels); }

}  // namespace HWY_NAMESPACE
}  // namespace halocline::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halocline::backend::cpu {

HWY_EXPORT(fill_elementwise32);
HWY_EXPORT(fill_elementwise64);

void add_elementwise_kernels(kernel_set<std::uint32_t>& kernels) {
  HWY_DYNAMIC_DISPATCH(fill_elementwise32)(kernels);
}
void add_elementwise_kernels(kernel_set<std::uint64_t>& kernels) {
  HWY_DYNAMIC_DISPATCH(fill_elementwise64)(kernels);
}

}  // namespace halocline::backend::cpu
#endif  // HWY_ONCE
