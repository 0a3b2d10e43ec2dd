// SPDX-License-Identifier: Apache-2.0
#include "halocline/seal_format/blake2.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "halocline/core/blake2b_tables.hpp"

namespace halocline::seal_format {
namespace {

constexpr std::size_t block_bytes = 128;
constexpr std::size_t hash_bytes = 64;

/// Fields of the parameter block that differ from those of a plain hash.
struct node {
  std::uint8_t digest = hash_bytes;
  std::uint8_t key = 0;
  std::uint8_t fanout = 1;
  std::uint8_t depth = 1;
  std::uint32_t leaf = 0;
  std::uint32_t offset = 0;
  std::uint32_t xof_length = 0;
  std::uint8_t inner = 0;
};

using blake2b::initial;
using blake2b::sigma;
using state = std::array<std::uint64_t, 8>;

state begin(const node& of) {
  state h = initial;
  h[0] ^= of.digest | std::uint64_t{of.key} << 8 | std::uint64_t{of.fanout} << 16 |
          std::uint64_t{of.depth} << 24 | std::uint64_t{of.leaf} << 32;
  h[1] ^= of.offset | std::uint64_t{of.xof_length} << 32;
  h[2] ^= std::uint64_t{of.inner} << 8;  // the byte before it, node depth, is always 0 here
  return h;
}

void mix(std::array<std::uint64_t, 16>& v, std::array<int, 4> at, std::uint64_t x, std::uint64_t y) {
  const auto [a, b, c, d] = at;
  v[a] += v[b] + x;
  v[d] = std::rotr(v[d] ^ v[a], 32);
  v[c] += v[d];
  v[b] = std::rotr(v[b] ^ v[c], 24);
  v[a] += v[b] + y;
  v[d] = std::rotr(v[d] ^ v[a], 16);
  v[c] += v[d];
  v[b] = std::rotr(v[b] ^ v[c], 63);
}

/// Takes one block; `total` bytes were taken with it.
void compress(state& h, const std::uint8_t* block, std::uint64_t total, bool last) {
  std::array<std::uint64_t, 16> m;
  std::memcpy(m.data(), block, block_bytes);
  std::array<std::uint64_t, 16> v;
  std::copy(h.begin(), h.end(), v.begin());
  std::copy(initial.begin(), initial.end(), v.begin() + 8);
  v[12] ^= total;
  if (last) v[14] = ~v[14];
  for (std::size_t round = 0; round < 12; ++round) {
    const auto& s = sigma[round % 10];
    mix(v, {0, 4, 8, 12}, m[s[0]], m[s[1]]);
    mix(v, {1, 5, 9, 13}, m[s[2]], m[s[3]]);
    mix(v, {2, 6, 10, 14}, m[s[4]], m[s[5]]);
    mix(v, {3, 7, 11, 15}, m[s[6]], m[s[7]]);
    mix(v, {0, 5, 10, 15}, m[s[8]], m[s[9]]);
    mix(v, {1, 6, 11, 12}, m[s[10]], m[s[11]]);
    mix(v, {2, 7, 8, 13}, m[s[12]], m[s[13]]);
    mix(v, {3, 4, 9, 14}, m[s[14]], m[s[15]]);
  }
  for (std::size_t i = 0; i < 8; ++i) h[i] ^= v[i] ^ v[i + 8];
}

void absorb(state& h, std::uint64_t total, std::span<const std::uint8_t> rest) {
  std::array<std::uint8_t, block_bytes> block{};
  while (rest.size() > block_bytes) {
    compress(h, rest.data(), total += block_bytes, false);
    rest = rest.subspan(block_bytes);
  }
  std::copy(rest.begin(), rest.end(), block.begin());
  compress(h, block.data(), total + rest.size(), true);
}

void hash(std::span<std::uint8_t> out, const node& of, std::span<const std::uint8_t> in,
          std::span<const std::uint8_t> key) {
  state h = begin(of);
  if (key.empty()) {
    absorb(h, 0, in);
  } else {
    std::array<std::uint8_t, block_bytes> first{};
    std::copy(key.begin(), key.end(), first.begin());
    compress(h, first.data(), block_bytes, in.empty());
    if (!in.empty()) absorb(h, block_bytes, in);
  }
  std::memcpy(out.data(), h.data(), std::min(out.size(), hash_bytes));
}

}  // namespace

void blake2b(std::span<std::uint8_t> out, std::span<const std::uint8_t> in) {
  node plain;
  plain.digest = static_cast<std::uint8_t>(out.size());
  hash(out, plain, in, {});
}

void blake2xb(std::span<std::uint8_t> out, std::span<const std::uint8_t> in,
              std::span<const std::uint8_t> key) {
  node root;
  root.key = static_cast<std::uint8_t>(key.size());
  root.xof_length = static_cast<std::uint32_t>(out.size());
  std::array<std::uint8_t, hash_bytes> inner;
  hash(inner, root, in, key);
  node leaf;
  leaf.fanout = 0;
  leaf.depth = 0;
  leaf.leaf = hash_bytes;
  leaf.inner = hash_bytes;
  leaf.xof_length = root.xof_length;
  for (std::size_t done = 0; done < out.size(); done += hash_bytes, ++leaf.offset) {
    const std::span<std::uint8_t> part = out.subspan(done, std::min(hash_bytes, out.size() - done));
    leaf.digest = static_cast<std::uint8_t>(part.size());
    hash(part, leaf, inner, {});
  }
}

}  // namespace halocline::seal_format
