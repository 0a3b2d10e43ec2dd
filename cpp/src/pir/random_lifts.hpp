// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>

#include "halocline/arith/uniform_source.hpp"

namespace halocline::pir {

/// Chooses at random which integers stand for the coefficients of database plaintexts, so that no records
/// can be chosen that make the noise of answers large (docs/concepts/retrieval_noise.md): the coefficient v
/// in [0, t) becomes v - t with probability v / t, else v. Its mean is 0 and its square at most t^2 / 4 in
/// the mean, whatever v is, and modulo t it is v still.
///
/// The integers are written as numbers of one bit more than t has, in two's complement, for `unpack_plain`.
/// They follow from a secret key, the place of the plaintext and how often it was drawn: a plaintext that is
/// made again is the same, until `draw_anew`. Thread-safe.
class random_lifts {
 public:
  /// @param plain_bits log2 t, 2 to 31
  /// @param key drawn by the operating system unless given, which is for tests
  explicit random_lifts(unsigned plain_bits, std::optional<arith::seed_bytes> key = std::nullopt);
  ~random_lifts();
  random_lifts(const random_lifts&) = delete;
  random_lifts& operator=(const random_lifts&) = delete;

  /// Bits of an integer.
  [[nodiscard]] unsigned bits() const noexcept { return plain_bits_ + 1; }
  /// Bytes of the integers for so many bytes of a plaintext, zero bits behind them.
  [[nodiscard]] std::size_t bytes(std::size_t plain_bytes) const noexcept {
    const std::size_t coefficients = (8 * plain_bytes + plain_bits_ - 1) / plain_bits_;
    return (coefficients * bits() + 7) / 8;
  }

  /// Writes the integers of a plaintext.
  /// @param plain its bytes, at most N plain_bits / 8 with N = 2^13; coefficients behind them are 0
  /// @param plaintext number within each plane, below 2^40
  /// @param plane below 2^24
  /// @param out bytes(plain.size()) of them
  void write(std::span<const std::byte> plain, std::uint64_t plaintext, std::uint32_t plane,
             std::span<std::byte> out) const;
  /// From now on `write` chooses anew for a plaintext, in all planes.
  void draw_anew(std::uint64_t plaintext);

 private:
  [[nodiscard]] std::uint32_t draws(std::uint64_t plaintext) const;

  unsigned plain_bits_;
  arith::seed_bytes key_{};
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::uint32_t> draws_;  ///< how often plaintexts were drawn anew
};

}  // namespace halocline::pir
