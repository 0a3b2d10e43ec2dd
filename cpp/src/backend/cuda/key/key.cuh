// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/device/arith.cuh"
#include "backend/cuda/device/batch.hpp"
#include "backend/cuda/elementwise/elementwise_access.cuh"
#include "halocline/arith/uniform_stream.hpp"

/// Products of digits with a key: parameter block and bodies of the kernels.
namespace halocline::backend::cuda {

/// Jobs, digits of all of them together, and limbs of jobs with factors, of one launch. So many that 16 keys
/// at a low level of a bootstrap, of three jobs and two digits each, are one launch, and so is a batch of 16
/// of SEAL's key switches with 8 digits modulo one prime.
inline constexpr unsigned key_jobs = 64;
inline constexpr unsigned key_digits = 128;
inline constexpr unsigned key_factors = 256;

template <typename WordT>
struct key_params {
  using word = WordT;
  struct digit {
    const WordT* d;
    const WordT* b;
    const WordT* a;  ///< nullptr: expanded from the seed
    arith::chacha_key key;
    std::uint32_t stream;
    bool rows;  ///< half transformed: the first phase is done, the second one is left
  };
  struct job {
    WordT* dst[2];
    const WordT* plus[2];              ///< nullptr: zero
    const std::uint32_t* permutation;  ///< nullptr: none
    std::uint32_t first_prime;
    std::uint32_t first_digit;
    std::uint32_t digits;
    std::uint32_t parts;  ///< jobs from this one on that add to its limbs; only it has limbs of the launch
    bool accumulate;
  };
  batch<job, key_jobs> jobs;
  const modulus<WordT>* moduli = nullptr;
  const WordT* roots = nullptr;  ///< as `ring_tables::roots`, where digits are half transformed
  std::uint32_t words = 0;
  std::uint32_t digits = 0;
  std::uint32_t log_words = 0;
  bool seeded = false;  ///< whether any digit of the launch is, all by `rule`
  stream_rule rule = stream_rule::chacha8_spare;
  bool turned = false;  ///< whether any job has a permutation or several parts
  bool summed = false;  ///< whether any job has several parts
  bool rows = false;    ///< whether any digit is half transformed; then none is seeded
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
  HALOCLINE_UNROLL
  for (unsigned i = 0; i < pack<WordT>::size; ++i) {
    sums.half[0][i] += static_cast<double_word<WordT>>(d.word[i]) * b.word[i];
    sums.half[1][i] += static_cast<double_word<WordT>>(d.word[i]) * a.word[i];
  }
}

template <typename WordT>
HALOCLINE_HOST_DEVICE inline void key_normalise(key_sums<WordT>& sums, const modulus<WordT>& q) {
  HALOCLINE_UNROLL
  for (unsigned i = 0; i < pack<WordT>::size; ++i) {
    for (unsigned h = 0; h < 2; ++h) sums.half[h][i] = normalise<WordT>(sums.half[h][i], q);
  }
}

/// Position of a thread in a launch, the job that its limb belongs to, and the part of it that it computes.
struct key_position : coordinates {
  std::uint32_t job = 0;
  std::uint32_t part = 0;
};

template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline key_position position_of(const key_params<WordT>& p,
                                                                    const coordinates& at,
                                                                    std::uint32_t part = 0) {
  return {at, p.jobs.find(at.block_y), part};
}

/// Position of a thread within its job.
struct key_place {
  std::uint32_t number;  ///< of the part among the jobs
  std::uint32_t local;   ///< limb of the job
  std::uint32_t limb;    ///< of the launch
  std::uint32_t index;   ///< first coefficient of the thread
};

template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline key_place place_of(const key_params<WordT>& p,
                                                              const key_position& at) {
  return {at.job + at.part, at.block_y - p.jobs.begin[at.job], at.block_y,
          (at.block_x * at.threads + at.thread) * pack<WordT>::size};
}

/// First coefficient of the thread in the limbs of its job.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline std::size_t offset_of(const key_params<WordT>& p,
                                                                 const key_place& place) {
  return static_cast<std::size_t>(place.local) * p.words + place.index;
}

/// Reduces the sums of output `h` and adds the job's addend.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline pack<WordT> key_result(const key_params<WordT>& p,
                                                                  const key_place& place, unsigned h,
                                                                  const key_sums<WordT>& sums,
                                                                  const modulus<WordT>& q,
                                                                  cache_policy policy) {
  const WordT* const addend = p.jobs.items[place.number].plus[h];
  pack<WordT> result;
  HALOCLINE_UNROLL
  for (unsigned i = 0; i < pack<WordT>::size; ++i) {
    result.word[i] = arith::montgomery_reduce<WordT>(sums.half[h][i], q);
  }
  if (addend == nullptr) return result;
  const pack<WordT> plus = load<WordT>(addend + offset_of(p, place), policy);
  for (unsigned i = 0; i < pack<WordT>::size; ++i) {
    result.word[i] =
        subtract_once<WordT>(result.word[i] + arith::mul_mod(plus.word[i], p.factor[place.limb], q), q.value);
  }
  return result;
}

/// Writes both outputs.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void key_finish(const key_params<WordT>& p, const key_place& place,
                                             const key_sums<WordT>& sums, const modulus<WordT>& q,
                                             cache_policy policy) {
  const auto& job = p.jobs.items[place.number];
  HALOCLINE_UNROLL
  for (unsigned h = 0; h < 2; ++h) {
    WordT* const dst = job.dst[h] + offset_of(p, place);
    pack<WordT> result = key_result(p, place, h, sums, q, policy);
    if (job.accumulate) {
      const pack<WordT> before = load<WordT>(dst, policy);
      for (unsigned i = 0; i < pack<WordT>::size; ++i) {
        result.word[i] = subtract_once<WordT>(result.word[i] + before.word[i], q.value);
      }
    }
    store<WordT>(dst, result, policy);
  }
}

/// Digits whose loads are under way together.
inline constexpr unsigned key_group = 4;

/// Keys in memory: one pack of coefficients per thread, all digits. `finish(place, sums, q)` takes the sums.
template <typename WordT, typename FinishT>
HALOCLINE_HOST_DEVICE inline void key_products(const key_params<WordT>& p, const key_position& at,
                                               const FinishT& finish) {
  const key_place place = place_of(p, at);
  if (place.index >= p.words) return;
  const auto& job = p.jobs.items[place.number];
  const modulus<WordT> q = p.moduli[job.first_prime + place.local];
  const std::size_t offset = offset_of(p, place);
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
  finish(place, sums, q);
}

/// Of jobs of one part, without permutations.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void key_body(const key_params<WordT>& p, const key_position& at) {
  key_products(p, at, [&](const key_place& place, const key_sums<WordT>& sums, const modulus<WordT>& q) {
    key_finish(p, place, sums, q, make_policy(p.data));
  });
}

}  // namespace halocline::backend::cuda
