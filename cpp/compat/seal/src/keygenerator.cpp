// SPDX-License-Identifier: Apache-2.0
#include "seal/keygenerator.h"

#include <sodium.h>

#include <set>

#include "engines.hpp"
#include "halocline/seal/evaluator.hpp"
#include "seal/valcheck.h"

namespace seal {
namespace {

/// Words of a secret, zeroed when they go.
struct secret_words {
  std::vector<std::uint64_t> words;

  explicit secret_words(std::size_t count) : words(count) {}
  secret_words(const secret_words&) = delete;
  secret_words& operator=(const secret_words&) = delete;
  ~secret_words() { sodium_memzero(words.data(), words.size() * sizeof(std::uint64_t)); }
};

std::span<const std::uint64_t> words_of(const SecretKey& key) {
  const DynArray<std::uint64_t>& words = key.data().dyn_array();
  return {words.cbegin(), words.size()};
}

}  // namespace

KeyGenerator::KeyGenerator(const SEALContext& context) : context_(context) {
  halocline_detail::check_parameters(context_);
  const EncryptionParameters& parms = context_.key_context_data()->parms();
  const std::size_t count = parms.poly_modulus_degree() * parms.coeff_modulus().size();
  Plaintext& key = secret_key_.data();
  DynArray<std::uint64_t>& words = halocline_detail::plaintext_access::words(key);
  words.resize(count, false);
  halocline_detail::plaintext_access::set_shape(key, context_.key_parms_id(), count, 1.0);
  const std::shared_ptr<halocline_detail::queue> on = halocline_detail::engines::of(context_)->mine("");
  halocline_detail::randomness random(context_);
  const std::scoped_lock lock(on->mutex);
  halocline_detail::core::client(on->ctx, random.source()).make_secret({words.begin(), count});
}

KeyGenerator::KeyGenerator(const SEALContext& context, const SecretKey& secret_key) : context_(context) {
  halocline_detail::check_parameters(context_);
  if (!is_valid_for(secret_key, context_)) {
    throw std::invalid_argument("secret key is not valid for encryption parameters");
  }
  secret_key_ = secret_key;
}

const SecretKey& KeyGenerator::secret_key() const { return secret_key_; }

PublicKey KeyGenerator::make_public_key(bool keep_seed) const {
  PublicKey made;
  const std::shared_ptr<halocline_detail::queue> on = halocline_detail::engines::of(context_)->mine("");
  halocline_detail::randomness random(context_);
  halocline_detail::set_zero_encryption(*on, random.source(), words_of(secret_key_), context_.key_parms_id(),
                                        on->ctx.chain().key_primes(), keep_seed, made.data());
  return made;
}

void KeyGenerator::create_public_key(PublicKey& destination) const { destination = make_public_key(false); }
Serializable<PublicKey> KeyGenerator::create_public_key() const {
  return halocline_detail::serializable_access::make(make_public_key(true));
}

void KeyGenerator::check_switching() const {
  if (!context_.using_keyswitching()) {
    throw std::logic_error(
        "keyswitching is not supported by the context: the parameters have one prime only");
  }
}

std::vector<PublicKey> KeyGenerator::make_key(const std::uint64_t* from, bool keep_seed) const {
  const std::shared_ptr<halocline_detail::queue> on = halocline_detail::engines::of(context_)->mine("");
  const std::span<const std::uint64_t> secret = words_of(secret_key_);
  std::vector<PublicKey> digits(on->ctx.chain().data_primes());
  halocline_detail::randomness random(context_);
  for (std::uint32_t i = 0; i < digits.size(); ++i) {
    const std::scoped_lock lock(on->mutex);
    halocline::seal_format::seed seed;
    const halocline::seal_format::ciphertext made =
        halocline_detail::core::client(on->ctx, random.source())
            .make_switch_digit(secret, {from, secret.size()}, i, seed);
    halocline_detail::set_contents(made, context_.key_parms_id(), keep_seed ? &seed : nullptr,
                                   digits[i].data());
  }
  return digits;
}

RelinKeys KeyGenerator::make_relin_keys(bool keep_seed) const {
  check_switching();
  const std::span<const std::uint64_t> secret = words_of(secret_key_);
  secret_words square(secret.size());
  {
    const std::shared_ptr<halocline_detail::queue> on = halocline_detail::engines::of(context_)->mine("");
    halocline::ring::random_source none;
    halocline_detail::core::client(on->ctx, none).make_power(secret, 2, square.words);
  }
  RelinKeys made;
  made.data().push_back(make_key(square.words.data(), keep_seed));
  made.parms_id() = context_.key_parms_id();
  return made;
}

void KeyGenerator::create_relin_keys(RelinKeys& destination) { destination = make_relin_keys(false); }
Serializable<RelinKeys> KeyGenerator::create_relin_keys() {
  return halocline_detail::serializable_access::make(make_relin_keys(true));
}

GaloisKeys KeyGenerator::make_galois_keys(const std::vector<std::uint32_t>& elements, bool keep_seed) const {
  check_switching();
  const std::size_t n = context_.key_context_data()->parms().poly_modulus_degree();
  for (const std::uint32_t element : elements) {
    if (element % 2 == 0 || element >= 2 * n) {
      throw std::invalid_argument("Galois element " + std::to_string(element) +
                                  " is not valid; expected an odd number below " + std::to_string(2 * n));
    }
  }
  const std::span<const std::uint64_t> secret = words_of(secret_key_);
  secret_words image(secret.size());
  GaloisKeys made;
  made.data().resize(n);
  for (const std::uint32_t element : std::set<std::uint32_t>(elements.begin(), elements.end())) {
    {
      const std::shared_ptr<halocline_detail::queue> on = halocline_detail::engines::of(context_)->mine("");
      halocline::ring::random_source none;
      halocline_detail::core::client(on->ctx, none).apply_galois(secret, element, image.words);
    }
    made.data()[GaloisKeys::get_index(element)] = make_key(image.words.data(), keep_seed);
  }
  made.parms_id() = context_.key_parms_id();
  return made;
}

std::vector<std::uint32_t> KeyGenerator::elements_of(const std::vector<int>& steps) const {
  const std::size_t n = context_.key_context_data()->parms().poly_modulus_degree();
  std::vector<std::uint32_t> made;
  for (const int step : steps) {
    const auto reach = static_cast<std::int64_t>(n / 2);
    if (step <= -reach || step >= reach) {
      throw std::invalid_argument("step count too large: " + std::to_string(step) +
                                  " steps; expected less than " + std::to_string(reach) +
                                  " in either direction");
    }
    made.push_back(step == 0 ? static_cast<std::uint32_t>(2 * n - 1)
                             : static_cast<std::uint32_t>(halocline_detail::core::galois_element(n, step)));
  }
  return made;
}

std::vector<std::uint32_t> KeyGenerator::all_elements() const {
  const std::size_t n = context_.key_context_data()->parms().poly_modulus_degree();
  std::vector<int> steps{0};
  for (std::size_t step = 1; step < n / 2; step *= 2) {
    steps.push_back(static_cast<int>(step));
    steps.push_back(-static_cast<int>(step));
  }
  return elements_of(steps);
}

void KeyGenerator::create_galois_keys(const std::vector<std::uint32_t>& galois_elts,
                                      GaloisKeys& destination) {
  destination = make_galois_keys(galois_elts, false);
}
Serializable<GaloisKeys> KeyGenerator::create_galois_keys(const std::vector<std::uint32_t>& galois_elts) {
  return halocline_detail::serializable_access::make(make_galois_keys(galois_elts, true));
}
void KeyGenerator::create_galois_keys(const std::vector<int>& steps, GaloisKeys& destination) {
  check_switching();
  destination = make_galois_keys(elements_of(steps), false);
}
Serializable<GaloisKeys> KeyGenerator::create_galois_keys(const std::vector<int>& steps) {
  check_switching();
  return halocline_detail::serializable_access::make(make_galois_keys(elements_of(steps), true));
}
void KeyGenerator::create_galois_keys(GaloisKeys& destination) {
  check_switching();
  destination = make_galois_keys(all_elements(), false);
}
Serializable<GaloisKeys> KeyGenerator::create_galois_keys() {
  check_switching();
  return halocline_detail::serializable_access::make(make_galois_keys(all_elements(), true));
}

}  // namespace seal
