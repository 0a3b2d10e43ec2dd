// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <vector>

#include "halocline/ckks/ciphertext.hpp"
#include "halocline/ckks/encoder.hpp"
#include "halocline/ckks/keys.hpp"
#include "halocline/ckks/plaintext.hpp"

namespace halocline::ckks {

/// Decrypts with the secret key. Both functions throw key_mismatch for a ciphertext of another secret key,
/// whose decryption would be noise.
class decryptor {
 public:
  decryptor(context& ctx, ring::random_source& random) : ctx_(ctx), random_(random) {}

  /// c_0 + c_1 s (+ c_2 s^2) over all primes of the level.
  [[nodiscard]] plaintext decrypt(const ciphertext& source, const secret_key& secret);

  /// Decrypts and decodes. Works on few primes first (the message is far smaller than the modulus) and falls
  /// back to all when a guard prime contradicts; the result does not depend on which happened.
  /// @param flooding_bits adds Gaussian noise of standard deviation 2^flooding_bits to the coefficients
  ///   before decoding, against key recovery from shared results (IND-CPA-D; Li and Micciancio 2021; Li,
  ///   Micciancio, Schultz, Sorrell 2022). 0: none. docs/concepts/sharing_results.md has the width that is
  ///   needed.
  [[nodiscard]] std::vector<std::complex<double>> decrypt_values(const ciphertext& source,
                                                                 const secret_key& secret, encoder& decode,
                                                                 double flooding_bits = 0.0);

 private:
  context& ctx_;
  ring::random_source& random_;
};

}  // namespace halocline::ckks
