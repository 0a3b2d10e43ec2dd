// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/elementwise/elementwise.cuh"

/// Tensor product, copies to repeated views, permutation and shift: parameter blocks and bodies of the
/// kernels.
namespace halocline::backend::cuda {

/// Jobs of one launch.
inline constexpr unsigned tensor_jobs = 32;
inline constexpr unsigned automorphism_jobs = 64;
/// Limbs that one thread permutes, so that it reads its entries of the table once.
inline constexpr unsigned automorphism_limbs = 8;

template <typename WordT>
struct tensor_params {
  using word = WordT;
  struct job {
    WordT* d[3];
    const WordT* in[4];  ///< a0, a1, b0, b1
    std::uint32_t first_prime;
  };
  batch<job, tensor_jobs> jobs;
  const modulus<WordT>* moduli = nullptr;
  std::uint32_t words = 0;
  map_hints hints;
};

/// One pack of one limb per thread; `wait` as in `map_body`.
template <typename WordT, typename WaitT>
HALOCLINE_HOST_DEVICE inline void tensor_body(const tensor_params<WordT>& p, const coordinates& at,
                                              const WaitT& wait) {
  constexpr unsigned size = pack<WordT>::size;
  const std::uint32_t index = (at.block_x * at.threads + at.thread) * size;
  const std::uint32_t number = p.jobs.find(at.block_y);
  const auto& job = p.jobs.items[number];
  const std::uint32_t local = at.block_y - p.jobs.begin[number];
  const modulus<WordT> q = p.moduli[job.first_prime + local];
  const std::size_t offset = static_cast<std::size_t>(local) * p.words + index;
  const cache_policy policies[] = {make_policy(p.hints.load), make_policy(p.hints.second)};
  const cache_policy store_policy = make_policy(p.hints.store);
  wait();
  if (index >= p.words) return;
  pack<WordT> in[4], d[3];
  HALOCLINE_UNROLL
  for (unsigned s = 0; s < 4; ++s) in[s] = load<WordT>(job.in[s] + offset, policies[s / 2]);
  for (unsigned i = 0; i < size; ++i) {
    const WordT a0 = in[0].word[i], a1 = in[1].word[i], b0 = in[2].word[i], b1 = in[3].word[i];
    d[0].word[i] = arith::mul_mod(a0, b0, q);
    d[1].word[i] = mul_mod_pair(a0, b1, a1, b0, q);
    d[2].word[i] = arith::mul_mod(a1, b1, q);
  }
  for (unsigned s = 0; s < 3; ++s) store<WordT>(job.d[s] + offset, d[s], store_policy);
}

template <typename WordT>
struct keep_params {
  using word = WordT;
  struct job {
    WordT* dst;
    const WordT* src;
    std::uint32_t log_repeat;
  };
  batch<job, tensor_jobs> jobs;
  std::uint32_t words = 0;
};

/// One word of a repeated destination per thread.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void keep_body(const keep_params<WordT>& p, const coordinates& at) {
  const std::uint32_t number = p.jobs.find(at.block_y);
  const auto& job = p.jobs.items[number];
  const std::uint32_t index = at.block_x * at.threads + at.thread;
  const std::uint32_t kept = p.words >> job.log_repeat;
  if (index >= kept) return;
  const std::size_t local = at.block_y - p.jobs.begin[number];
  job.dst[local * kept + index] = job.src[local * p.words + (index << job.log_repeat)];
}

template <typename WordT>
struct automorphism_params {
  using word = WordT;
  struct job {
    WordT* dst;
    const WordT* src;
    const std::uint32_t* permutation;
    std::uint32_t limbs;
  };
  batch<job, automorphism_jobs> jobs;  ///< rows are groups of `automorphism_limbs` limbs
  std::uint32_t words = 0;
  map_hints hints;
};

/// One word of `automorphism_limbs` limbs per thread. A warp reads 32 consecutive entries of the table, which
/// name words of one aligned block of 32: as few sectors, and as few bank conflicts, as a copy.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void automorphism_body(const automorphism_params<WordT>& p,
                                                    const coordinates& at) {
  const std::uint32_t index = at.block_x * at.threads + at.thread;
  if (index >= p.words) return;
  const std::uint32_t number = p.jobs.find(at.block_y);
  const auto& job = p.jobs.items[number];
  const std::uint32_t first = (at.block_y - p.jobs.begin[number]) * automorphism_limbs;
  const std::uint32_t source = job.permutation[index];
  WordT value[automorphism_limbs];
  for (unsigned i = 0; i < automorphism_limbs; ++i) {
    if (first + i < job.limbs) value[i] = job.src[static_cast<std::size_t>(first + i) * p.words + source];
  }
  for (unsigned i = 0; i < automorphism_limbs; ++i) {
    if (first + i < job.limbs) job.dst[static_cast<std::size_t>(first + i) * p.words + index] = value[i];
  }
}

template <typename WordT>
struct shift_params {
  using word = WordT;
  struct job {
    WordT* dst;
    const WordT* src;
    std::uint32_t exponent;
    std::uint32_t limbs;
    std::uint32_t first_prime;
  };
  batch<job, automorphism_jobs> jobs;  ///< rows as those of `automorphism_params`
  const modulus<WordT>* moduli = nullptr;
  std::uint32_t words = 0;
};

/// One word of `automorphism_limbs` limbs per thread. A warp reads 32 consecutive words, or two runs of them.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void shift_body(const shift_params<WordT>& p, const coordinates& at) {
  const std::uint32_t index = at.block_x * at.threads + at.thread;
  if (index >= p.words) return;
  const std::uint32_t number = p.jobs.find(at.block_y);
  const auto& job = p.jobs.items[number];
  const std::uint32_t first = (at.block_y - p.jobs.begin[number]) * automorphism_limbs;
  const std::uint32_t from = (index - job.exponent) & (2 * p.words - 1), source = from & (p.words - 1);
  WordT value[automorphism_limbs];
  for (unsigned i = 0; i < automorphism_limbs; ++i) {
    if (first + i < job.limbs) value[i] = job.src[static_cast<std::size_t>(first + i) * p.words + source];
  }
  for (unsigned i = 0; i < automorphism_limbs; ++i) {
    if (first + i >= job.limbs) break;
    const WordT moved =
        from < p.words ? value[i] : arith::negate_mod(value[i], p.moduli[job.first_prime + first + i]);
    job.dst[static_cast<std::size_t>(first + i) * p.words + index] = moved;
  }
}

}  // namespace halocline::backend::cuda
