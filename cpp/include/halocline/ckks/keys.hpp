// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "halocline/ckks/context.hpp"
#include "halocline/ckks/key_id.hpp"
#include "halocline/ring/poly.hpp"
#include "halocline/ring/sampler.hpp"

namespace halocline::ckks {

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
  backend::uniform_source seed;  ///< expands to a
  key_id id{};                   ///< that of the secret key

  /// Bytes of residues.
  [[nodiscard]] std::size_t bytes() const noexcept { return b.data().size() + a.data().size(); }
};

/// One digit of an evaluation key; `key_layout` says which limbs it has. Of relinearization and Galois keys
/// limb i belongs to prime i of the parameters (special, terminals, mains), cut off after the primes of the
/// key's level, so a key for a lower level is a prefix. Montgomery form: both stored halves are 2^w times the
/// residues of the encryption (w bits of a word); the uniform stream is taken as the stored form of a.
struct evaluation_key_digit {
  memory::buffer b;
  memory::buffer a;                ///< empty when the key is kept seeded
  backend::uniform_source source;  ///< expands to a, whether a is kept or not
};

/// Key that switches from some secret s' to s at levels up to `level`: digit j is an encryption of P s' on
/// the limbs of digit j and of 0 on the others (hybrid key switching; Han and Ki 2020, Bossuat et al. 2021).
/// `galois_element` g > 1: s' = s and the target secret is s(X^(g^-1)), so that the automorphism X -> X^g may
/// be applied after the switch. `galois_element` 1: s' = s^2 (relinearization). `galois_element` 2: the keys
/// of sparse-secret encapsulation, see `encapsulation_element`.
struct evaluation_key {
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
/// and back to s at the level of the key. Even, so that it is no Galois element. Both ways are one key,
/// because they must be of the same s', which nobody keeps. Its digits are plain residues (no Montgomery
/// form):
///
/// * one for each prime q of level 0: (P s on the limb of q) under s', modulo Q_0 and the few special primes
///   `encapsulation_info::to_sparse`, whose product is P;
/// * one for all primes together: P s' on all limbs of the chain, under s, with the special primes
/// `to_dense`.
///   One is enough, since what is switched back is smaller than Q_0 and needs no decomposition.
inline constexpr std::uint64_t encapsulation_element = 2;

/// What a program needs of one key.
struct key_request {
  std::uint64_t galois_element = 1;
  unsigned level = 0;

  bool operator==(const key_request&) const = default;
};

/// Limbs of one digit of a key: those modulo `special` come first in its buffers, then those modulo `chain`.
struct key_digit_layout {
  arith::window special;
  arith::window chain;
  arith::window gadget;  ///< chain primes on whose limbs the digit encrypts P s', and not 0

  /// Limbs of either half.
  [[nodiscard]] unsigned limbs() const noexcept { return special.count + chain.count; }
  /// Views of a buffer that holds one half: one view where the primes follow each other, else two.
  [[nodiscard]] std::vector<backend::limb_view> views(const memory::buffer& half) const;
};

/// Shapes of all digits of a key.
/// @throws invalid_argument when the level does not exist, or an encapsulation key is asked for with
/// parameters
///   that have none
[[nodiscard]] std::vector<key_digit_layout> key_layout(const params::parameters& parameters,
                                                       const key_request& request);

/// Generates keys. Keeps nothing secret itself; every secret or error polynomial in between is zeroed after
/// use.
class key_generator {
 public:
  key_generator(context& ctx, ring::random_source& random) : ctx_(ctx), random_(random) {}

  /// Draws s as the parameters say (uniform ternary or sparse), and after it a fresh identifier.
  [[nodiscard]] secret_key make_secret_key();
  [[nodiscard]] public_key make_public_key(const secret_key& secret);
  /// One key. All digits share a fresh public seed; the number of the digit is its stream.
  /// @throws invalid_argument when the level is above the highest, or the element is even or above 2N
  /// @param seeded keep only the seed of a (half the bytes; expanded inside the key multiplication)
  [[nodiscard]] evaluation_key make_evaluation_key(const secret_key& secret, const key_request& request,
                                                   bool seeded = false);

 private:
  [[nodiscard]] secret_key draw_secret(const params::secret_distribution& distribution);
  [[nodiscard]] evaluation_key make_encapsulation_key(const secret_key& secret, const key_request& request,
                                                      bool seeded);

  context& ctx_;
  ring::random_source& random_;
};

/// Replaces a seeded key's missing halves by their residues (doubles the bytes, saves the expansion at each
/// use).
void expand(context& ctx, evaluation_key& key);

/// Copies a key into another context of equal parameters.
/// @throws invalid_argument when the parameters differ, or the source is a ghost and the target is not
[[nodiscard]] evaluation_key transfer(context& from, const evaluation_key& source, context& to);

}  // namespace halocline::ckks
