// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <span>
#include <vector>

#include "halocline/core/error.hpp"
#include "halocline/params/primes.hpp"
#include "halocline/seal_format/chain.hpp"
#include "halocline/seal_format/read.hpp"
#include "halocline/seal_format/write.hpp"

/// Small objects of SEAL, and what must hold for any bytes given as one.
namespace halocline::test {

/// Ring degree 8 with three primes.
[[nodiscard]] inline const seal_format::modulus_chain& small_chain() {
  static const seal_format::modulus_chain made({seal_format::scheme::ckks, 8, {17, 97, 113}, 0});
  return made;
}

/// Ring degree 1024, primes of 60, 36, 50 and 55 bits: digits are larger and smaller than other primes.
[[nodiscard]] inline seal_format::parameters thousand_parameters() {
  constexpr std::uint64_t n = 1024;
  seal_format::parameters made{seal_format::scheme::ckks, n, {}, 0};
  for (const double bits : {60.0, 36.0, 50.0, 55.0}) {
    made.primes.push_back(params::primes_below(bits, 1, 2 * n).front());
  }
  return made;
}

/// Random residues below the first `primes` primes of a chain.
[[nodiscard]] inline std::vector<std::uint64_t> seal_residues(const seal_format::modulus_chain& of,
                                                              std::size_t polynomials, std::size_t primes,
                                                              std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> out;
  for (std::size_t limb = 0; limb < polynomials * primes; ++limb) {
    for (std::size_t j = 0; j < of.n(); ++j) out.push_back(random() % of.top().primes[limb % primes]);
  }
  return out;
}

[[nodiscard]] inline seal_format::ciphertext sample_seal_ciphertext(const seal_format::modulus_chain& of,
                                                                    std::uint32_t size, std::uint32_t primes,
                                                                    std::uint64_t seed = 1) {
  seal_format::ciphertext made;
  made.id = of.id(primes);
  made.size = size;
  made.n = of.n();
  made.primes = primes;
  made.scale = 1024.0;
  made.data = seal_residues(of, size, primes, seed);
  return made;
}

/// Two polynomials, a seed for the second one.
[[nodiscard]] inline seal_format::ciphertext sample_seeded(const seal_format::modulus_chain& of,
                                                           std::uint32_t primes,
                                                           seal_format::seed_kind kind) {
  seal_format::ciphertext made = sample_seal_ciphertext(of, 2, primes);
  made.data.resize(made.data.size() / 2);
  made.second.emplace();
  made.second->kind = kind;
  for (std::size_t i = 0; i < 64; ++i) made.second->bytes[i] = static_cast<std::uint8_t>(i);
  return made;
}

[[nodiscard]] inline seal_format::plaintext sample_seal_plaintext(const seal_format::modulus_chain& of,
                                                                  std::uint32_t primes) {
  return {of.id(primes), primes * of.n(), 1024.0, seal_residues(of, 1, primes, 4)};
}

/// Keys with one entry in the middle; each digit full or seeded.
[[nodiscard]] inline seal_format::switch_keys sample_switch_keys(const seal_format::modulus_chain& of,
                                                                 std::size_t entries, bool seeded) {
  seal_format::switch_keys made;
  made.id = of.id(of.key_primes());
  made.keys.resize(entries);
  for (std::uint32_t j = 0; j < of.data_primes(); ++j) {
    made.keys[entries / 2].push_back(
        seeded ? sample_seeded(of, of.key_primes(), seal_format::seed_kind::shake256)
               : sample_seal_ciphertext(of, 2, of.key_primes(), 7 + j));
  }
  return made;
}

/// Limits for small inputs.
[[nodiscard]] inline seal_format::read_limits small_limits() { return {1 << 24, 1 << 20, 32}; }

namespace detail {

/// Whether `read` takes the bytes; aborts unless they then come back, where they are not packed.
template <typename ReadT, typename UseT>
bool takes(std::span<const std::byte> bytes, const ReadT& read, const UseT& use) {
  try {
    const auto object = read(bytes, small_limits());
    const seal_format::object_header head = seal_format::peek(bytes);
    const std::vector<std::byte> again =
        seal_format::write(object, {seal_format::compression::none, head.minor});
    if (head.compression == 0 && !std::equal(again.begin(), again.end(), bytes.begin(), bytes.end())) {
      std::abort();
    }
    try {
      use(object);
    } catch (const error&) {
      return true;  // an object, but none of this parameter set
    }
    return true;
  } catch (const error&) {
    return false;
  }
}

}  // namespace detail

/// Reads bytes as each kind and checks and expands what was read; aborts unless what is accepted comes back
/// byte for byte.
/// @return how many readers accepted them
inline int check_any_seal_object(std::span<const std::byte> bytes) {
  namespace format = seal_format;
  const format::modulus_chain& chain = small_chain();
  int taken = 0;
  taken += detail::takes(bytes, format::read_parameters,
                         [](const format::parameters& p) { (void)format::modulus_chain(p); });
  taken += detail::takes(bytes, format::read_ciphertext, [&](format::ciphertext c) {
    chain.check(c);
    chain.expand(c);
    chain.check(c);
  });
  taken += detail::takes(bytes, format::read_plaintext, [&](const format::plaintext& p) {
    chain.check(p);
    chain.check_secret_key(p);
  });
  taken += detail::takes(bytes, format::read_switch_keys, [&](format::switch_keys k) {
    chain.check(k, true);
    chain.expand(k);
    chain.check(k, false);
  });
  return taken;
}

}  // namespace halocline::test
