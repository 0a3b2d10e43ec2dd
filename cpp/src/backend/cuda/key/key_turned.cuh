// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/key/galois_map.cuh"
#include "backend/cuda/key/key.cuh"

/// Products with keys of which an automorphism is wanted: a block of threads computes the block of sums that
/// becomes its block of the result, and reorders it in shared memory. Automorphisms map aligned blocks onto
/// aligned blocks (`automorphism_job`). Of a job with several parts the block does one after the other; a
/// thread adds to the words that it wrote itself, which are still in a cache.
namespace halocline::backend::cuda {

/// Parts of the job that a thread works on.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline std::uint32_t key_parts(const key_params<WordT>& p,
                                                                   const key_position& at) {
  return p.jobs.items[at.job].parts;
}

/// That of a part; one without a permutation maps every entry to itself.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline galois_map key_map(const key_params<WordT>& p,
                                                              const key_position& at) {
  const std::uint32_t* const permutation = p.jobs.items[at.job + at.part].permutation;
  return {permutation != nullptr ? *permutation : 0, p.log_words};
}

/// Words that a block of threads computes.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline std::uint32_t key_span(const coordinates& at) {
  return at.threads * pack<WordT>::size;
}

/// Where a thread computes: in the block that becomes the one at `at`.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline key_position key_source(const key_params<WordT>& p,
                                                                   const key_position& at) {
  const std::uint32_t span = key_span<WordT>(at);
  return {{key_map(p, at)(at.block_x * span) / span, at.block_y, at.thread, at.threads}, at.job, at.part};
}

/// Puts the results of a thread where `key_turn` finds them: 2 * at.threads packs.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void key_keep(const key_params<WordT>& p, const coordinates& source,
                                           const key_place& place, const key_sums<WordT>& sums,
                                           const modulus<WordT>& q, pack<WordT>* exchange) {
  const cache_policy policy = make_policy(p.data);
  for (unsigned h = 0; h < 2; ++h) {
    exchange[h * source.threads + source.thread] = key_result(p, place, h, sums, q, policy);
  }
}

/// Keys in memory: results of the pack of a thread.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void key_turned_body(const key_params<WordT>& p, const key_position& source,
                                                  pack<WordT>* exchange) {
  key_products(p, source, [&](const key_place& place, const key_sums<WordT>& sums, const modulus<WordT>& q) {
    key_keep(p, source, place, sums, q, exchange);
  });
}

/// Writes a block of both outputs, after all threads have put theirs there. A warp writes consecutive words,
/// which are those of one aligned block in another order: there are no bank conflicts.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void key_turn(const key_params<WordT>& p, const key_position& at,
                                           const pack<WordT>* exchange) {
  const galois_map map = key_map(p, at);
  const std::uint32_t span = key_span<WordT>(at);
  const key_place place = place_of(p, at);
  const auto& job = p.jobs.items[place.number];
  const WordT q = p.moduli[job.first_prime + place.local].value;
  HALOCLINE_UNROLL
  for (unsigned r = 0; r < pack<WordT>::size; ++r) {
    const std::uint32_t index = at.block_x * span + r * at.threads + at.thread;
    if (index >= p.words) return;
    const std::uint32_t from = map(index) % span;
    for (unsigned h = 0; h < 2; ++h) {
      WordT& dst = job.dst[h][static_cast<std::size_t>(place.local) * p.words + index];
      const WordT sum = reinterpret_cast<const WordT*>(exchange + h * at.threads)[from];
      dst = job.accumulate ? subtract_once<WordT>(sum + dst, q) : sum;
    }
  }
}

}  // namespace halocline::backend::cuda
