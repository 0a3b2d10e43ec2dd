// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "seal/memorymanager.h"
#include "seal/modulus.h"
#include "seal/randomgen.h"
#include "seal/serialization.h"
#include "seal/util/defines.h"
#include "seal/util/hash.h"

namespace seal {

/// Schemes. This library computes with CKKS only.
enum class scheme_type : std::uint8_t { none = 0, bfv = 1, ckks = 2, bgv = 3 };

/// Name of a set of parameters.
using parms_id_type = util::HashFunction::hash_block_type;
inline constexpr parms_id_type parms_id_zero = util::HashFunction::hash_zero_block;

/// Scheme, ring degree, primes and plaintext modulus.
class EncryptionParameters {
 public:
  EncryptionParameters(scheme_type scheme = scheme_type::none) : scheme_(scheme) { compute_parms_id(); }
  /// @throws std::invalid_argument for a number that names no scheme
  EncryptionParameters(std::uint8_t scheme);

  /// @throws std::logic_error without a scheme, except for 0
  void set_poly_modulus_degree(std::size_t poly_modulus_degree);
  /// @throws std::logic_error without a scheme, except for no primes; std::invalid_argument for more than 256
  void set_coeff_modulus(const std::vector<Modulus>& coeff_modulus);
  /// @throws std::logic_error unless the scheme is BFV or BGV, except for 0
  void set_plain_modulus(const Modulus& plain_modulus);
  void set_plain_modulus(std::uint64_t plain_modulus) { set_plain_modulus(Modulus(plain_modulus)); }
  /// Where keys and ciphertexts take randomness from; `UniformRandomGeneratorFactory::DefaultFactory` for
  /// none.
  void set_random_generator(std::shared_ptr<UniformRandomGeneratorFactory> random_generator) noexcept {
    random_generator_ = std::move(random_generator);
  }

  [[nodiscard]] scheme_type scheme() const noexcept { return scheme_; }
  [[nodiscard]] std::size_t poly_modulus_degree() const noexcept { return poly_modulus_degree_; }
  [[nodiscard]] const std::vector<Modulus>& coeff_modulus() const noexcept { return coeff_modulus_; }
  [[nodiscard]] const Modulus& plain_modulus() const noexcept { return plain_modulus_; }
  [[nodiscard]] std::shared_ptr<UniformRandomGeneratorFactory> random_generator() const noexcept {
    return random_generator_;
  }
  [[nodiscard]] const parms_id_type& parms_id() const noexcept { return parms_id_; }

  /// Equal parameters; generators are not compared.
  [[nodiscard]] bool operator==(const EncryptionParameters& other) const noexcept {
    return parms_id_ == other.parms_id_;
  }
  [[nodiscard]] bool operator!=(const EncryptionParameters& other) const noexcept {
    return !(*this == other);
  }

  [[nodiscard]] std::streamoff save_size(
      compr_mode_type compr_mode = Serialization::compr_mode_default) const;
  std::streamoff save(std::ostream& stream,
                      compr_mode_type compr_mode = Serialization::compr_mode_default) const;
  std::streamoff load(std::istream& stream);
  std::streamoff save(seal_byte* out, std::size_t size,
                      compr_mode_type compr_mode = Serialization::compr_mode_default) const;
  std::streamoff load(const seal_byte* in, std::size_t size);

 private:
  void compute_parms_id();

  scheme_type scheme_;
  std::size_t poly_modulus_degree_ = 0;
  std::vector<Modulus> coeff_modulus_;
  Modulus plain_modulus_;
  std::shared_ptr<UniformRandomGeneratorFactory> random_generator_;
  parms_id_type parms_id_ = parms_id_zero;
};

}  // namespace seal

/// Hashes for unordered containers.
namespace std {

template <>
struct hash<seal::parms_id_type> {
  std::size_t operator()(const seal::parms_id_type& parms_id) const {
    std::uint64_t result = 17;
    for (const std::uint64_t word : parms_id) result = 31 * result + word;
    return static_cast<std::size_t>(result);
  }
};

template <>
struct hash<seal::EncryptionParameters> {
  std::size_t operator()(const seal::EncryptionParameters& parms) const {
    return hash<seal::parms_id_type>()(parms.parms_id());
  }
};

}  // namespace std
