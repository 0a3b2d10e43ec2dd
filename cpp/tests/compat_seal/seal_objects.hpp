// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>
#include <sstream>
#include <vector>

#include "seal/ciphertext.h"
#include "seal/context.h"
#include "seal/detail/access.h"
#include "seal/galoiskeys.h"
#include "seal/plaintext.h"
#include "seal/relinkeys.h"
#include "seal/secretkey.h"
#include "seal/valcheck.h"

/// Small objects for tests of containers and files: random residues, not encryptions of anything.
namespace seal::test {

/// CKKS, ring degree 8 with primes of 20, 21 and 22 bits.
[[nodiscard]] inline EncryptionParameters small_parameters(scheme_type scheme = scheme_type::ckks) {
  EncryptionParameters parms(scheme);
  parms.set_poly_modulus_degree(8);
  parms.set_coeff_modulus(CoeffModulus::Create(8, {20, 21, 22}));
  if (scheme != scheme_type::ckks) parms.set_plain_modulus(257);
  return parms;
}

[[nodiscard]] inline SEALContext small_context(scheme_type scheme = scheme_type::ckks) {
  return SEALContext(small_parameters(scheme), true, sec_level_type::none);
}

/// Fills words with residues modulo the primes.
inline void fill(std::uint64_t* words, std::size_t polynomials, const EncryptionParameters& parms,
                 unsigned seed) {
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i < polynomials; ++i) {
    for (const Modulus& prime : parms.coeff_modulus()) {
      for (std::size_t j = 0; j < parms.poly_modulus_degree(); ++j) *words++ = random() % prime.value();
    }
  }
}

[[nodiscard]] inline Ciphertext sample_ciphertext(const SEALContext& context, std::size_t size = 2,
                                                  unsigned seed = 1) {
  Ciphertext made(context);
  made.resize(size);
  fill(made.data(), size, context.first_context_data()->parms(), seed);
  made.is_ntt_form() = true;
  made.scale() = 1024.0;
  return made;
}

[[nodiscard]] inline Plaintext sample_plaintext(const SEALContext& context, unsigned seed = 2) {
  const EncryptionParameters& parms = context.first_context_data()->parms();
  Plaintext made(parms.poly_modulus_degree() * parms.coeff_modulus().size());
  fill(made.data(), 1, parms, seed);
  made.parms_id() = context.first_parms_id();
  made.scale() = 1024.0;
  return made;
}

[[nodiscard]] inline SecretKey sample_secret_key(const SEALContext& context) {
  const EncryptionParameters& parms = context.key_context_data()->parms();
  SecretKey made;
  made.data().resize(parms.poly_modulus_degree() * parms.coeff_modulus().size());
  fill(made.data().data(), 1, parms, 3);
  made.parms_id() = context.key_parms_id();
  return made;
}

[[nodiscard]] inline PublicKey sample_public_key(const SEALContext& context, unsigned seed = 4) {
  PublicKey made;
  made.data().resize(context, context.key_parms_id(), 2);
  fill(made.data().data(), 2, context.key_context_data()->parms(), seed);
  made.data().is_ntt_form() = true;
  return made;
}

/// Keys at these indices.
template <typename KeysT>
[[nodiscard]] KeysT sample_keys(const SEALContext& context, const std::vector<std::size_t>& indices) {
  KeysT made;
  made.parms_id() = context.key_parms_id();
  const std::size_t digits = context.first_context_data()->parms().coeff_modulus().size();
  for (const std::size_t index : indices) {
    if (made.data().size() <= index) made.data().resize(index + 1);
    for (std::size_t i = 0; i < digits; ++i) {
      made.data()[index].push_back(sample_public_key(context, static_cast<unsigned>(10 * index + i)));
    }
  }
  return made;
}

template <typename ObjectT>
[[nodiscard]] std::string saved(const ObjectT& object, compr_mode_type how = compr_mode_type::none) {
  std::ostringstream out;
  object.save(out, how);
  return out.str();
}

[[nodiscard]] inline const seal_byte* bytes_of(const std::string& text) {
  return reinterpret_cast<const seal_byte*>(text.data());
}

[[nodiscard]] inline std::vector<compr_mode_type> compressions() {
  std::vector<compr_mode_type> made;
  for (const auto how : {compr_mode_type::none, compr_mode_type::zlib, compr_mode_type::zstd}) {
    if (Serialization::IsSupportedComprMode(how)) made.push_back(how);
  }
  return made;
}

/// Loads any bytes as an object: refused with the exceptions that SEAL documents, or valid and the same
/// again. Aborts otherwise.
template <typename ObjectT>
void check_any_file(const std::string& file, const SEALContext& context) {
  ObjectT loaded;
  try {
    loaded.load(context, bytes_of(file), file.size());
  } catch (const std::logic_error&) {  // std::invalid_argument is one
    return;
  }
  if (!is_valid_for(loaded, context)) std::abort();
  const std::string copy = saved(loaded);
  ObjectT again;
  again.load(context, bytes_of(copy), copy.size());
  if (saved(again) != copy) std::abort();
}

/// The same for what needs no context.
template <typename ObjectT>
void check_any_plain_file(const std::string& file) {
  ObjectT loaded;
  try {
    loaded.load(bytes_of(file), file.size());
  } catch (const std::logic_error&) {
    return;
  }
  const std::string copy = saved(loaded);
  ObjectT again;
  again.load(bytes_of(copy), copy.size());
  if (saved(again) != copy) std::abort();
}

}  // namespace seal::test
