// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "halocline/arith/uniform_source.hpp"
#include "halocline/ckks/key_id.hpp"
#include "halocline/ring/poly.hpp"

namespace halocline::ckks {

class context;

/// The secret polynomial s. Lives only on the client: coefficients and NTT form are in buffers that are
/// zeroed when freed. Move-only, no printing, no implicit serialization.
///
/// Both buffers are of class scratch, which no policy ever writes to another tier.
struct secret_key {
  memory::buffer coefficients;  ///< N signed 64-bit integers in {-1, 0, 1}
  ring::poly value;             ///< NTT form modulo all primes (special + whole chain)
  key_id id{};                  ///< public name of the key; unknown for keys of old files
};

/// (b, a) = (-a s + e, a) modulo all chain primes, NTT form: a lower level may use terminal primes that the
/// highest does not, and encryption at a level takes the limbs of its window.
struct public_key {
  ring::poly b;
  ring::poly a;
  arith::uniform_source seed;  ///< expands to a
  key_id id{};                 ///< that of the secret key

  /// Bytes of residues.
  [[nodiscard]] std::size_t bytes() const noexcept { return b.data().size() + a.data().size(); }
};

/// One digit of an evaluation key; `key_layout` says which limbs it has. Of relinearization and Galois keys
/// limb i belongs to prime i of the parameters (special, terminals, mains), cut off after the primes of the
/// key's level, so a key for a lower level is a prefix. Montgomery form: both stored halves are 2^w times the
/// residues of the encryption (w bits of a word); the uniform stream is taken as the stored form of a.
struct evaluation_key_digit {
  memory::buffer b;
  memory::buffer a;              ///< empty when the key is kept seeded
  arith::uniform_source source;  ///< expands to a, whether a is kept or not
};

/// Key that switches from some secret s' to s at levels up to `level`: digit j is an encryption of P s' on
/// the limbs of digit j and of 0 on the others (hybrid key switching; Han and Ki 2020, Bossuat et al. 2021).
/// `galois_element` g > 1: s' = s and the target secret is s(X^(g^-1)), so that the automorphism X -> X^g may
/// be applied after the switch. `galois_element` 1: s' = s^2 (relinearization). `galois_element` 2: the keys
/// of sparse-secret encapsulation, see `encapsulation_element`.
struct evaluation_key {
  ring::home_handle home;  ///< of the buffers
  std::uint64_t galois_element = 1;
  unsigned level = 0;
  std::vector<evaluation_key_digit> digits;
  key_id id{};  ///< that of the secret key

  /// Bytes of residues, and 32 for the seed of each digit whose a is not kept.
  [[nodiscard]] std::size_t bytes() const noexcept;
  /// Limbs of every digit of a relinearization or Galois key.
  [[nodiscard]] static unsigned limb_count(const params::parameters& parameters, unsigned level);
  /// Digits of such a key for levels up to `level`: those that begin within its limbs.
  [[nodiscard]] static unsigned digit_count(const params::parameters& parameters, unsigned level);
};

/// Galois element that names the relinearization key.
inline constexpr std::uint64_t relinearization_element = 1;
/// Names the encapsulation key, with which `evaluator::mod_raise` goes to a fresh sparse secret s' at level 0
/// and back to s at the level of the key. Even, so that it is no Galois element. s' is not kept: a hash of s
/// under a label of its own is the seed that it is drawn from, so that all keys of a client have the same.
/// The digits are plain residues (no Montgomery form):
///
/// * one for each prime q of level 0: (P s on the limb of q) under s', modulo Q_0 and the few special primes
///   `encapsulation_info::to_sparse`, whose product is P;
/// * one for all primes together: P s' on all limbs of the chain, under s, with the special primes
/// `to_dense`.
///   One is enough, since what is switched back is smaller than Q_0 and needs no decomposition.
inline constexpr std::uint64_t encapsulation_element = 2;

/// Names the key that switches from the sparse secret s' of encapsulation to s(X^(g^-1)), for a polynomial
/// that was raised and is below Q_0: one digit, which needs no decomposition (`evaluator::raise_sparse`). The
/// automorphism X -> X^g is applied after the switch, as with Galois keys. Its only digit has the special
/// primes `encapsulation_info::raised_special`, and as chain `raised_scale` and all primes behind. Montgomery
/// form. Even; for g = 1 it is `largest_key_element`, because 2 is the encapsulation key.
/// @param galois_element g, odd and below 2N
[[nodiscard]] std::uint64_t raised_rotation_element(const params::parameters& parameters,
                                                    std::uint64_t galois_element) noexcept;
/// g of such a name, or nothing.
[[nodiscard]] std::optional<std::uint64_t> raised_rotation_of(const params::parameters& parameters,
                                                              std::uint64_t element) noexcept;

/// 4N + 2: no name of a key is larger. It belongs to the raised rotation key of g = 1.
[[nodiscard]] std::uint64_t largest_key_element(const params::parameters& parameters) noexcept;

/// What a program needs of one key.
struct key_request {
  std::uint64_t galois_element = 1;
  unsigned level = 0;

  bool operator==(const key_request&) const = default;
};

/// Replaces a seeded key's missing halves by their residues (doubles the bytes, saves the expansion at each
/// use).
void expand(context& ctx, evaluation_key& key);

/// Copies a key into another context of equal parameters. No other thread may use the key's home meanwhile.
/// @throws invalid_argument when the parameters differ, or the source is a ghost and the target is not
[[nodiscard]] evaluation_key transfer(const evaluation_key& source, context& to);

}  // namespace halocline::ckks
