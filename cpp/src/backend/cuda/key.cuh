// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/arith.cuh"
#include "backend/cuda/batch.hpp"
#include "backend/cuda/elementwise_access.cuh"
#include "halocline/ring/uniform_stream.hpp"

/// Products of digits with a key: parameter block and bodies of the kernels.
namespace halocline::backend::cuda {

/// Jobs, digits of all of them together, and limbs of jobs with factors, of one launch.
inline constexpr unsigned key_jobs = 16;
inline constexpr unsigned key_digits = 32;
inline constexpr unsigned key_factors = 256;

template <typename WordT>
struct key_params {
  using word = WordT;
  struct digit {
    const WordT* d;
    const WordT* b;
    const WordT* a;  ///< nullptr: expanded from the seed
    ring::chacha_key key;
    std::uint32_t stream;
  };
  struct job {
    WordT* dst[2];
    const WordT* plus[2];  ///< nullptr: zero
    std::uint32_t first_prime;
    std::uint32_t first_digit;
    std::uint32_t digits;
    bool accumulate;
  };
  batch<job, key_jobs> jobs;
  const modulus<WordT>* moduli = nullptr;
  std::uint32_t words = 0;
  std::uint32_t digits = 0;
  bool seeded = false;  ///< whether any digit of the launch is
  cache_hint keys = cache_hint::evict_first;
  cache_hint data = cache_hint::normal;
  digit digit_list[key_digits] = {};
  WordT factor[key_factors] = {};  ///< by limb of the launch
};

/// Sums of both outputs for one pack of coefficients.
template <typename WordT>
struct key_sums {
  double_word<WordT> half[2][pack<WordT>::size];
};

/// Adds digit times key to the sums. Sums of at most `products_per_reduction` digits need no normalisation.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void key_add(key_sums<WordT>& sums, const pack<WordT>& d, const pack<WordT>& b,
                                          const pack<WordT>& a) {
  for (unsigned i = 0; i < pack<WordT>::size; ++i) {
    sums.half[0][i] += static_cast<double_word<WordT>>(d.word[i]) * b.word[i];
    sums.half[1][i] += static_cast<double_word<WordT>>(d.word[i]) * a.word[i];
  }
}

template <typename WordT>
HALOCLINE_HOST_DEVICE inline void key_normalise(key_sums<WordT>& sums, const modulus<WordT>& q) {
  for (auto& half : sums.half) {
    for (auto& sum : half) sum = normalise<WordT>(sum, q);
  }
}

/// Reduces the sums, adds what the job adds, and writes both outputs. `offset` counts from limb 0 of the job.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void key_finish(const key_params<WordT>& p, std::uint32_t number,
                                             std::uint32_t limb, std::size_t offset,
                                             const key_sums<WordT>& sums, const modulus<WordT>& q) {
  const auto& job = p.jobs.items[number];
  const cache_policy policy = make_policy(p.data);
  for (unsigned h = 0; h < 2; ++h) {
    pack<WordT> result;
    for (unsigned i = 0; i < pack<WordT>::size; ++i) {
      result.word[i] = ring::montgomery_reduce<WordT>(sums.half[h][i], q);
    }
    if (job.plus[h] != nullptr) {
      const pack<WordT> plus = load<WordT>(job.plus[h] + offset, policy);
      for (unsigned i = 0; i < pack<WordT>::size; ++i) {
        result.word[i] =
            subtract_once<WordT>(result.word[i] + ring::mul_mod(plus.word[i], p.factor[limb], q), q.value);
      }
    }
    if (job.accumulate) {
      const pack<WordT> before = load<WordT>(job.dst[h] + offset, policy);
      for (unsigned i = 0; i < pack<WordT>::size; ++i) {
        result.word[i] = subtract_once<WordT>(result.word[i] + before.word[i], q.value);
      }
    }
    store<WordT>(job.dst[h] + offset, result, policy);
  }
}

/// Digits whose loads are under way together.
inline constexpr unsigned key_group = 4;

/// Keys in memory: one pack of coefficients per thread, all digits.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void key_body(const key_params<WordT>& p, const coordinates& at) {
  const std::uint32_t index = (at.block_x * at.threads + at.thread) * pack<WordT>::size;
  if (index >= p.words) return;
  const std::uint32_t number = p.jobs.find(at.block_y);
  const auto& job = p.jobs.items[number];
  const std::uint32_t local = at.block_y - p.jobs.begin[number];
  const modulus<WordT> q = p.moduli[job.first_prime + local];
  const std::size_t offset = static_cast<std::size_t>(local) * p.words + index;
  const cache_policy data_policy = make_policy(p.data), key_policy = make_policy(p.keys);
  key_sums<WordT> sums{};
  for (std::uint32_t t = 0; t < job.digits; t += key_group) {
    pack<WordT> d[key_group], b[key_group], a[key_group];
    for (unsigned g = 0; g < key_group; ++g) {
      d[g] = b[g] = a[g] = pack<WordT>{};
      if (t + g >= job.digits) continue;
      const auto& digit = p.digit_list[job.first_digit + t + g];
      b[g] = load<WordT>(digit.b + offset, key_policy);
      a[g] = load<WordT>(digit.a + offset, key_policy);
      d[g] = load<WordT>(digit.d + offset, data_policy);
    }
    for (unsigned g = 0; g < key_group; ++g) key_add(sums, d[g], b[g], a[g]);
    if (job.digits > key_group) key_normalise(sums, q);
  }
  key_finish(p, number, at.block_y, offset, sums, q);
}

}  // namespace halocline::backend::cuda
