// SPDX-License-Identifier: Apache-2.0
#include "pir/random_lifts.hpp"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "halocline/core/expects.hpp"
#include "halocline/ring/sampler.hpp"

namespace halocline::pir {
namespace {

constexpr std::size_t most_coefficients = std::size_t{1} << 13;
/// Coefficients that are read and written together: whole bytes for every length.
constexpr std::size_t at_once = 8;
constexpr unsigned random_bits = 16;

using random_words = std::array<std::uint16_t, most_coefficients>;

std::uint64_t load64(const std::byte* from) {
  std::uint64_t value = 0;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// `groups` times eight coefficients: `Bits` bytes become `Bits` + 1. Seven bytes behind them may be read.
template <unsigned Bits>
void lift_groups(const std::byte* in, const std::uint16_t* random, std::size_t groups, std::byte* out) {
  constexpr std::uint64_t low = (std::uint64_t{1} << Bits) - 1;
  for (; groups != 0; --groups, in += Bits, random += at_once) {
    std::uint64_t gathered = 0;
    unsigned fill = 0;
    for (unsigned i = 0; i < at_once; ++i) {
      const std::uint64_t value = (load64(in + i * Bits / 8) >> (i * Bits % 8)) & low;
      // Of t only the highest 16 bits count: the mean is then below 2^-16 t instead of 0.
      std::uint64_t chance = value;
      if constexpr (Bits <= random_bits) chance <<= random_bits - Bits;
      if constexpr (Bits > random_bits) chance >>= Bits - random_bits;
      const std::uint64_t below = random[i] < chance ? 1 : 0;
      // v - 2^Bits is v + 2^Bits modulo 2^(Bits + 1).
      gathered |= (value | below << Bits) << fill;
      fill += Bits + 1;
      if (fill < 32) continue;
      const auto word = static_cast<std::uint32_t>(gathered);
      std::memcpy(out, &word, sizeof word);
      out += sizeof word;
      gathered >>= 32;
      fill -= 32;
    }
    std::memcpy(out, &gathered, fill / 8);
    out += fill / 8;
  }
}

/// The function for so many bits.
auto lift_groups_of(unsigned bits) {
  constexpr unsigned least = 2;
  return [bits]<unsigned... Is>(std::integer_sequence<unsigned, Is...>) {
    constexpr std::array functions{&lift_groups<least + Is>...};
    return functions.at(bits - least);
  }
  (std::make_integer_sequence<unsigned, 30>{});
}

}  // namespace

random_lifts::random_lifts(unsigned plain_bits, std::optional<arith::seed_bytes> key)
    : plain_bits_(plain_bits) {
  ring::random_source system;
  key_ = key ? *key : system.next_seed();
}

random_lifts::~random_lifts() { sodium_memzero(key_.data(), key_.size()); }

std::uint32_t random_lifts::draws(std::uint64_t plaintext) const {
  const std::lock_guard one(mutex_);
  const auto found = draws_.find(plaintext);
  return found == draws_.end() ? 0 : found->second;
}

void random_lifts::draw_anew(std::uint64_t plaintext) {
  const std::lock_guard one(mutex_);
  ++draws_[plaintext];
}

void random_lifts::write(std::span<const std::byte> plain, std::uint64_t plaintext, std::uint32_t plane,
                         std::span<std::byte> out) const {
  const std::size_t coefficients = (8 * plain.size() + plain_bits_ - 1) / plain_bits_;
  HALOCLINE_EXPECTS(coefficients <= most_coefficients && out.size() == bytes(plain.size()), invalid_argument,
                    "random lifts: ", plain.size(), " bytes of a plaintext to ", out.size(), "; expected ",
                    bytes(plain.size()), " for at most ", most_coefficients, " coefficients");
  std::array<std::uint8_t, crypto_stream_chacha20_ietf_NONCEBYTES> nonce{};
  const std::uint64_t place = plaintext | std::uint64_t{plane} << 40;
  const std::uint32_t drawn = draws(plaintext);
  std::memcpy(nonce.data(), &place, sizeof place);
  std::memcpy(nonce.data() + sizeof place, &drawn, sizeof drawn);
  random_words random;  // left as it is behind the coefficients that there are
  const std::size_t rounded = (coefficients + at_once - 1) / at_once * at_once;
  crypto_stream_chacha20_ietf(reinterpret_cast<unsigned char*>(random.data()),
                              rounded * sizeof(std::uint16_t), nonce.data(), key_.data());
  const std::size_t in_bytes = plain_bits_, out_bytes = bits();
  const auto lift = lift_groups_of(plain_bits_);
  std::size_t group = plain.size() < 7 ? 0 : (plain.size() - 7) / in_bytes;
  lift(plain.data(), random.data(), group, out.data());
  for (; group * at_once < coefficients; ++group) {  // the last ones, with zeros behind them
    std::array<std::byte, 40> in{}, lifted{};
    const std::span<const std::byte> rest = plain.subspan(group * in_bytes);
    std::ranges::copy(rest.first(std::min(rest.size(), in_bytes)), in.begin());
    lift(in.data(), &random[group * at_once], 1, lifted.data());
    const std::span<std::byte> to = out.subspan(group * out_bytes);
    std::copy_n(lifted.begin(), std::min(to.size(), out_bytes), to.begin());
  }
}

}  // namespace halocline::pir
