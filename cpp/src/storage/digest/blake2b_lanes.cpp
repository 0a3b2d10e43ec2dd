// SPDX-License-Identifier: Apache-2.0
#include "storage/digest/blake2b_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "storage/digest/blake2b_lanes.cpp"
#include "hwy/foreach_target.h"
// Highway needs foreach_target.h before everything else.
#include <sodium.h>

#include <algorithm>

#include "halocline/core/blake2b_tables.hpp"
#include "hwy/highway.h"
#include "storage/digest/blake2b_lanes.hpp"

HWY_BEFORE_NAMESPACE();
namespace halocline::storage::digest {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

std::size_t lanes() { return 1; }

void group(const bytes32&, const std::byte*, std::size_t, std::size_t, bytes32*) {}  // not called

#else

using tag = hn::ScalableTag<std::uint64_t>;
using vec = hn::Vec<tag>;

constexpr std::size_t width = hn::MaxLanes(tag());
constexpr std::size_t chunk_bytes = 128;

using blake2b::sigma;
constexpr const auto& start = blake2b::initial;

/// Rotation to the right. AVX2 and NEON have no instruction for it, but move whole bytes in one.
template <int bits>
HWY_INLINE vec rotate(vec x) {
#if HWY_TARGET == HWY_AVX3
  return hn::RotateRight<bits>(x);
#else
  if constexpr (bits % 8 == 0) {
    constexpr int by = bits / 8;
    HWY_ALIGN static constexpr std::uint8_t places[16] = {
        by % 8,           (by + 1) % 8,     (by + 2) % 8,     (by + 3) % 8,
        (by + 4) % 8,     (by + 5) % 8,     (by + 6) % 8,     (by + 7) % 8,
        8 + by % 8,       8 + (by + 1) % 8, 8 + (by + 2) % 8, 8 + (by + 3) % 8,
        8 + (by + 4) % 8, 8 + (by + 5) % 8, 8 + (by + 6) % 8, 8 + (by + 7) % 8};
    const hn::Repartition<std::uint8_t, tag> octets;
    return hn::BitCast(tag(), hn::TableLookupBytes(hn::BitCast(octets, x), hn::LoadDup128(octets, places)));
  } else {
    return hn::Or(hn::ShiftRight<bits>(x), hn::ShiftLeft<64 - bits>(x));
  }
#endif
}

HWY_INLINE void mix(vec& a, vec& b, vec& c, vec& d, vec x, vec y) {
  a = hn::Add(hn::Add(a, b), x);
  d = rotate<32>(hn::Xor(d, a));
  c = hn::Add(c, d);
  b = rotate<24>(hn::Xor(b, c));
  a = hn::Add(hn::Add(a, b), y);
  d = rotate<16>(hn::Xor(d, a));
  c = hn::Add(c, d);
  b = rotate<63>(hn::Xor(b, c));
}

/// Chaining values, one message in each lane.
struct state {
  vec h[8];

  HWY_INLINE state() {
    for (std::size_t i = 0; i < 8; ++i) h[i] = hn::Set(tag(), start[i]);
    // Parameter block: digest of 32 bytes, key of 32 bytes, fan-out and depth 1.
    h[0] = hn::Xor(h[0], hn::Set(tag(), std::uint64_t{0x01012020}));
  }

  template <std::size_t round>
  HWY_INLINE static void do_round(vec (&v)[16], const vec* m) {
    constexpr const auto& s = sigma[round % 10];
    mix(v[0], v[4], v[8], v[12], m[s[0]], m[s[1]]);
    mix(v[1], v[5], v[9], v[13], m[s[2]], m[s[3]]);
    mix(v[2], v[6], v[10], v[14], m[s[4]], m[s[5]]);
    mix(v[3], v[7], v[11], v[15], m[s[6]], m[s[7]]);
    mix(v[0], v[5], v[10], v[15], m[s[8]], m[s[9]]);
    mix(v[1], v[6], v[11], v[12], m[s[10]], m[s[11]]);
    mix(v[2], v[7], v[8], v[13], m[s[12]], m[s[13]]);
    mix(v[3], v[4], v[9], v[14], m[s[14]], m[s[15]]);
  }

  /// @param so_far bytes with this chunk
  HWY_INLINE void compress(const vec* m, std::uint64_t so_far, bool is_last) {
    vec v[16];
    for (std::size_t i = 0; i < 8; ++i) {
      v[i] = h[i];
      v[8 + i] = hn::Set(tag(), start[i]);
    }
    v[12] = hn::Xor(v[12], hn::Set(tag(), so_far));
    if (is_last) v[14] = hn::Not(v[14]);
    do_round<0>(v, m);
    do_round<1>(v, m);
    do_round<2>(v, m);
    do_round<3>(v, m);
    do_round<4>(v, m);
    do_round<5>(v, m);
    do_round<6>(v, m);
    do_round<7>(v, m);
    do_round<8>(v, m);
    do_round<9>(v, m);
    do_round<10>(v, m);
    do_round<11>(v, m);
    for (std::size_t i = 0; i < 8; ++i) h[i] = hn::Xor(h[i], hn::Xor(v[i], v[8 + i]));
  }
};

/// `width` words of each message, so that vector i gets word i of all.
template <std::size_t count>
HWY_INLINE void transpose(const std::uint64_t* const* rows, std::size_t at, vec* out) {
  static_assert(count == 2 || count == 4 || count == 8);
  vec a[count];
  for (std::size_t i = 0; i < count; i += 2) {
    const vec even = hn::LoadU(tag(), rows[i] + at);
    const vec odd = hn::LoadU(tag(), rows[i + 1] + at);
    a[i] = hn::InterleaveLower(tag(), even, odd);  // words 0, 2, ... of two messages
    a[i + 1] = hn::InterleaveUpper(tag(), even, odd);
  }
  // What is left are 128-bit blocks, to be transposed as a matrix of count / 2 by count / 2.
  if constexpr (count == 2) {
    out[0] = a[0];
    out[1] = a[1];
  } else if constexpr (count == 4) {
    for (std::size_t i = 0; i < 2; ++i) {
      out[i] = hn::ConcatLowerLower(tag(), a[i + 2], a[i]);
      out[i + 2] = hn::ConcatUpperUpper(tag(), a[i + 2], a[i]);
    }
  } else {
    for (std::size_t i = 0; i < 2; ++i) {
      const vec low02 = hn::ConcatLowerLower(tag(), a[i + 4], a[i]);
      const vec high02 = hn::ConcatUpperUpper(tag(), a[i + 4], a[i]);
      const vec low13 = hn::ConcatLowerLower(tag(), a[i + 6], a[i + 2]);
      const vec high13 = hn::ConcatUpperUpper(tag(), a[i + 6], a[i + 2]);
      out[i] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(low13), low02);
      out[i + 2] = hn::OddEvenBlocks(low13, hn::SwapAdjacentBlocks(low02));
      out[i + 4] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(high13), high02);
      out[i + 6] = hn::OddEvenBlocks(high13, hn::SwapAdjacentBlocks(high02));
    }
  }
}

std::size_t lanes() { return width; }

/// Digests of 1 to `width` messages. Lanes that are left over repeat the last message.
void group(const bytes32& key, const std::byte* from, std::size_t length, std::size_t count, bytes32* out) {
  const std::uint64_t* rows[width];
  for (std::size_t i = 0; i < width; ++i) {
    rows[i] = reinterpret_cast<const std::uint64_t*>(from + std::min(i, count - 1) * length);
  }
  HWY_ALIGN vec m[16];
  for (std::size_t i = 0; i < 16; ++i) {
    std::uint64_t word = 0;
    if (i < 4) std::copy_n(key.data() + 8 * i, 8, reinterpret_cast<std::uint8_t*>(&word));
    m[i] = hn::Set(tag(), word);
  }
  state at;
  at.compress(m, chunk_bytes, false);  // the key, filled up to a chunk
  for (std::size_t done = 0; done < length; done += chunk_bytes) {
    for (std::size_t i = 0; i < 16; i += width) transpose<width>(rows, done / 8 + i, m + i);
    at.compress(m, chunk_bytes + done + chunk_bytes, done + chunk_bytes == length);
  }
  HWY_ALIGN std::uint64_t words[4][width];
  for (std::size_t i = 0; i < 4; ++i) hn::Store(at.h[i], tag(), words[i]);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t w = 0; w < 4; ++w) {
      std::copy_n(reinterpret_cast<const std::uint8_t*>(&words[w][i]), 8, out[i].data() + 8 * w);
    }
  }
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace halocline::storage::digest
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halocline::storage::digest {
HWY_EXPORT(lanes);
HWY_EXPORT(group);

std::size_t blake2b_lanes() noexcept { return HWY_DYNAMIC_DISPATCH(lanes)(); }

bytes32 blake2b_keyed(const bytes32& key, std::span<const std::byte> message) noexcept {
  bytes32 out{};
  crypto_generichash_blake2b(out.data(), out.size(), reinterpret_cast<const unsigned char*>(message.data()),
                             message.size(), key.data(), key.size());
  return out;
}

void blake2b_keyed(const bytes32& key, std::span<const std::byte> messages, std::size_t length,
                   std::span<bytes32> out) noexcept {
  const std::size_t most = blake2b_lanes();
  for (std::size_t i = 0; i < out.size(); i += most) {
    const std::size_t count = std::min(most, out.size() - i);
    if (count == 1) {  // faster than lanes of which one is used
      out[i] = blake2b_keyed(key, messages.subspan(i * length, length));
    } else {
      HWY_DYNAMIC_DISPATCH(group)(key, messages.data() + i * length, length, count, out.data() + i);
    }
  }
}

}  // namespace halocline::storage::digest
#endif
