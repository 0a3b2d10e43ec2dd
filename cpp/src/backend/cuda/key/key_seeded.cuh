// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/key/key_turned.cuh"
#include "backend/cuda/stream/stream_retry.cuh"
#include "backend/cuda/stream/stream_spare.cuh"

/// Products of digits with keys of which some halves are expanded from seeds: bodies of the kernel.
namespace halocline::backend::cuda {

/// Blocks of the key stream, of every digit, that a block of threads works on: one pack per thread.
inline constexpr std::uint32_t key_blocks = stream_blocks / key_group;
static_assert(key_blocks % arith::blocks_per_group == 0);

/// What a block of threads keeps in shared memory for seeded keys: halves a of up to `key_group` digits, and
/// halves b, which arrive while they are expanded.
template <typename WordT, stream_rule Rule>
struct key_shared {
  stream_tile<WordT, Rule> a;
  pack<WordT> b[key_group][stream_blocks];
};

/// Block `j` of the tile for the digits [first, first + key_group): block j % key_blocks of digit
/// j / key_blocks.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline stream_block<WordT> key_stream(const key_params<WordT>& p,
                                                                          const key_position& at,
                                                                          std::uint32_t first,
                                                                          std::uint32_t j) {
  const key_place place = place_of(p, at);
  const auto& job = p.jobs.items[place.number];
  const std::uint32_t t = first + j / key_blocks;
  const auto& digit = p.digit_list[job.first_digit + (t < job.digits ? t : 0)];
  const std::uint32_t prime = job.first_prime + place.local;
  const modulus<WordT>& q = p.moduli[prime];
  const std::uint32_t counter = at.block_x * key_blocks + j % key_blocks;
  const bool valid =
      t < job.digits && digit.a == nullptr && counter * arith::words_per_block<WordT> < p.words;
  return {valid ? &digit.key : nullptr, digit.stream, prime, counter, q.value, arith::candidate_mask(q)};
}

/// Begins to copy halves b of a group of digits for this thread.
template <typename WordT, stream_rule Rule>
HALOCLINE_HOST_DEVICE inline void key_fetch(const key_params<WordT>& p, const key_position& at,
                                            std::uint32_t first, key_shared<WordT, Rule>& shared) {
  const key_place place = place_of(p, at);
  const auto& job = p.jobs.items[place.number];
  if (place.index >= p.words) return;
  const std::size_t offset = offset_of(p, place);
  const cache_policy policy = make_policy(p.keys);
  HALOCLINE_UNROLL
  for (unsigned g = 0; g < key_group; ++g) {
    if (first + g >= job.digits) continue;
    load_async<WordT>(shared.b[g][at.thread], p.digit_list[job.first_digit + first + g].b + offset, policy);
  }
}

/// Adds a group of digits for this thread's pack, from what `key_fetch` and the tile hold.
template <typename WordT, stream_rule Rule>
HALOCLINE_HOST_DEVICE inline void key_add_group(const key_params<WordT>& p, const key_position& at,
                                                std::uint32_t first, const key_shared<WordT, Rule>& shared,
                                                key_sums<WordT>& sums) {
  const key_place place = place_of(p, at);
  const auto& job = p.jobs.items[place.number];
  if (place.index >= p.words) return;
  const modulus<WordT> q = p.moduli[job.first_prime + place.local];
  const std::size_t offset = offset_of(p, place);
  const cache_policy data_policy = make_policy(p.data), key_policy = make_policy(p.keys);
  pack<WordT> d[key_group];
  HALOCLINE_UNROLL
  for (unsigned g = 0; g < key_group; ++g) {
    d[g] = pack<WordT>{};
    if (first + g < job.digits)
      d[g] = load<WordT>(p.digit_list[job.first_digit + first + g].d + offset, data_policy);
  }
  HALOCLINE_UNROLL
  for (unsigned g = 0; g < key_group; ++g) {
    if (first + g >= job.digits) continue;
    const WordT* const stored = p.digit_list[job.first_digit + first + g].a;
    const std::uint32_t j = g * key_blocks + at.thread / stream_packs;
    const pack<WordT> a = stored != nullptr ? load<WordT>(stored + offset, key_policy)
                                            : shared.a.packs[stream_slot(j, at.thread % stream_packs)];
    key_add(sums, d[g], shared.b[g][at.thread], a);
  }
  if (job.digits > key_group) key_normalise(sums, q);
}

/// Writes the sums of this thread's pack.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void key_seeded_finish(const key_params<WordT>& p, const key_position& at,
                                                    const key_sums<WordT>& sums) {
  const key_place place = place_of(p, at);
  if (place.index >= p.words) return;
  key_finish(p, place, sums, p.moduli[p.jobs.items[place.number].first_prime + place.local],
             make_policy(p.data));
}

/// Keeps the sums of this thread's pack for `key_turn`, in the place of its halves b, which no other thread
/// reads. A group must be at least two digits.
template <typename WordT, stream_rule Rule>
HALOCLINE_HOST_DEVICE inline pack<WordT>* key_seeded_keep(const key_params<WordT>& p,
                                                          const key_position& source,
                                                          const key_sums<WordT>& sums,
                                                          key_shared<WordT, Rule>& shared) {
  static_assert(key_group >= 2);
  pack<WordT>* const exchange = &shared.b[0][0];
  const key_place place = place_of(p, source);
  if (place.index < p.words) {
    const modulus<WordT>& q = p.moduli[p.jobs.items[place.number].first_prime + place.local];
    key_keep(p, source, place, sums, q, exchange);
  }
  return exchange;
}

}  // namespace halocline::backend::cuda
