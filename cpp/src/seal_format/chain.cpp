// SPDX-License-Identifier: Apache-2.0
#include "halocline/seal_format/chain.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <set>
#include <utility>

#include "halocline/core/expects.hpp"
#include "halocline/seal_format/blake2.hpp"
#include "halocline/seal_format/expand.hpp"

namespace halocline::seal_format {
namespace {

/// Powers of the secret that relinearization keys may switch: products have up to 16 polynomials.
constexpr std::size_t max_relin_entries = max_ciphertext_size - 2;

void check_primes(const parameters& top) {
  HALOCLINE_EXPECTS(!top.primes.empty() && top.primes.size() <= max_primes, invalid_argument,
                    "SEAL parameters: ", top.primes.size(), " primes; expected 1 to ", max_primes);
  const std::set<std::uint64_t> different(top.primes.begin(), top.primes.end());
  HALOCLINE_EXPECTS(different.size() == top.primes.size(), invalid_argument,
                    "SEAL parameters: a prime occurs twice; expected different ones");
  for (const std::uint64_t prime : top.primes) {
    HALOCLINE_EXPECTS(
        prime > 2 && std::bit_width(prime) <= static_cast<int>(max_prime_bits) && prime % (2 * top.n) == 1,
        invalid_argument, "SEAL parameters: modulus ", prime, "; expected a prime of at most ",
        max_prime_bits, " bits that is 1 modulo ", 2 * top.n);
  }
}

/// @throws corrupt_data unless the scale is a positive number
void check_scale(double scale, const char* what) {
  HALOCLINE_EXPECTS(std::isfinite(scale) && scale > 0, corrupt_data, what, ": scale ", scale,
                    "; expected a positive number");
}

}  // namespace

id_words parms_id(const parameters& of) {
  std::vector<std::uint64_t> words{static_cast<std::uint64_t>(of.kind), of.n};
  words.insert(words.end(), of.primes.begin(), of.primes.end());
  words.push_back(of.plain_modulus);
  std::vector<std::uint8_t> bytes(words.size() * sizeof(std::uint64_t));
  std::memcpy(bytes.data(), words.data(), bytes.size());
  std::array<std::uint8_t, sizeof(id_words)> digest;
  blake2b(digest, bytes);
  id_words id;
  std::memcpy(id.data(), digest.data(), sizeof id);
  return id;
}

modulus_chain::modulus_chain(parameters top) : top_(std::move(top)) {
  HALOCLINE_EXPECTS(top_.kind == scheme::ckks, invalid_argument, "SEAL parameters: scheme ",
                    static_cast<unsigned>(top_.kind), "; expected 2, CKKS, the only one that is supported");
  HALOCLINE_EXPECTS(std::has_single_bit(top_.n) && top_.n >= 2 && top_.n <= max_degree, invalid_argument,
                    "SEAL parameters: ring degree ", top_.n, "; expected a power of two from 2 to ",
                    max_degree);
  HALOCLINE_EXPECTS(top_.plain_modulus == 0, invalid_argument, "SEAL parameters: plain modulus ",
                    top_.plain_modulus, " in CKKS; expected 0");
  check_primes(top_);
  parameters part = top_;
  ids_.resize(top_.primes.size());
  for (std::size_t count = ids_.size(); count > 0; --count) {
    part.primes.resize(count);
    ids_[count - 1] = parms_id(part);
  }
}

std::uint32_t modulus_chain::primes_of(const id_words& id) const {
  const auto found = std::find(ids_.begin(), ids_.end(), id);
  HALOCLINE_EXPECTS(found != ids_.end(), invalid_argument,
                    "SEAL object: its parms_id is that of another parameter set; load it with the parameters "
                    "that it was made with");
  return static_cast<std::uint32_t>(found - ids_.begin()) + 1;
}

void modulus_chain::check_residues(const std::vector<std::uint64_t>& data, std::uint32_t primes,
                                   const char* what) const {
  for (std::size_t limb = 0; limb * n() < data.size(); ++limb) {
    const std::uint64_t q = top_.primes[limb % primes];
    const auto begin = data.begin() + static_cast<std::ptrdiff_t>(limb * n());
    const auto wrong = std::find_if(begin, begin + static_cast<std::ptrdiff_t>(n()),
                                    [q](std::uint64_t x) { return x >= q; });
    HALOCLINE_EXPECTS(wrong == begin + static_cast<std::ptrdiff_t>(n()), corrupt_data, what, ": residue ",
                      *wrong, " at word ", wrong - data.begin(), "; expected less than its prime ", q);
  }
}

void modulus_chain::check_polynomials(const ciphertext& object, std::uint32_t primes,
                                      const char* what) const {
  HALOCLINE_EXPECTS(object.n == n() && object.primes == primes, corrupt_data, what, ": ", object.primes,
                    " primes of ", object.n, " coefficients; its parms_id says ", primes, " of ", n());
  HALOCLINE_EXPECTS(object.is_ntt, corrupt_data, what, ": coefficients; expected NTT form, as CKKS has");
  HALOCLINE_EXPECTS(object.correction_factor == 1, corrupt_data, what, ": correction factor ",
                    object.correction_factor, "; expected 1");
  HALOCLINE_EXPECTS(object.size >= min_ciphertext_size && object.size <= max_ciphertext_size, corrupt_data,
                    what, ": ", object.size, " polynomials; expected ", min_ciphertext_size, " to ",
                    max_ciphertext_size);
  const std::uint64_t there = object.second ? 1 : object.size;
  HALOCLINE_EXPECTS(object.data.size() == there * primes * n() && (!object.second || object.size == 2),
                    corrupt_data, what, ": ", object.data.size(), " words; expected ", there * primes * n());
  check_scale(object.scale, what);
  check_residues(object.data, primes, what);
}

void modulus_chain::check(const ciphertext& object) const {
  const std::uint32_t primes = primes_of(object.id);
  HALOCLINE_EXPECTS(primes <= data_primes(), corrupt_data,
                    "SEAL ciphertext: its parms_id is that of keys; expected one with at most ",
                    data_primes(), " primes");
  check_polynomials(object, primes, "SEAL ciphertext");
}

void modulus_chain::check(const plaintext& object) const {
  const std::uint32_t primes = primes_of(object.id);
  HALOCLINE_EXPECTS(primes <= data_primes(), corrupt_data,
                    "SEAL plaintext: its parms_id is that of keys; expected one with at most ", data_primes(),
                    " primes");
  HALOCLINE_EXPECTS(object.coefficients == primes * n() && object.data.size() == object.coefficients,
                    corrupt_data, "SEAL plaintext: ", object.data.size(), " words; expected ", primes * n());
  check_scale(object.scale, "SEAL plaintext");
  check_residues(object.data, primes, "SEAL plaintext");
}

void modulus_chain::check_secret_key(const plaintext& key) const {
  HALOCLINE_EXPECTS(primes_of(key.id) == key_primes(), corrupt_data,
                    "SEAL secret key: its parms_id is that of ciphertexts; expected that of all primes");
  HALOCLINE_EXPECTS(key.coefficients == key_primes() * n() && key.data.size() == key.coefficients,
                    corrupt_data, "SEAL secret key: ", key.data.size(), " words; expected ",
                    key_primes() * n());
  check_residues(key.data, key_primes(), "SEAL secret key");
}

void modulus_chain::check_public_key(const ciphertext& key) const {
  HALOCLINE_EXPECTS(primes_of(key.id) == key_primes(), corrupt_data,
                    "SEAL key: its parms_id is that of ciphertexts; expected that of all primes");
  check_polynomials(key, key_primes(), "SEAL key");
  HALOCLINE_EXPECTS(key.size == 2, corrupt_data, "SEAL key: ", key.size, " polynomials; expected 2");
}

void modulus_chain::check(const switch_keys& object, bool galois) const {
  HALOCLINE_EXPECTS(primes_of(object.id) == key_primes(), corrupt_data,
                    "SEAL keys: their parms_id is that of ciphertexts; expected that of all primes");
  const std::uint64_t most = galois ? n() : max_relin_entries;
  HALOCLINE_EXPECTS(object.keys.size() <= most, corrupt_data, "SEAL keys: ", object.keys.size(),
                    " entries; expected at most ", most, " of ", galois ? "Galois" : "relinearization",
                    " keys");
  HALOCLINE_EXPECTS(object.keys.empty() || key_primes() > 1, corrupt_data,
                    "SEAL keys: keys of parameters without a special prime; expected none");
  for (const std::vector<ciphertext>& digits : object.keys) {
    HALOCLINE_EXPECTS(digits.empty() || digits.size() == data_primes(), corrupt_data, "SEAL keys: a key of ",
                      digits.size(), " digits; expected ", data_primes());
    for (const ciphertext& digit : digits) check_public_key(digit);
  }
}

void modulus_chain::expand(ciphertext& object) const {
  if (!object.second) return;
  const std::span<const std::uint64_t> primes = std::span(top_.primes).first(primes_of(object.id));
  object.data.reserve(2 * object.data.size());
  append_expanded(*object.second, primes, n(), object.data);
  object.second.reset();
}

void modulus_chain::expand(switch_keys& object) const {
  for (std::vector<ciphertext>& digits : object.keys) {
    for (ciphertext& digit : digits) expand(digit);
  }
}

}  // namespace halocline::seal_format
