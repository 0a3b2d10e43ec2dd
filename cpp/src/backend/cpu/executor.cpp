// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/executor.hpp"

#include <algorithm>

#include "backend/conversion_targets.hpp"

namespace halocline::backend::cpu {
namespace {

[[nodiscard]] arith::uniform_limb limb_of(const uniform_source& source, std::uint32_t prime) {
  return {arith::make_chacha_key(source.seed.data()), source.stream, prime, source.rule};
}

}  // namespace

template <typename WordT>
template <typename JobT, typename ViewT>
auto executor<WordT>::flatten(std::span<const JobT> jobs, ViewT JobT::*view) -> std::vector<item<JobT>> {
  std::vector<item<JobT>> items;
  for (const JobT& job : jobs) {
    const window primes = (job.*view).primes;
    for (std::uint32_t i = 0; i < primes.count; ++i) items.push_back({&job, i, primes.first + i});
  }
  return items;
}

/// Calls `body(job, limb, prime)` for every limb of every job, limbs of the same prime one after the other so
/// that its tables stay in the second-level cache. `weight`: limbs touched per limb of the view.
template <typename WordT>
template <typename JobT, typename BodyT>
void executor<WordT>::for_each_limb(std::span<const JobT> jobs, limb_view JobT::*view, std::size_t weight,
                                    const BodyT& body) const {
  auto items = flatten(jobs, view);
  std::stable_sort(items.begin(), items.end(),
                   [](const auto& a, const auto& b) { return a.prime < b.prime; });
  parallel_for(pool_, items.size(), items.size() * weight * resolve_.n(),
               [&](std::size_t i) { body(*items[i].job, items[i].limb, items[i].prime); });
}

/// Calls `body(job, limb, prime, range)` for every chunk of every limb of every job.
template <typename WordT>
template <typename JobT, typename BodyT>
void executor<WordT>::for_each_chunk(std::span<const JobT> jobs, limb_view JobT::*view, std::size_t weight,
                                     const BodyT& body) const {
  const auto items = flatten(jobs, view);
  const std::size_t size = std::min(chunk_words, resolve_.n());
  const std::size_t chunks = resolve_.n() / size;
  parallel_for(pool_, items.size() * chunks, items.size() * weight * resolve_.n(), [&](std::size_t i) {
    const auto& each = items[i / chunks];
    body(*each.job, each.limb, each.prime, word_range{(i % chunks) * size, size});
  });
}

template <typename WordT>
void executor<WordT>::run_transform(transform kernel, std::span<const unary_job> jobs) const {
  constexpr std::size_t passes = 8;
  for_each_limb(jobs, &unary_job::dst, passes,
                [&](const unary_job& job, std::uint32_t limb, std::uint32_t prime) {
                  kernel(resolve_.limb(job.dst, limb), resolve_.limb(job.src, limb), resolve_.tables(prime));
                });
}

template <typename WordT>
void executor<WordT>::run_binary(binary kernel, std::span<const binary_job> jobs) const {
  for_each_chunk(jobs, &binary_job::dst, 3,
                 [&](const binary_job& job, std::uint32_t limb, std::uint32_t prime, word_range range) {
                   kernel(resolve_.limb(job.dst, limb) + range.begin,
                          resolve_.limb(job.a, limb) + range.begin, resolve_.limb(job.b, limb) + range.begin,
                          range.count, resolve_.modulus(prime));
                 });
}

template <typename WordT>
void executor<WordT>::run_negate(std::span<const unary_job> jobs) const {
  for_each_chunk(jobs, &unary_job::dst, 2,
                 [&](const unary_job& job, std::uint32_t limb, std::uint32_t prime, word_range range) {
                   kernels_.negate(resolve_.limb(job.dst, limb) + range.begin,
                                   resolve_.limb(job.src, limb) + range.begin, range.count,
                                   resolve_.modulus(prime));
                 });
}

/// Of the words of `range`, those that a repeated destination keeps.
template <typename WordT>
void executor<WordT>::keep_repeated(const unary_job& job, std::uint32_t limb, word_range range) const {
  const unsigned r = job.dst.log_repeat;
  WordT* const dst = resolve_.limb(job.dst, limb);
  const WordT* const src = resolve_.limb(job.src, limb);
  const std::size_t end = (range.begin + range.count - 1) >> r;
  for (std::size_t i = (range.begin + (std::size_t{1} << r) - 1) >> r; i <= end; ++i) dst[i] = src[i << r];
}

template <typename WordT>
void executor<WordT>::run_copy(std::span<const unary_job> jobs) const {
  for_each_chunk(jobs, &unary_job::dst, 2,
                 [&](const unary_job& job, std::uint32_t limb, std::uint32_t, word_range range) {
                   if (job.dst.log_repeat != 0) return keep_repeated(job, limb, range);
                   std::memmove(resolve_.limb(job.dst, limb) + range.begin,
                                resolve_.limb(job.src, limb) + range.begin, range.count * sizeof(WordT));
                 });
}

template <typename WordT>
void executor<WordT>::run_zero(std::span<const limb_view> views) const {
  for (const limb_view& view : views) {
    std::memset(resolve_.limb(view, 0), 0, view.primes.count * resolve_.n() * sizeof(WordT));
  }
}

template <typename WordT>
void executor<WordT>::run_scalar(scalar half_kernel, std::span<const scalar_job> jobs) const {
  for_each_limb(jobs, &scalar_job::dst, 2,
                [&](const scalar_job& job, std::uint32_t limb, std::uint32_t prime) {
                  const std::size_t half = resolve_.n() / 2;
                  WordT* const dst = resolve_.limb(job.dst, limb);
                  const WordT* const src = resolve_.limb(job.src, limb);
                  const scalar_pair constant = job.scalars[limb];
                  const auto& q = resolve_.modulus(prime);
                  half_kernel(dst, src, static_cast<WordT>(constant.low), half, q);
                  half_kernel(dst + half, src + half, static_cast<WordT>(constant.high), half, q);
                });
}

template <typename WordT>
void executor<WordT>::run_linear_combine(std::span<const linear_job> jobs) const {
  for_each_chunk(jobs, &linear_job::dst, 3,
                 [&](const linear_job& job, std::uint32_t limb, std::uint32_t prime, word_range range) {
                   kernels_.linear_combine(
                       resolve_.limb(job.dst, limb) + range.begin, resolve_.limb(job.a, limb) + range.begin,
                       resolve_.limb(job.b, limb) + range.begin, static_cast<WordT>(job.factor_a[limb]),
                       static_cast<WordT>(job.factor_b[limb]), range.count, resolve_.modulus(prime));
                 });
}

template <typename WordT>
void executor<WordT>::run_ntt_linear_combine(std::span<const linear_job> jobs) const {
  // All conversions first: one limb after the other, just before its transform, each would scale the sources
  // again, which takes longer than reading converted limbs from memory (45 limbs of 2^16 words: 13.6 and 12
  // ms).
  std::vector<resolved_conversion> conversions;
  for (const linear_job& job : jobs) {
    if (job.conversion == nullptr) continue;
    conversions.push_back(resolve_conversion(*job.conversion, job.from, {&job.dst, 1},
                                             first_target(*job.conversion, job.dst.primes)));
  }
  run_conversions(conversions);
  constexpr std::size_t passes = 8;
  for_each_limb(jobs, &linear_job::dst, passes,
                [&](const linear_job& job, std::uint32_t limb, std::uint32_t prime) {
                  WordT* const b = resolve_.limb(job.conversion != nullptr ? job.dst : job.b, limb);
                  kernels_.ntt_linear_combine(resolve_.limb(job.dst, limb), resolve_.limb(job.a, limb), b,
                                              static_cast<WordT>(job.factor_a[limb]),
                                              static_cast<WordT>(job.factor_b[limb]), resolve_.tables(prime));
                });
}

template <typename WordT>
void executor<WordT>::run_dot(std::span<const dot_job> jobs) const {
  std::vector<const WordT*> factors;  // per item: a[0..terms), b[0..terms)
  std::vector<std::size_t> first;     // per job: where its pointers begin
  std::vector<std::uint8_t> repeats;  // per job and term
  std::vector<std::size_t> first_repeat;
  for (const dot_job& job : jobs) {
    first.push_back(factors.size());
    first_repeat.push_back(repeats.size());
    for (const limb_view& view : job.b) repeats.push_back(static_cast<std::uint8_t>(view.log_repeat));
    for (std::uint32_t limb = 0; limb < job.dst.primes.count; ++limb) {
      for (const limb_view& view : job.a) factors.push_back(resolve_.limb(view, limb));
      for (const limb_view& view : job.b) factors.push_back(resolve_.limb(view, limb));
    }
  }
  const std::size_t weight = jobs.empty() ? 0 : 2 * jobs.front().a.size() + 1;
  for_each_chunk(jobs, &dot_job::dst, weight,
                 [&](const dot_job& job, std::uint32_t limb, std::uint32_t prime, word_range range) {
                   const std::size_t terms = job.a.size();
                   const auto number = static_cast<std::size_t>(&job - jobs.data());
                   const WordT* const* const a = factors.data() + first[number] + 2 * terms * limb;
                   kernels_.dot(resolve_.limb(job.dst, limb), a, a + terms,
                                repeats.data() + first_repeat[number], terms, job.accumulate, range.begin,
                                range.count, resolve_.modulus(prime));
                 });
}

template <typename WordT>
void executor<WordT>::run_tensor(std::span<const tensor_job> jobs) const {
  for_each_chunk(jobs, &tensor_job::d0, 7,
                 [&](const tensor_job& job, std::uint32_t limb, std::uint32_t prime, word_range range) {
                   WordT* const d[] = {resolve_.limb(job.d0, limb), resolve_.limb(job.d1, limb),
                                       resolve_.limb(job.d2, limb)};
                   const WordT* const a[] = {resolve_.limb(job.a0, limb), resolve_.limb(job.a1, limb)};
                   const WordT* const b[] = {resolve_.limb(job.b0, limb), resolve_.limb(job.b1, limb)};
                   kernels_.tensor(d, a, b, range.begin, range.count, resolve_.modulus(prime));
                 });
}

template <typename WordT>
void executor<WordT>::run_automorphism(std::span<const automorphism_job> jobs) const {
  for_each_limb(jobs, &automorphism_job::dst, 3,
                [&](const automorphism_job& job, std::uint32_t limb, std::uint32_t) {
                  kernels_.automorphism(resolve_.limb(job.dst, limb), resolve_.limb(job.src, limb),
                                        resolve_.template raw<std::uint32_t>(*job.permutation), resolve_.n());
                });
}

template <typename WordT>
auto executor<WordT>::resolve_conversion(const conversion_table& table, std::span<const limb_view> src,
                                         std::span<const limb_view> dst, std::uint32_t first) const
    -> resolved_conversion {
  resolved_conversion made;
  const std::size_t k = table.sources.size();
  const WordT* const data = resolve_.template raw<WordT>(table.data);
  for (const limb_view& view : src) {
    for (std::uint32_t s = 0; s < view.primes.count; ++s) {
      made.src.push_back(resolve_.limb(view, s));
      made.moduli.push_back(&resolve_.modulus(view.primes.first + s));
    }
  }
  for (const limb_view& view : dst) {
    for (std::uint32_t t = 0; t < view.primes.count; ++t) {
      made.dst.push_back(resolve_.limb(view, t));
      made.moduli.push_back(&resolve_.modulus(view.primes.first + t));
    }
  }
  made.constants = {k,    made.dst.size(), made.moduli.data(), made.moduli.data() + k,
                    data, data + k,        data + 2 * k,       data + 3 * k + first * (k + 1)};
  return made;
}

template <typename WordT>
void executor<WordT>::run_conversions(std::span<const resolved_conversion> work) const {
  std::size_t words = 0;
  for (const auto& each : work) words += (each.dst.size() + 1) * each.src.size() * resolve_.n() / 4;
  constexpr std::size_t block = 2048;
  const std::size_t size = std::min(block, resolve_.n());
  const std::size_t blocks = resolve_.n() / size;
  parallel_for(pool_, work.size() * blocks, words, [&](std::size_t i) {
    const resolved_conversion& each = work[i / blocks];
    kernels_.base_convert(each.dst.data(), each.src.data(), {(i % blocks) * size, size}, each.constants);
  });
}

template <typename WordT>
void executor<WordT>::run_base_convert(std::span<const convert_job> jobs) const {
  std::vector<resolved_conversion> work;
  for (const convert_job& job : jobs) work.push_back(resolve_conversion(*job.table, job.src, job.dst, 0));
  run_conversions(work);
}

template <typename WordT>
key_addend<WordT> executor<WordT>::addend_of(const key_job& job, std::uint32_t limb,
                                             std::uint32_t prime) const {
  key_addend<WordT> plus;
  if (job.factors.empty()) return plus;
  if (job.plus0.data != nullptr) plus.first = resolve_.limb(job.plus0, limb);
  if (job.plus1.data != nullptr) plus.second = resolve_.limb(job.plus1, limb);
  const arith::modulus<WordT>& q = resolve_.modulus(prime);
  plus.factor = arith::mul_mod(static_cast<WordT>(job.factors[limb]), q.r, q);
  return plus;
}

template <typename WordT>
void executor<WordT>::run_key_multiply_accumulate(std::span<const key_job> jobs) const {
  std::vector<key_operand<WordT>> digits;  // per job and limb: its digits
  std::vector<std::size_t> first;
  for (const key_job& job : jobs) {
    first.push_back(digits.size());
    const window primes = job.dst0.primes;
    for (std::uint32_t limb = 0; limb < primes.count; ++limb) {
      for (const key_digit& digit : job.digits) {
        const std::uint32_t prime = primes.first + limb;
        digits.push_back({resolve_.limb(digit.digit, limb), resolve_.key_limb(*digit.key_b, prime),
                          digit.key_a != nullptr ? resolve_.key_limb(*digit.key_a, prime) : nullptr,
                          limb_of(digit.a_source, prime)});
      }
    }
  }
  const std::size_t weight = jobs.empty() ? 0 : 3 * jobs.front().digits.size() + 2;
  for_each_chunk(
      jobs, &key_job::dst0, weight,
      [&](const key_job& job, std::uint32_t limb, std::uint32_t prime, word_range range) {
        const std::size_t terms = job.digits.size();
        const auto* const operands =
            digits.data() + first[static_cast<std::size_t>(&job - jobs.data())] + terms * limb;
        const std::uint32_t* const permutation =
            job.permutation != nullptr ? resolve_.template raw<std::uint32_t>(*job.permutation) : nullptr;
        kernels_.key_multiply_accumulate(resolve_.limb(job.dst0, limb), resolve_.limb(job.dst1, limb),
                                         operands, terms, addend_of(job, limb, prime), job.accumulate,
                                         permutation, range, resolve_.modulus(prime));
      });
}

/// Coefficients between those that are there are 0: residues are made in pieces and spread.
template <typename WordT>
void executor<WordT>::encode_range(WordT* limb, const encode_job& job, word_range range,
                                   const arith::modulus<WordT>& q) const {
  const auto* const integers = resolve_.template raw<std::uint64_t>(*job.coefficients);
  WordT* const out = limb + range.begin;
  if (job.log_stride == 0) {
    return kernels_.encode_expand(out, integers + range.begin * job.words, job.words, range.count, q);
  }
  std::fill(out, out + range.count, WordT{0});
  constexpr std::size_t piece = 256;
  std::array<WordT, piece> made;
  const std::size_t between = (std::size_t{1} << job.log_stride) - 1;
  const std::size_t end = (range.begin + range.count + between) >> job.log_stride;
  for (std::size_t i = (range.begin + between) >> job.log_stride; i < end; i += piece) {
    const std::size_t count = std::min(piece, end - i);
    kernels_.encode_expand(made.data(), integers + i * job.words, job.words, count, q);
    for (std::size_t k = 0; k < count; ++k) limb[(i + k) << job.log_stride] = made[k];
  }
}

template <typename WordT>
void executor<WordT>::run_encode_expand(std::span<const encode_job> jobs) const {
  for_each_chunk(jobs, &encode_job::dst, 3,
                 [&](const encode_job& job, std::uint32_t limb, std::uint32_t prime, word_range range) {
                   encode_range(resolve_.limb(job.dst, limb), job, range, resolve_.modulus(prime));
                 });
}

template <typename WordT>
void executor<WordT>::run_sample_uniform(std::span<const uniform_job> jobs) const {
  for_each_chunk(jobs, &uniform_job::dst, 4,
                 [&](const uniform_job& job, std::uint32_t limb, std::uint32_t prime, word_range range) {
                   kernels_.sample_uniform(resolve_.limb(job.dst, limb), limb_of(job.source, prime), range,
                                           resolve_.modulus(prime));
                 });
}

template class executor<std::uint32_t>;
template class executor<std::uint64_t>;

}  // namespace halocline::backend::cpu
