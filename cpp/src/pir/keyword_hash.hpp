// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "halocline/pir/keyword_layout.hpp"

/// From digests of keys to buckets. Private to `pir`.
namespace halocline::pir {

/// Candidate buckets of a key; the first `hashes` are meant.
using candidate_list = std::array<std::uint64_t, max_keyword_hashes>;

/// Word number `which` of the attempt of a layout: SipHash-2-4 of a digest under a public key made of both.
[[nodiscard]] std::uint64_t placement_word(const keyword_layout& at, const key_digest& digest,
                                           std::uint32_t which);
/// Different buckets, uniform and independent otherwise.
[[nodiscard]] candidate_list candidates_of(const keyword_layout& at, const key_digest& digest);

/// A 64-bit word scaled to [0, bound). The bias is below bound / 2^64.
[[nodiscard]] constexpr std::uint64_t scaled(std::uint64_t word, std::uint64_t bound) {
  __extension__ using wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<wide>(word) * bound >> 64);
}

}  // namespace halocline::pir
