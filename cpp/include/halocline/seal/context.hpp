// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "halocline/backend/backend.hpp"
#include "halocline/ring/context.hpp"
#include "halocline/seal_format/chain.hpp"

namespace halocline::seal {

/// Constants of a division by one prime, see `context::division`.
struct division_plan {
  std::vector<std::uint64_t> inverse;   ///< p^-1 modulo each prime that stays
  std::vector<std::uint64_t> negative;  ///< -p^-1
};

/// A SEAL parameter set on a backend. The ring's primes have SEAL's order, the special prime last; a level is
/// a prefix of them, named by its number of primes. Not thread-safe.
class context {
 public:
  /// @param least_degree smallest ring degree that is taken. Rings below 1024 are never secure: for tests
  /// @throws invalid_argument for parameters that `modulus_chain` refuses, a smaller ring degree, numbers
  ///   that are not prime; insecure_parameters when the primes together have more bits than 128-bit security
  ///   allows, by the table of SEAL (HomomorphicEncryption.org, "Homomorphic encryption standard", 2018,
  ///   table 1) and by that of this library; out_of_memory when the tables exceed the budget
  context(seal_format::parameters of, std::shared_ptr<backend::backend> device, bool allow_insecure = false,
          std::uint64_t least_degree = 1024);

  [[nodiscard]] const seal_format::modulus_chain& chain() const noexcept { return chain_; }
  /// The ring, the backend, the tables of the ring, the memory, and prime i.
  [[nodiscard]] ring::context& ring() noexcept { return ring_; }
  [[nodiscard]] backend::backend& device() const noexcept { return ring_.device(); }
  [[nodiscard]] const backend::ring_tables& tables() const noexcept { return ring_.tables(); }
  [[nodiscard]] memory::runtime& runtime() const noexcept { return ring_.runtime(); }
  [[nodiscard]] std::uint64_t prime(std::uint32_t i) const { return tables().primes.at(i); }
  /// The special prime.
  /// @throws invalid_argument when there is none
  [[nodiscard]] std::uint32_t special() const;
  /// Bits of the product of the first `count` primes.
  [[nodiscard]] double log2_modulus(std::uint32_t count) const;

  /// For the division by prime `divisor` of polynomials that keep the first `count` primes. Kept.
  ///
  /// SEAL's rounding: with h = floor(p / 2) and y = (x + h) mod p, the result is (x - y + h) / p. As p is
  /// odd, y - h is the residue of x modulo p in [-(p - 1)/2, (p - 1)/2].
  [[nodiscard]] const division_plan& division(std::uint32_t divisor, std::uint32_t count);
  /// P modulo the first primes, P the special prime. Kept.
  [[nodiscard]] const std::vector<std::uint64_t>& special_residues();

  /// Primes that a key switch raises `digits` digits to at a time, of `targets`: so many that the raised
  /// digits stay in the cache of the device, one at least.
  [[nodiscard]] std::uint32_t switch_group(std::size_t digits, std::uint32_t targets) const;
  /// Whether a digit is raised to its own prime too, where its limb is known: a device takes few jobs of many
  /// limbs in fewer launches, which saves more than the transform costs.
  [[nodiscard]] bool joins_limbs() const noexcept { return joins_limbs_; }
  /// Bytes that raised digits may take, and `joins_limbs`; for tests.
  void set_switching(std::size_t bytes, bool joined) noexcept {
    digit_bytes_ = bytes;
    joins_limbs_ = joined;
  }

 private:
  seal_format::modulus_chain chain_;
  ring::context ring_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, division_plan> divisions_;
  std::vector<std::uint64_t> special_residues_;
  std::size_t digit_bytes_;
  bool joins_limbs_;
};

}  // namespace halocline::seal
