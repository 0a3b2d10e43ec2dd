// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "halocline/backend/descriptors.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/keys.hpp"
#include "halocline/ring/sampler.hpp"

namespace halocline::ckks {

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
///   parameters that have none
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
  [[nodiscard]] secret_key draw_secret(const params::secret_distribution& distribution,
                                       ring::random_source& random);
  [[nodiscard]] secret_key derive_sparse(const secret_key& secret);
  [[nodiscard]] evaluation_key make_encapsulation_key(const secret_key& secret, const key_request& request,
                                                      bool seeded);
  [[nodiscard]] evaluation_key make_raised_key(const secret_key& secret, const key_request& request,
                                               bool seeded);

  context& ctx_;
  ring::random_source& random_;
};

}  // namespace halocline::ckks
