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

/// Where the digits of a round are in the rooms of `key_shared`: those of pack `k` of a thread, of which it
/// has `packs`, one after the other. With several packs, jobs of few digits use all rooms.
template <unsigned packs>
struct key_rooms {
  static constexpr unsigned digits = key_group / packs;
  [[nodiscard]] static constexpr HALOCLINE_HOST_DEVICE unsigned at(unsigned k, unsigned digit) {
    return k * digits + digit;
  }
  /// Digits of a round that are looked at, where all jobs have `known`.
  [[nodiscard]] static constexpr HALOCLINE_HOST_DEVICE unsigned count(unsigned known) {
    return known != 0 ? known : digits;
  }
};

/// Block `j` of the stream of digit `t` in the block of threads at `at`.
template <typename WordT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline stream_block<WordT> key_stream(const key_params<WordT>& p,
                                                                          const key_position& at,
                                                                          std::uint32_t t, std::uint32_t j) {
  const key_place place = place_of(p, at);
  const auto& job = p.jobs.items[place.number];
  const auto& digit = p.digit_list[job.first_digit + (t < job.digits ? t : 0)];
  const std::uint32_t prime = job.first_prime + place.local;
  const modulus<WordT>& q = p.moduli[prime];
  const std::uint32_t counter = at.block_x * key_blocks + j;
  const bool valid =
      t < job.digits && digit.a == nullptr && counter * arith::words_per_block<WordT> < p.words;
  return {valid ? &digit.key : nullptr, digit.stream, prime, counter, q.value, arith::candidate_mask(q)};
}

/// Begins to copy halves b of a round of digits for pack `k` of this thread, which is that of the block at
/// `at`. `known`: digits of all jobs, all of them seeded, in one round; 0: any.
template <unsigned packs, unsigned known, typename WordT, stream_rule Rule>
HALOCLINE_HOST_DEVICE inline void key_fetch(const key_params<WordT>& p, const key_position& at, unsigned k,
                                            std::uint32_t first, key_shared<WordT, Rule>& shared) {
  using rooms = key_rooms<packs>;
  const key_place place = place_of(p, at);
  const auto& job = p.jobs.items[place.number];
  if (place.index >= p.words) return;
  const std::size_t offset = offset_of(p, place);
  const cache_policy policy = make_policy(p.keys);
  HALOCLINE_UNROLL
  for (unsigned g = 0; g < rooms::count(known); ++g) {
    if (known == 0 && first + g >= job.digits) continue;
    load_async<WordT>(shared.b[rooms::at(k, g)][at.thread],
                      p.digit_list[job.first_digit + first + g].b + offset, policy);
  }
}

/// Adds a round of digits for that pack, from what `key_fetch` and the tile hold.
template <unsigned packs, unsigned known, typename WordT, stream_rule Rule>
HALOCLINE_HOST_DEVICE inline void key_add_group(const key_params<WordT>& p, const key_position& at,
                                                unsigned k, std::uint32_t first,
                                                const key_shared<WordT, Rule>& shared,
                                                key_sums<WordT>& sums) {
  using rooms = key_rooms<packs>;
  const key_place place = place_of(p, at);
  const auto& job = p.jobs.items[place.number];
  if (place.index >= p.words) return;
  const modulus<WordT> q = p.moduli[job.first_prime + place.local];
  const std::size_t offset = offset_of(p, place);
  const cache_policy data_policy = make_policy(p.data), key_policy = make_policy(p.keys);
  pack<WordT> d[rooms::digits];
  HALOCLINE_UNROLL
  for (unsigned g = 0; g < rooms::count(known); ++g) {
    d[g] = pack<WordT>{};
    if (known != 0 || first + g < job.digits)
      d[g] = load<WordT>(p.digit_list[job.first_digit + first + g].d + offset, data_policy);
  }
  HALOCLINE_UNROLL
  for (unsigned g = 0; g < rooms::count(known); ++g) {
    if (known == 0 && first + g >= job.digits) continue;
    const WordT* const stored = known != 0 ? nullptr : p.digit_list[job.first_digit + first + g].a;
    const std::uint32_t j = rooms::at(k, g) * key_blocks + at.thread / stream_packs;
    const pack<WordT> a = stored != nullptr ? load<WordT>(stored + offset, key_policy)
                                            : shared.a.packs[stream_slot(j, at.thread % stream_packs)];
    key_add(sums, d[g], shared.b[rooms::at(k, g)][at.thread], a);
  }
  if (known == 0 && job.digits > key_group) key_normalise(sums, q);
}

/// Writes the sums of a pack of this thread.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void key_seeded_finish(const key_params<WordT>& p, const key_position& at,
                                                    const key_sums<WordT>& sums) {
  const key_place place = place_of(p, at);
  if (place.index >= p.words) return;
  key_finish(p, place, sums, p.moduli[p.jobs.items[place.number].first_prime + place.local],
             make_policy(p.data));
}

/// Where the sums of pack `k` are kept for `key_turn`: in the place of its halves b, which no other thread
/// reads. A round must be at least two digits.
template <unsigned packs, typename WordT, stream_rule Rule>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline pack<WordT>* key_exchange(key_shared<WordT, Rule>& shared,
                                                                     unsigned k) {
  static_assert(key_rooms<packs>::digits >= 2);
  return &shared.b[key_rooms<packs>::at(k, 0)][0];
}

/// Keeps them there.
template <typename WordT>
HALOCLINE_HOST_DEVICE inline void key_seeded_keep(const key_params<WordT>& p, const key_position& source,
                                                  const key_sums<WordT>& sums, pack<WordT>* exchange) {
  const key_place place = place_of(p, source);
  if (place.index < p.words) {
    const modulus<WordT>& q = p.moduli[p.jobs.items[place.number].first_prime + place.local];
    key_keep(p, source, place, sums, q, exchange);
  }
}

}  // namespace halocline::backend::cuda
