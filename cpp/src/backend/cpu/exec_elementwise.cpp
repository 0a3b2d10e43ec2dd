// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "backend/cpu/executor.hpp"
#include "backend/cpu/scalar_elementwise.hpp"

namespace halocline::backend::cpu {
namespace {

template <typename WordT, auto Kernel>
void binary(const executor<WordT>& on, std::span<const binary_job> jobs) {
  on.for_each_chunk(jobs, &binary_job::dst, 3,
                    [&](const binary_job& job, std::uint32_t limb, std::uint32_t prime, word_range range) {
                      (on.kernels.*Kernel)(on.resolve.limb(job.dst, limb) + range.begin,
                                           on.resolve.limb(job.a, limb) + range.begin,
                                           on.resolve.limb(job.b, limb) + range.begin, range.count,
                                           on.resolve.modulus(prime));
                    });
}

template <typename WordT>
void negate(const executor<WordT>& on, std::span<const unary_job> jobs) {
  on.for_each_chunk(jobs, &unary_job::dst, 2,
                    [&](const unary_job& job, std::uint32_t limb, std::uint32_t prime, word_range range) {
                      on.kernels.negate(on.resolve.limb(job.dst, limb) + range.begin,
                                        on.resolve.limb(job.src, limb) + range.begin, range.count,
                                        on.resolve.modulus(prime));
                    });
}

/// Of the words of `range`, those that a repeated destination keeps.
template <typename WordT>
void keep_repeated(const executor<WordT>& on, const unary_job& job, std::uint32_t limb, word_range range) {
  const unsigned r = job.dst.log_repeat;
  WordT* const dst = on.resolve.limb(job.dst, limb);
  const WordT* const src = on.resolve.limb(job.src, limb);
  const std::size_t end = (range.begin + range.count - 1) >> r;
  for (std::size_t i = (range.begin + (std::size_t{1} << r) - 1) >> r; i <= end; ++i) dst[i] = src[i << r];
}

template <typename WordT>
void copy(const executor<WordT>& on, std::span<const unary_job> jobs) {
  on.for_each_chunk(jobs, &unary_job::dst, 2,
                    [&](const unary_job& job, std::uint32_t limb, std::uint32_t, word_range range) {
                      if (job.dst.log_repeat != 0) return keep_repeated(on, job, limb, range);
                      std::memmove(on.resolve.limb(job.dst, limb) + range.begin,
                                   on.resolve.limb(job.src, limb) + range.begin, range.count * sizeof(WordT));
                    });
}

template <typename WordT>
void zero(const executor<WordT>& on, std::span<const limb_view> views) {
  for (const limb_view& view : views) {
    std::memset(on.resolve.limb(view, 0), 0, view.primes.count * on.resolve.n() * sizeof(WordT));
  }
}

/// The kernel runs once per half of each limb with that half's constant.
template <typename WordT, auto Kernel>
void scalar_by_halves(const executor<WordT>& on, std::span<const scalar_job> jobs) {
  on.for_each_limb(jobs, &scalar_job::dst, 2,
                   [&](const scalar_job& job, std::uint32_t limb, std::uint32_t prime) {
                     const std::size_t half = on.resolve.n() / 2;
                     WordT* const dst = on.resolve.limb(job.dst, limb);
                     const WordT* const src = on.resolve.limb(job.src, limb);
                     const scalar_pair constant = job.scalars[limb];
                     const auto& q = on.resolve.modulus(prime);
                     (on.kernels.*Kernel)(dst, src, static_cast<WordT>(constant.low), half, q);
                     (on.kernels.*Kernel)(dst + half, src + half, static_cast<WordT>(constant.high), half, q);
                   });
}

template <typename WordT>
void linear_combine(const executor<WordT>& on, std::span<const linear_job> jobs) {
  on.for_each_chunk(jobs, &linear_job::dst, 3,
                    [&](const linear_job& job, std::uint32_t limb, std::uint32_t prime, word_range range) {
                      on.kernels.linear_combine(
                          on.resolve.limb(job.dst, limb) + range.begin,
                          on.resolve.limb(job.a, limb) + range.begin,
                          on.resolve.limb(job.b, limb) + range.begin, static_cast<WordT>(job.factor_a[limb]),
                          static_cast<WordT>(job.factor_b[limb]), range.count, on.resolve.modulus(prime));
                    });
}

template <typename WordT>
void dot(const executor<WordT>& on, std::span<const dot_job> jobs) {
  std::vector<const WordT*> factors;  // per item: a[0..terms), b[0..terms)
  std::vector<std::size_t> first;     // per job: where its pointers begin
  std::vector<std::uint8_t> repeats;  // per job and term
  std::vector<std::size_t> first_repeat;
  for (const dot_job& job : jobs) {
    first.push_back(factors.size());
    first_repeat.push_back(repeats.size());
    for (const limb_view& view : job.b) repeats.push_back(static_cast<std::uint8_t>(view.log_repeat));
    for (std::uint32_t limb = 0; limb < job.dst.primes.count; ++limb) {
      for (const limb_view& view : job.a) factors.push_back(on.resolve.limb(view, limb));
      for (const limb_view& view : job.b) factors.push_back(on.resolve.limb(view, limb));
    }
  }
  const std::size_t weight = jobs.empty() ? 0 : 2 * jobs.front().a.size() + 1;
  on.for_each_chunk(jobs, &dot_job::dst, weight,
                    [&](const dot_job& job, std::uint32_t limb, std::uint32_t prime, word_range range) {
                      const std::size_t terms = job.a.size();
                      const auto number = static_cast<std::size_t>(&job - jobs.data());
                      const WordT* const* const a = factors.data() + first[number] + 2 * terms * limb;
                      on.kernels.dot(on.resolve.limb(job.dst, limb), a, a + terms,
                                     repeats.data() + first_repeat[number], terms, job.accumulate,
                                     range.begin, range.count, on.resolve.modulus(prime));
                    });
}

template <typename WordT>
void tensor(const executor<WordT>& on, std::span<const tensor_job> jobs) {
  on.for_each_chunk(jobs, &tensor_job::d0, 7,
                    [&](const tensor_job& job, std::uint32_t limb, std::uint32_t prime, word_range range) {
                      WordT* const d[] = {on.resolve.limb(job.d0, limb), on.resolve.limb(job.d1, limb),
                                          on.resolve.limb(job.d2, limb)};
                      const WordT* const a[] = {on.resolve.limb(job.a0, limb), on.resolve.limb(job.a1, limb)};
                      const WordT* const b[] = {on.resolve.limb(job.b0, limb), on.resolve.limb(job.b1, limb)};
                      on.kernels.tensor(d, a, b, range.begin, range.count, on.resolve.modulus(prime));
                    });
}

template <typename WordT>
void automorphism(const executor<WordT>& on, std::span<const automorphism_job> jobs) {
  on.for_each_limb(
      jobs, &automorphism_job::dst, 3, [&](const automorphism_job& job, std::uint32_t limb, std::uint32_t) {
        on.kernels.automorphism(on.resolve.limb(job.dst, limb), on.resolve.limb(job.src, limb),
                                on.resolve.template raw<std::uint32_t>(*job.permutation), on.resolve.n());
      });
}

/// What scalar::negacyclic_shift says, in runs of words that keep their order and have one sign.
template <typename WordT>
void shift_runs(const executor<WordT>& on, WordT* dst, const WordT* src, std::size_t exponent,
                word_range range, const arith::modulus<WordT>& q) {
  const std::size_t n = on.resolve.n(), end = range.begin + range.count;
  for (std::size_t i = range.begin, count = 0; i < end; i += count) {
    const std::size_t from = (i + 2 * n - exponent) % (2 * n), first = from % n;
    count = std::min(end - i, n - first);
    if (from < n) {
      std::memcpy(dst + i, src + first, count * sizeof(WordT));
      continue;
    }
    const std::size_t whole = count / range_alignment * range_alignment;
    on.kernels.negate(dst + i, src + first, whole, q);
    scalar::negate(dst + i + whole, src + first + whole, count - whole, q);
  }
}

template <typename WordT>
void negacyclic_shift(const executor<WordT>& on, std::span<const shift_job> jobs) {
  on.for_each_chunk(jobs, &shift_job::dst, 2,
                    [&](const shift_job& job, std::uint32_t limb, std::uint32_t prime, word_range range) {
                      WordT* const dst = on.resolve.limb(job.dst, limb);
                      const WordT* const src = on.resolve.limb(job.src, limb);
                      const auto& q = on.resolve.modulus(prime);
                      if (!on.client.scalar) return shift_runs(on, dst, src, job.exponent, range, q);
                      scalar::negacyclic_shift(dst, src, job.exponent, on.resolve.n(), range, q);
                    });
}

}  // namespace

template <typename WordT>
op_table<executor<WordT>> elementwise_operations() {
  using set = kernel_set<WordT>;
  return op_table<executor<WordT>>{
      row<binary<WordT, &set::add>>(ops::add),
      row<binary<WordT, &set::sub>>(ops::sub),
      row<negate<WordT>>(ops::negate),
      row<binary<WordT, &set::multiply>>(ops::multiply),
      row<binary<WordT, &set::multiply_add>>(ops::multiply_add),
      row<dot<WordT>>(ops::dot),
      row<tensor<WordT>>(ops::tensor),
      row<scalar_by_halves<WordT, &set::scalar_multiply>>(ops::scalar_multiply),
      row<scalar_by_halves<WordT, &set::scalar_add>>(ops::scalar_add),
      row<linear_combine<WordT>>(ops::linear_combine),
      row<automorphism<WordT>>(ops::automorphism),
      row<negacyclic_shift<WordT>>(ops::negacyclic_shift),
      row<copy<WordT>>(ops::copy),
      row<zero<WordT>>(ops::set_zero),
  };
}

template op_table<executor<std::uint32_t>> elementwise_operations();
template op_table<executor<std::uint64_t>> elementwise_operations();

}  // namespace halocline::backend::cpu
