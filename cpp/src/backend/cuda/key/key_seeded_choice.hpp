// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/cuda/key/key_seeded.cuh"

/// Which form of the kernel of seeded keys a launch takes.
namespace halocline::backend::cuda {

/// Digits of the part that has most.
template <typename WordT>
[[nodiscard]] std::uint32_t most_digits(const key_params<WordT>& p) {
  std::uint32_t most = 0;
  for (std::uint32_t j = 0; j < p.jobs.jobs; ++j) most = std::max(most, p.jobs.items[j].digits);
  return most;
}

/// Digits of each part, where all have as many, all of them are seeded, and no thread is without words; else
/// 0.
template <typename WordT>
[[nodiscard]] std::uint32_t seeded_digits(const key_params<WordT>& p) {
  const std::uint32_t digits = most_digits(p);
  bool all = p.words % (stream_blocks * pack<WordT>::size) == 0;
  for (std::uint32_t j = 0; j < p.jobs.jobs; ++j) all &= p.jobs.items[j].digits == digits;
  for (std::uint32_t d = 0; d < p.digits; ++d) all &= p.digit_list[d].a == nullptr;
  return all ? digits : 0;
}

/// Blocks of words of a block of threads: two where a round of digits would leave half of the threads without
/// a block of a stream.
template <typename WordT>
[[nodiscard]] std::uint32_t seeded_packs(const key_params<WordT>& p) {
  const bool halves = p.words / pack<WordT>::size % (2 * stream_blocks) == 0;
  return halves && p.rule == stream_rule::chacha8_spare && most_digits(p) <= key_rooms<2>::digits ? 2 : 1;
}

}  // namespace halocline::backend::cuda
