// SPDX-License-Identifier: Apache-2.0
#include "convert.hpp"

#include <cstring>

#include "halocline/seal_format/expand.hpp"

namespace seal::halocline_detail {
namespace {

/// Replaces the words of an array.
void assign(DynArray<std::uint64_t>& to, const std::vector<std::uint64_t>& from) {
  to.resize(0);
  to.reserve(from.size());
  to.resize(from.size(), false);
  std::copy(from.begin(), from.end(), to.begin());
}

std::vector<std::uint64_t> expanded(const format::ciphertext& from, const SEALContext& context) {
  const auto data = context.get_context_data(from.id);
  if (data == nullptr || data->parms().coeff_modulus().size() != from.primes ||
      data->parms().poly_modulus_degree() != from.n) {
    throw std::logic_error(
        "ciphertext data is invalid: a seed for parameters that the context does not have");
  }
  std::vector<std::uint64_t> primes;
  for (const Modulus& prime : data->parms().coeff_modulus()) primes.push_back(prime.value());
  std::vector<std::uint64_t> words;
  words.reserve(2 * from.data.size());
  words = from.data;
  format::append_expanded(*from.second, primes, from.n, words);
  return words;
}

}  // namespace

format::plaintext to_format(const Plaintext& from) {
  const DynArray<std::uint64_t>& words = from.dyn_array();
  format::plaintext to;
  to.id = from.parms_id();
  to.coefficients = from.coeff_count();
  to.scale = from.scale();
  to.data.assign(words.begin(), words.end());
  return to;
}

format::ciphertext to_format(const Ciphertext& from) {
  const DynArray<std::uint64_t>& words = from.dyn_array();
  const UniformRandomGeneratorInfo* seed = ciphertext_access::seed(from);
  format::ciphertext to;
  to.id = from.parms_id();
  to.is_ntt = from.is_ntt_form();
  to.size = from.size();
  to.n = from.poly_modulus_degree();
  to.primes = from.coeff_modulus_size();
  to.scale = from.scale();
  to.correction_factor = from.correction_factor();
  const bool seeded = seed != nullptr && from.size() == 2;
  to.data.assign(words.begin(), seeded ? words.begin() + words.size() / 2 : words.end());
  if (seeded) {
    to.second.emplace();
    to.second->kind = static_cast<format::seed_kind>(seed->type());
    std::memcpy(to.second->bytes.data(), seed->seed().data(), prng_seed_byte_count);
  }
  return to;
}

void set(Plaintext& to, const format::plaintext& from) {
  plaintext_access::device(to).drop();
  assign(plaintext_access::words(to), from.data);
  plaintext_access::set_shape(to, from.id, from.data.size(), from.scale);
}

void set(Ciphertext& to, const format::ciphertext& from, const SEALContext& context) {
  ciphertext_access::device(to).drop();
  if (from.second) {
    assign(ciphertext_access::words(to), expanded(from, context));
  } else {
    assign(ciphertext_access::words(to), from.data);
  }
  ciphertext_access::set_shape(to, from.id, static_cast<std::size_t>(from.size),
                               static_cast<std::size_t>(from.n), static_cast<std::size_t>(from.primes),
                               from.scale, from.is_ntt);
  to.correction_factor() = from.correction_factor;
}

void expect_parameters(const SEALContext& context) {
  if (context.parameters_set()) return;
  throw std::invalid_argument(std::string("encryption parameters are not set correctly: ") +
                              context.parameter_error_message());
}

std::size_t file_bytes(const Plaintext& of) noexcept { return plaintext_bytes + 8 * of.coeff_count(); }

std::size_t file_bytes(const Ciphertext& of) noexcept {
  const std::size_t polynomial = 8 * of.poly_modulus_degree() * of.coeff_modulus_size();
  const bool seeded = ciphertext_access::seed(of) != nullptr && of.size() == 2;
  return ciphertext_bytes + (seeded ? polynomial + seed_bytes : polynomial * of.size());
}

}  // namespace seal::halocline_detail
