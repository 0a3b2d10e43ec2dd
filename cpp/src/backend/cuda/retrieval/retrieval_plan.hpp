// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/cuda/retrieval/retrieval_packer.hpp"
#include "halocline/backend/retrieval_jobs.hpp"

/// From batches of jobs to parameter blocks. `emit(params, units)` launches one block of parameters; `units`
/// is what the largest job has, of what the comment of a function says.
namespace halocline::backend::cuda {

/// Runs `add(packer, job)` for all jobs.
template <typename ParamsT, typename JobT, typename EmitT, typename AddT>
void plan_retrieval(const retrieval_resolver& at, std::span<const JobT> jobs, const EmitT& emit,
                    const AddT& add) {
  retrieval_packer<ParamsT, EmitT> packer(at, emit);
  for (const JobT& job : jobs) add(packer, job);
  packer.flush();
}

/// Units: polynomials.
template <typename EmitT>
void plan_array_ntt(const retrieval_resolver& at, std::span<const array_job> jobs, const EmitT& emit) {
  plan_retrieval<transform_params>(at, jobs, emit, [&](auto& packer, const array_job& job) {
    packer.common().roots = at.roots();
    packer.add({words_of(at, job.dst), words_of(at, job.src), job.count}, job.count);
  });
}

/// Units of this and the following functions: limbs that blocks of threads run over, four words each thread.
template <typename EmitT>
void plan_array_sub(const retrieval_resolver& at, std::span<const array_sub_job> jobs, const EmitT& emit) {
  plan_retrieval<array_sub_params>(at, jobs, emit, [&](auto& packer, const array_sub_job& job) {
    packer.add({words_of(at, job.dst), words_of(at, job.a), words_of(at, job.b), job.count},
               std::uint64_t{job.count} * 2 * packer.common().limbs);
  });
}

/// `factor` modulo q with its quotient, and 2^bits times it.
[[nodiscard]] inline array_factor factor_of(std::uint64_t factor, std::uint64_t q, unsigned bits) {
  return {static_cast<std::uint32_t>(factor), static_cast<std::uint32_t>((factor << 32) / q),
          static_cast<std::uint32_t>((std::uint64_t{1} << bits) % q * factor % q)};
}

/// Factors of a job, one for each prime.
[[nodiscard]] inline std::vector<array_factor> factors_of(const retrieval_resolver& at,
                                                          std::span<const std::uint64_t> factors,
                                                          unsigned bits = 0) {
  std::vector<array_factor> made;
  for (std::size_t l = 0; l < factors.size(); ++l) {
    made.push_back(factor_of(factors[l], at.ring().primes[l], bits));
  }
  return made;
}

template <typename EmitT>
void plan_array_scale(const retrieval_resolver& at, std::span<const array_scale_job> jobs,
                      const EmitT& emit) {
  plan_retrieval<array_scale_params>(at, jobs, emit, [&](auto& packer, const array_scale_job& job) {
    packer.add({words_of(at, job.dst), words_of(at, job.src), job.count, 0},
               std::uint64_t{job.count} * 2 * packer.common().limbs, factors_of(at, job.factors));
  });
}

/// Primes of the ring, where kernels take them as parameters.
[[nodiscard]] inline std::span<const std::uint64_t> few_primes(const retrieval_resolver& at) {
  const std::span<const std::uint64_t> primes = at.ring().primes;
  HALOCLINE_EXPECTS(primes.size() <= retrieval_primes, invalid_argument, "a ring of ", primes.size(),
                    " primes; kernels of private retrieval take at most ", retrieval_primes);
  return primes;
}

template <typename EmitT>
void plan_split(const retrieval_resolver& at, std::span<const split_job> jobs, const EmitT& emit) {
  const std::span<const std::uint64_t> primes = few_primes(at);
  plan_retrieval<split_params>(at, jobs, emit, [&](auto& packer, const split_job& job) {
    std::copy(primes.begin(), primes.end(), packer.common().primes);
    packer.add(
        {words_of(at, job.dst), words_of(at, job.src), job.count, job.split.digits, job.split.base_bits},
        std::uint64_t{job.count} * packer.common().limbs);
  });
}

/// Units: ciphertexts.
template <typename EmitT>
void plan_product(const retrieval_resolver& at, std::span<const digit_product_job> jobs, const EmitT& emit) {
  plan_retrieval<product_params>(at, jobs, emit, [&](auto& packer, const digit_product_job& job) {
    const auto* const permutation =
        job.permutation != nullptr ? at.template raw<std::uint32_t>(*job.permutation) : nullptr;
    packer.add({words_of(at, job.dst),
                words_of(at, job.digits),
                words_of(at, job.rows),
                {words_of(at, job.plus0), words_of(at, job.plus1)},
                permutation,
                job.terms,
                job.count},
               job.count);
  });
}

template <typename EmitT>
void plan_children(const retrieval_resolver& at, std::span<const children_job> jobs, const EmitT& emit) {
  plan_retrieval<children_params>(at, jobs, emit, [&](auto& packer, const children_job& job) {
    packer.add({words_of(at, job.dst), words_of(at, job.src), words_of(at, job.turned),
                words_of(at, job.monomial).data, job.children},
               (std::uint64_t{job.children} + 1) / 2 * 2 * packer.common().limbs);
  });
}

/// Units: polynomials.
template <typename EmitT>
void plan_turn(const retrieval_resolver& at, std::span<const turn_job> jobs, const EmitT& emit) {
  plan_retrieval<turn_params>(at, jobs, emit, [&](auto& packer, const turn_job& job) {
    auto* const dst = const_cast<std::uint32_t*>(at.template raw<std::uint32_t>(*job.dst.data));
    packer.add({dst, words_of(at, job.src), job.dst.rows, job.first, job.step, job.count}, job.count);
  });
}

/// Constants of `round_answer` for prime l.
[[nodiscard]] inline round_prime round_prime_of(std::span<const std::uint64_t> primes, std::size_t l) {
  const auto q = arith::make_modulus(static_cast<std::uint32_t>(primes[l]));
  std::uint32_t cofactor = 1;
  for (std::size_t other = 0; other < primes.size(); ++other) {
    if (other != l)
      cofactor = arith::mul_mod(cofactor, static_cast<std::uint32_t>(primes[other] % q.value), q);
  }
  round_prime made;
  made.q = q.value;
  made.whole = ~std::uint64_t{0} / q.value;  // q is odd, so it does not divide 2^64
  made.rest = static_cast<std::uint32_t>(~std::uint64_t{0} % q.value + 1);
  made.rest_quotient = arith::shoup_quotient(made.rest, q);
  made.inverse = arith::inverse_mod(cofactor, q);
  made.inverse_quotient = arith::shoup_quotient(made.inverse, q);
  return made;
}

template <typename EmitT>
void plan_round(const retrieval_resolver& at, std::span<const round_answer_job> jobs, const EmitT& emit) {
  const std::span<const std::uint64_t> primes = few_primes(at);
  plan_retrieval<round_params>(at, jobs, emit, [&](auto& packer, const round_answer_job& job) {
    if (packer.common().primes[0].q == 0) {
      for (std::size_t l = 0; l < primes.size(); ++l) packer.common().primes[l] = round_prime_of(primes, l);
    }
    auto* const dst = const_cast<std::uint64_t*>(at.template raw<std::uint64_t>(*job.dst));
    packer.add({dst + std::size_t{job.first} * 2 * at.n(),
                words_of(at, job.src),
                job.count,
                {job.bits[0], job.bits[1]}},
               std::uint64_t{job.count} * 2);
  });
}

template <typename EmitT>
void plan_unpack(const retrieval_resolver& at, std::span<const unpack_job> jobs, const EmitT& emit) {
  plan_retrieval<unpack_params>(at, jobs, emit, [&](auto& packer, const unpack_job& job) {
    packer.add({words_of(at, job.dst), at.template raw<std::uint8_t>(*job.src) + job.offset, job.stride,
                job.bytes, job.count, job.bits, 0},
               job.count, factors_of(at, job.factors, job.bits));
  });
}

}  // namespace halocline::backend::cuda
