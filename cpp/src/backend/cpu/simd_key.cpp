// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/simd_config.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/simd_key.cpp"
#include "hwy/foreach_target.h"
// Highway needs foreach_target.h before everything else.
#include "backend/cpu/scalar_rns.hpp"
#include "backend/cpu/simd_exchange_inl.hpp"
#include "backend/cpu/simd_kernels.hpp"
#include "backend/cpu/simd_retry_inl.hpp"
#include "backend/cpu/simd_spare_inl.hpp"
#include "backend/cpu/simd_wide_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace halocline::backend::cpu {
namespace HWY_NAMESPACE {

#if HALOCLINE_SIMD

template <typename WordT>
constexpr std::size_t lanes = hn::MaxLanes(tag<WordT>());

/// Words that are expanded together: whole batches and whole groups.
template <typename WordT>
constexpr std::size_t expansion_step = HWY_MAX(batch_words<WordT>, arith::words_per_group<WordT>);

/// Words for the expanded uniform halves of the seeded digits of a block: a third of a first-level data
/// cache, and a step for each of `max_products` digits.
template <typename WordT>
constexpr std::size_t expanded_words = HWY_MAX((std::size_t{1} << 14) / sizeof(WordT),
                                               max_products* expansion_step<WordT>);

/// Words [begin, begin + count) of a limb into `out`. Under the newer rule they are complete when `spares` is
/// finished.
template <typename WordT>
void expand_uniform(WordT* out, const arith::uniform_limb& source, std::size_t begin, std::size_t count,
                    spare_queue<WordT>& spares, const arith::modulus<WordT>& m) {
  if (source.rule == stream_rule::chacha8_spare) return spares.expand(out, source, begin, count);
  expand_retry(out, source, begin, count, m);
}

/// Pointers of up to `max_products` digits to the first word of a block.
template <typename WordT>
struct key_block {
  std::size_t terms = 0;
  const WordT* digit[max_products];
  const WordT* b[max_products];
  const WordT* a[max_products];
};

/// dst0[j] += sum_t digit_t b_t 2^-w + plus and likewise dst1 with a_t, for j < count (= instead of += unless
/// `accumulate`).
template <typename WordT>
void multiply_block(WordT* dst0, WordT* dst1, const key_block<WordT>& block, const key_addend<WordT>& plus,
                    bool accumulate, std::size_t count, const montgomery_prime<WordT>& p) {
  const vec<WordT> factor = broadcast(plus.factor);
  for (std::size_t j = 0; j < count; j += lanes<WordT>) {
    wide_sum<WordT> z0, z1;
    if (plus.first != nullptr) z0.add_product(load(plus.first + j), factor);
    if (plus.second != nullptr) z1.add_product(load(plus.second + j), factor);
    for (std::size_t t = 0; t < block.terms; ++t) {
      const vec<WordT> digit = load(block.digit[t] + j);
      z0.add_product(digit, load(block.b[t] + j));
      z1.add_product(digit, load(block.a[t] + j));
    }
    vec<WordT> sum0 = p.reduce(z0), sum1 = p.reduce(z1);
    if (accumulate) {
      sum0 = subtract_once(hn::Add(sum0, load<WordT>(dst0 + j)), p.q);
      sum1 = subtract_once(hn::Add(sum1, load<WordT>(dst1 + j)), p.q);
    }
    store<WordT>(sum0, dst0 + j);
    store<WordT>(sum1, dst1 + j);
  }
}

/// The addend of the words from `at` on.
template <typename WordT>
key_addend<WordT> from_word(const key_addend<WordT>& plus, std::size_t at) {
  return {plus.first != nullptr ? plus.first + at : nullptr,
          plus.second != nullptr ? plus.second + at : nullptr, plus.factor};
}

/// What all words of a limb share.
template <typename WordT>
struct key_limb {
  const key_operand<WordT>* digits;
  std::size_t terms;
  const key_addend<WordT>& plus;
  const arith::modulus<WordT>& m;
};

/// Sums of the words of `range`; dst0 and dst1 point to the first of them.
template <typename WordT>
void multiply_range(WordT* dst0, WordT* dst1, const key_limb<WordT>& limb, bool accumulate,
                    word_range range) {
  HWY_ALIGN WordT expanded[expanded_words<WordT>];
  spare_queue<WordT> spares(limb.m);
  const montgomery_prime<WordT> p(limb.m);
  // The addend takes the place of one product of the last batch.
  constexpr std::size_t batch = max_products - 1;
  for (std::size_t first = 0; first < limb.terms; first += batch) {
    key_block<WordT> block;
    block.terms = HWY_MIN(batch, limb.terms - first);
    const bool last = first + block.terms == limb.terms;
    std::size_t seeded = 0;
    for (std::size_t t = 0; t < block.terms; ++t) seeded += limb.digits[first + t].a == nullptr ? 1 : 0;
    const std::size_t fitting =
        seeded == 0 ? range.count
                    : expanded_words<WordT> / seeded / expansion_step<WordT> * expansion_step<WordT>;
    const std::size_t most = HWY_MIN(fitting, range.count);
    for (std::size_t done = 0; done < range.count; done += most) {
      const std::size_t at = range.begin + done;
      const std::size_t step = HWY_MIN(most, range.count - done);
      WordT* free_words = expanded;
      for (std::size_t t = 0; t < block.terms; ++t) {
        const key_operand<WordT>& operand = limb.digits[first + t];
        block.digit[t] = operand.digit + at;
        block.b[t] = operand.b + at;
        if (operand.a != nullptr) {
          block.a[t] = operand.a + at;
          continue;
        }
        expand_uniform(free_words, operand.source, at, step, spares, limb.m);
        block.a[t] = free_words;
        free_words += step;
      }
      spares.finish();
      const key_addend<WordT> here = last ? from_word(limb.plus, at) : key_addend<WordT>{};
      multiply_block(dst0 + done, dst1 + done, block, here, accumulate || first != 0, step, p);
    }
  }
}

/// dst[i] = (+=) sums[permutation[i] mod count] for i < count.
template <typename WordT>
void store_permuted(WordT* dst, const WordT* sums, const std::uint32_t* permutation, std::size_t count,
                    bool accumulate, const arith::modulus<WordT>& m) {
  const vec<WordT> q = broadcast(m.value);
  for (std::size_t i = 0; i < count; i += lanes<WordT>) {
    vec<WordT> value = load_permuted(sums, permutation + i, count);
    if (accumulate) value = subtract_once(hn::Add(value, load<WordT>(dst + i)), q);
    store<WordT>(value, dst + i);
  }
}

/// Words of both sums that wait for their permutation, in the second-level cache. Blocks of 1024 words would
/// fit the first one, but then every operand is read in pieces of a page, in no order, and the gain over a
/// pass of its own is lost (product and automorphism of 59 limbs of 2^16 words: 11.8 ms; blocks of 1024 12.3,
/// of 4096 10.0, of 8192 10.4).
constexpr std::size_t permuted_words = 4096;

template <typename WordT>
void multiply_permuted(WordT* dst0, WordT* dst1, const key_limb<WordT>& limb, bool accumulate,
                       const std::uint32_t* permutation, word_range range) {
  HWY_ALIGN WordT sums[2][permuted_words];
  const std::size_t count = HWY_MIN(range.count, permuted_words);
  for (std::size_t at = range.begin; at < range.begin + range.count; at += count) {
    // The block of sums that becomes this block of the result.
    const std::size_t source = permutation[at] & ~(count - 1);
    multiply_range(sums[0], sums[1], limb, false, {source, count});
    store_permuted(dst0 + at, sums[0], permutation + at, count, accumulate, limb.m);
    store_permuted(dst1 + at, sums[1], permutation + at, count, accumulate, limb.m);
  }
}

template <typename WordT>
void key_multiply_accumulate(WordT* dst0, WordT* dst1, const key_operand<WordT>* digits, std::size_t terms,
                             const key_addend<WordT>& plus, bool accumulate, const std::uint32_t* permutation,
                             word_range range, const arith::modulus<WordT>& m) {
  if (range.count % lanes<WordT> != 0 || terms == 0) {
    return scalar::key_multiply_accumulate(dst0, dst1, digits, terms, plus, accumulate, permutation, range,
                                           m);
  }
  const key_limb<WordT> limb{digits, terms, plus, m};
  if (permutation != nullptr) return multiply_permuted(dst0, dst1, limb, accumulate, permutation, range);
  multiply_range(dst0 + range.begin, dst1 + range.begin, limb, accumulate, range);
}

template <typename WordT>
void sample_uniform(WordT* dst, const arith::uniform_limb& source, word_range range,
                    const arith::modulus<WordT>& m) {
  spare_queue<WordT> spares(m);
  expand_uniform(dst + range.begin, source, range.begin, range.count, spares, m);
  spares.finish();
}

template <typename WordT>
void fill(kernel_set<WordT>& kernels) {
  kernels.target = hwy::TargetName(HWY_TARGET);
  kernels.key_multiply_accumulate = key_multiply_accumulate<WordT>;
  kernels.sample_uniform = sample_uniform<WordT>;
}

#else

template <typename WordT>
void fill(kernel_set<WordT>&) {}

#endif  // HALOCLINE_SIMD

void fill_key32(kernel_set<std::uint32_t>& kernels) { fill(kernels); }
void fill_key64(kernel_set<std::uint64_t>& kernels) { fill(kernels); }

}  // namespace HWY_NAMESPACE
}  // namespace halocline::backend::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halocline::backend::cpu {

HWY_EXPORT(fill_key32);
HWY_EXPORT(fill_key64);

void add_key_kernels(kernel_set<std::uint32_t>& kernels) { HWY_DYNAMIC_DISPATCH(fill_key32)(kernels); }
void add_key_kernels(kernel_set<std::uint64_t>& kernels) { HWY_DYNAMIC_DISPATCH(fill_key64)(kernels); }

}  // namespace halocline::backend::cpu
#endif  // HWY_ONCE
