// SPDX-License-Identifier: Apache-2.0
#include "seal/decryptor.h"

#include "engines.hpp"
#include "seal/valcheck.h"

namespace seal {

Decryptor::Decryptor(const SEALContext& context, const SecretKey& secret_key) : context_(context) {
  halocline_detail::check_parameters(context_);
  if (!is_valid_for(secret_key, context_)) {
    throw std::invalid_argument("secret key is not valid for encryption parameters");
  }
  secret_key_ = secret_key;
}

void Decryptor::decrypt(const Ciphertext& encrypted, Plaintext& destination) {
  if (!is_metadata_valid_for(encrypted, context_)) {
    throw std::invalid_argument("encrypted is not valid for encryption parameters");
  }
  if (encrypted.size() < SEAL_CIPHERTEXT_SIZE_MIN) throw std::invalid_argument("encrypted is empty");
  if (!encrypted.is_ntt_form()) throw std::invalid_argument("encrypted must be in NTT form");
  const std::size_t primes = encrypted.coeff_modulus_size();
  const std::size_t count = primes * encrypted.poly_modulus_degree();
  const DynArray<std::uint64_t>& from = encrypted.dyn_array();
  if (from.size() != count * encrypted.size()) {
    throw std::invalid_argument("encrypted is not valid for encryption parameters");
  }
  DynArray<std::uint64_t>& words = halocline_detail::plaintext_access::words(destination);
  halocline_detail::plaintext_access::device(destination).drop();
  words.resize(count, false);
  halocline_detail::plaintext_access::set_shape(destination, encrypted.parms_id(), count, encrypted.scale());
  const DynArray<std::uint64_t>& key = std::as_const(secret_key_).data().dyn_array();
  const std::shared_ptr<halocline_detail::queue> on = halocline_detail::engines::of(context_)->mine("");
  halocline::ring::random_source none;
  halocline_detail::core::client(on->ctx, none)
      .decrypt({from.cbegin(), from.size()}, static_cast<std::uint32_t>(encrypted.size()),
               static_cast<std::uint32_t>(primes), {key.cbegin(), key.size()}, {words.begin(), count});
}

int Decryptor::invariant_noise_budget(const Ciphertext&) {
  throw std::logic_error("unsupported scheme: the invariant noise budget is a notion of BFV and BGV");
}

}  // namespace seal
