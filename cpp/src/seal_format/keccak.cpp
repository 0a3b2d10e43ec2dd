// SPDX-License-Identifier: Apache-2.0
#include "halocline/seal_format/keccak.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <utility>

namespace halocline::seal_format {
namespace {

constexpr std::size_t rate = 136;  // bytes of SHAKE256 that a permutation takes or gives

using lanes = std::array<std::uint64_t, 25>;  // lane (x, y) is number x + 5 y

/// Constants of iota: bits of the linear feedback shift register of FIPS 202, algorithm 5.
constexpr std::array<std::uint64_t, 24> round_constants() {
  std::array<std::uint64_t, 24> made{};
  unsigned shifted = 1;
  for (auto& constant : made) {
    for (unsigned j = 0; j < 7; ++j) {
      if ((shifted & 1) != 0) constant |= std::uint64_t{1} << ((1U << j) - 1);
      shifted <<= 1;
      if ((shifted & 0x100) != 0) shifted ^= 0x171;
    }
  }
  return made;
}

void theta(lanes& a) {
  std::array<std::uint64_t, 5> parity{};
  for (std::size_t i = 0; i < 25; ++i) parity[i % 5] ^= a[i];
  for (std::size_t i = 0; i < 25; ++i) {
    a[i] ^= parity[(i + 4) % 5] ^ std::rotl(parity[(i + 1) % 5], 1);
  }
}

void rho_and_pi(lanes& a) {
  std::uint64_t moved = a[1];
  std::size_t x = 1, y = 0;
  for (unsigned t = 0; t < 24; ++t) {
    const std::size_t next = (2 * x + 3 * y) % 5;
    x = y;
    y = next;
    moved = std::exchange(a[x + 5 * y], std::rotl(moved, static_cast<int>((t + 1) * (t + 2) / 2 % 64)));
  }
}

void chi(lanes& a) {
  for (std::size_t y = 0; y < 25; y += 5) {
    const std::array<std::uint64_t, 5> row{a[y], a[y + 1], a[y + 2], a[y + 3], a[y + 4]};
    for (std::size_t x = 0; x < 5; ++x) a[y + x] = row[x] ^ (~row[(x + 1) % 5] & row[(x + 2) % 5]);
  }
}

void permute(lanes& a) {
  static constexpr std::array<std::uint64_t, 24> constants = round_constants();
  for (const std::uint64_t constant : constants) {
    theta(a);
    rho_and_pi(a);
    chi(a);
    a[0] ^= constant;
  }
}

void absorb_block(lanes& a, const std::uint8_t* block) {
  std::array<std::uint64_t, rate / 8> words;
  std::memcpy(words.data(), block, rate);
  for (std::size_t i = 0; i < words.size(); ++i) a[i] ^= words[i];
  permute(a);
}

}  // namespace

void shake256(std::span<std::uint8_t> out, std::span<const std::uint8_t> in) {
  lanes a{};
  for (; in.size() >= rate; in = in.subspan(rate)) absorb_block(a, in.data());
  std::array<std::uint8_t, rate> last{};
  std::copy(in.begin(), in.end(), last.begin());
  last[in.size()] ^= 0x1F;
  last[rate - 1] ^= 0x80;
  absorb_block(a, last.data());
  while (!out.empty()) {
    const std::size_t count = std::min(rate, out.size());
    std::memcpy(out.data(), a.data(), count);
    out = out.subspan(count);
    if (!out.empty()) permute(a);
  }
}

}  // namespace halocline::seal_format
