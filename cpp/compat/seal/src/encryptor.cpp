// SPDX-License-Identifier: Apache-2.0
#include "seal/encryptor.h"

#include "engines.hpp"
#include "seal/valcheck.h"

namespace seal {
namespace {

/// The parameters of an encryption of zero.
std::shared_ptr<const SEALContext::ContextData> data_at(const SEALContext& context,
                                                        const parms_id_type& parms_id) {
  auto found = context.get_context_data(parms_id);
  if (!found || found->chain_index() > context.first_context_data()->chain_index()) {
    throw std::invalid_argument("parms_id is not valid for encryption parameters");
  }
  return found;
}

void check_plain(const Plaintext& plain, const SEALContext& context) {
  if (!is_metadata_valid_for(plain, context) || !is_buffer_valid(plain)) {
    throw std::invalid_argument("plain is not valid for encryption parameters");
  }
  if (!plain.is_ntt_form()) throw std::invalid_argument("plain must be in NTT form");
}

}  // namespace

Encryptor::Encryptor(const SEALContext& context, const PublicKey& public_key) : context_(context) {
  halocline_detail::check_parameters(context_);
  set_public_key(public_key);
}
Encryptor::Encryptor(const SEALContext& context, const SecretKey& secret_key) : context_(context) {
  halocline_detail::check_parameters(context_);
  set_secret_key(secret_key);
}
Encryptor::Encryptor(const SEALContext& context, const PublicKey& public_key, const SecretKey& secret_key)
    : context_(context) {
  halocline_detail::check_parameters(context_);
  set_public_key(public_key);
  set_secret_key(secret_key);
}

void Encryptor::set_public_key(const PublicKey& public_key) {
  if (!is_valid_for(public_key, context_)) {
    throw std::invalid_argument("public key is not valid for encryption parameters");
  }
  public_key_ = public_key;
}
void Encryptor::set_secret_key(const SecretKey& secret_key) {
  if (!is_valid_for(secret_key, context_)) {
    throw std::invalid_argument("secret key is not valid for encryption parameters");
  }
  secret_key_ = secret_key;
}

void Encryptor::zero_public(parms_id_type parms_id, Ciphertext& destination) const {
  if (public_key_.parms_id() == parms_id_zero) throw std::logic_error("public key is not set");
  const auto at = data_at(context_, parms_id);
  const auto primes = static_cast<std::uint32_t>(at->parms().coeff_modulus().size());
  const std::shared_ptr<halocline_detail::queue> on = halocline_detail::engines::of(context_)->mine("");
  const halocline_detail::device_ciphertext key = halocline_detail::on_queue(on, public_key_.data());
  halocline_detail::randomness random(context_);
  std::shared_ptr<const halocline_detail::device_words> made;
  {
    const std::scoped_lock lock(on->mutex);
    made = std::make_shared<halocline_detail::queue_words<halocline_detail::core::ciphertext>>(
        on,
        halocline_detail::core::client(on->ctx, random.source()).encrypt_zero(key->value().parts, primes));
  }
  halocline_detail::ciphertext_access::set_shape(destination, parms_id, 2, at->parms().poly_modulus_degree(),
                                                 primes, 1.0, true);
  halocline_detail::ciphertext_access::device(destination).set_newer(std::move(made));
}

void Encryptor::zero_symmetric(parms_id_type parms_id, bool keep_seed, Ciphertext& destination) const {
  if (secret_key_.parms_id() == parms_id_zero) throw std::logic_error("secret key is not set");
  const auto at = data_at(context_, parms_id);
  const auto primes = static_cast<std::uint32_t>(at->parms().coeff_modulus().size());
  const DynArray<std::uint64_t>& key = secret_key_.data().dyn_array();
  const std::shared_ptr<halocline_detail::queue> on = halocline_detail::engines::of(context_)->mine("");
  halocline_detail::randomness random(context_);
  halocline_detail::set_zero_encryption(*on, random.source(), {key.cbegin(), key.size()}, parms_id, primes,
                                        keep_seed, destination);
}

void Encryptor::add_message(const Plaintext& plain, Ciphertext& destination) const {
  const DynArray<std::uint64_t>& message = plain.dyn_array();
  halocline_detail::ciphertext_access::device(destination)
      .to_host(halocline_detail::ciphertext_access::words(destination), 2 * message.size());
  halocline_detail::ciphertext_access::device(destination).drop();
  std::uint64_t* word = halocline_detail::ciphertext_access::words(destination).begin();
  const std::uint64_t* from = message.cbegin();
  const std::size_t n = destination.poly_modulus_degree();
  for (const Modulus& modulus : context_.get_context_data(plain.parms_id())->parms().coeff_modulus()) {
    const std::uint64_t q = modulus.value();
    for (std::size_t i = 0; i < n; ++i, ++word, ++from) {
      const std::uint64_t sum = *word + *from;
      *word = sum >= q ? sum - q : sum;
    }
  }
  destination.scale() = plain.scale();
}

void Encryptor::encrypt(const Plaintext& plain, Ciphertext& destination, MemoryPoolHandle pool) const {
  if (public_key_.parms_id() == parms_id_zero) throw std::logic_error("public key is not set");
  check_plain(plain, context_);
  halocline_detail::check_pool(pool);
  zero_public(plain.parms_id(), destination);
  add_message(plain, destination);
}

Serializable<Ciphertext> Encryptor::encrypt(const Plaintext& plain, MemoryPoolHandle pool) const {
  halocline_detail::check_pool(pool);
  Ciphertext made(pool);
  encrypt(plain, made, pool);
  return halocline_detail::serializable_access::make(std::move(made));
}

void Encryptor::encrypt_zero(parms_id_type parms_id, Ciphertext& destination, MemoryPoolHandle pool) const {
  halocline_detail::check_pool(pool);
  zero_public(parms_id, destination);
}

Serializable<Ciphertext> Encryptor::encrypt_zero(parms_id_type parms_id, MemoryPoolHandle pool) const {
  halocline_detail::check_pool(pool);
  Ciphertext made(pool);
  zero_public(parms_id, made);
  return halocline_detail::serializable_access::make(std::move(made));
}

void Encryptor::encrypt_symmetric(const Plaintext& plain, Ciphertext& destination,
                                  MemoryPoolHandle pool) const {
  if (secret_key_.parms_id() == parms_id_zero) throw std::logic_error("secret key is not set");
  check_plain(plain, context_);
  halocline_detail::check_pool(pool);
  zero_symmetric(plain.parms_id(), false, destination);
  add_message(plain, destination);
}

Serializable<Ciphertext> Encryptor::encrypt_symmetric(const Plaintext& plain, MemoryPoolHandle pool) const {
  if (secret_key_.parms_id() == parms_id_zero) throw std::logic_error("secret key is not set");
  check_plain(plain, context_);
  halocline_detail::check_pool(pool);
  Ciphertext made(pool);
  zero_symmetric(plain.parms_id(), true, made);
  add_message(plain, made);
  return halocline_detail::serializable_access::make(std::move(made));
}

void Encryptor::encrypt_zero_symmetric(parms_id_type parms_id, Ciphertext& destination,
                                       MemoryPoolHandle pool) const {
  halocline_detail::check_pool(pool);
  zero_symmetric(parms_id, false, destination);
}

Serializable<Ciphertext> Encryptor::encrypt_zero_symmetric(parms_id_type parms_id,
                                                           MemoryPoolHandle pool) const {
  halocline_detail::check_pool(pool);
  Ciphertext made(pool);
  zero_symmetric(parms_id, true, made);
  return halocline_detail::serializable_access::make(std::move(made));
}

}  // namespace seal
