// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "seal/memorymanager.h"
#include "seal/serialization.h"
#include "seal/util/defines.h"

namespace seal {

/// Security levels, by the table of HomomorphicEncryption.org, "Homomorphic encryption standard", 2018.
enum class sec_level_type : int { none = 0, tc128 = 128, tc192 = 192, tc256 = 256 };

/// A modulus: 0 (none), or 2 to 61 bits.
class Modulus {
 public:
  /// @throws std::invalid_argument for 1, or more than 61 bits
  Modulus(std::uint64_t value = 0) { set_value(value); }
  Modulus& operator=(std::uint64_t value) {
    set_value(value);
    return *this;
  }

  [[nodiscard]] int bit_count() const noexcept { return bit_count_; }
  [[nodiscard]] std::size_t uint64_count() const noexcept { return 1; }
  [[nodiscard]] const std::uint64_t* data() const noexcept { return &value_; }
  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }
  /// floor(2^128 / value) in two words, the lower first, and the remainder.
  [[nodiscard]] const std::array<std::uint64_t, 3>& const_ratio() const noexcept { return const_ratio_; }
  [[nodiscard]] bool is_zero() const noexcept { return value_ == 0; }
  [[nodiscard]] bool is_prime() const noexcept { return is_prime_; }
  /// @throws std::logic_error for modulus 0
  [[nodiscard]] std::uint64_t reduce(std::uint64_t value) const {
    if (value_ == 0) throw std::logic_error("Modulus: cannot reduce modulo 0");
    return value % value_;
  }

  [[nodiscard]] bool operator==(const Modulus& other) const noexcept { return value_ == other.value_; }
  [[nodiscard]] bool operator==(std::uint64_t other) const noexcept { return value_ == other; }
  [[nodiscard]] bool operator!=(const Modulus& other) const noexcept { return value_ != other.value_; }
  [[nodiscard]] bool operator!=(std::uint64_t other) const noexcept { return value_ != other; }
  [[nodiscard]] bool operator<(const Modulus& other) const noexcept { return value_ < other.value_; }
  [[nodiscard]] bool operator<(std::uint64_t other) const noexcept { return value_ < other; }
  [[nodiscard]] bool operator<=(const Modulus& other) const noexcept { return value_ <= other.value_; }
  [[nodiscard]] bool operator<=(std::uint64_t other) const noexcept { return value_ <= other; }
  [[nodiscard]] bool operator>(const Modulus& other) const noexcept { return value_ > other.value_; }
  [[nodiscard]] bool operator>(std::uint64_t other) const noexcept { return value_ > other; }
  [[nodiscard]] bool operator>=(const Modulus& other) const noexcept { return value_ >= other.value_; }
  [[nodiscard]] bool operator>=(std::uint64_t other) const noexcept { return value_ >= other; }

  [[nodiscard]] std::streamoff save_size(
      compr_mode_type compr_mode = Serialization::compr_mode_default) const;
  std::streamoff save(std::ostream& stream,
                      compr_mode_type compr_mode = Serialization::compr_mode_default) const;
  std::streamoff load(std::istream& stream);
  std::streamoff save(seal_byte* out, std::size_t size,
                      compr_mode_type compr_mode = Serialization::compr_mode_default) const;
  std::streamoff load(const seal_byte* in, std::size_t size);

 private:
  void set_value(std::uint64_t value);

  std::uint64_t value_ = 0;
  std::array<std::uint64_t, 3> const_ratio_{};
  int bit_count_ = 0;
  bool is_prime_ = false;
};

/// Lists of primes for `EncryptionParameters::set_coeff_modulus`.
class CoeffModulus {
 public:
  CoeffModulus() = delete;

  /// Most bits of all primes together; 0 for a ring degree that the table lacks.
  [[nodiscard]] static int MaxBitCount(std::size_t poly_modulus_degree,
                                       sec_level_type sec_level = sec_level_type::tc128) noexcept;
  /// Primes of `MaxBitCount` bits together.
  /// @throws std::invalid_argument for a ring degree that the table lacks, or no security
  [[nodiscard]] static std::vector<Modulus> BFVDefault(std::size_t poly_modulus_degree,
                                                       sec_level_type sec_level = sec_level_type::tc128);
  /// Different primes of these sizes that are 1 modulo 2 poly_modulus_degree, the largest last within a size.
  /// @throws std::invalid_argument unless the degree is a power of two, 2 to 131072, and sizes are 2 to 60
  /// bits;
  ///   std::logic_error when there are not enough primes
  [[nodiscard]] static std::vector<Modulus> Create(std::size_t poly_modulus_degree,
                                                   std::vector<int> bit_sizes);
  /// Primes that are 1 modulo plain_modulus too, if possible, which keeps noise of BGV low.
  [[nodiscard]] static std::vector<Modulus> Create(std::size_t poly_modulus_degree,
                                                   const Modulus& plain_modulus, std::vector<int> bit_sizes);
};

/// Plaintext moduli for batching in BFV and BGV.
class PlainModulus {
 public:
  PlainModulus() = delete;

  [[nodiscard]] static Modulus Batching(std::size_t poly_modulus_degree, int bit_size) {
    return CoeffModulus::Create(poly_modulus_degree, {bit_size})[0];
  }
  [[nodiscard]] static std::vector<Modulus> Batching(std::size_t poly_modulus_degree,
                                                     std::vector<int> bit_sizes) {
    return CoeffModulus::Create(poly_modulus_degree, std::move(bit_sizes));
  }
};

}  // namespace seal
