// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

/// Objects of Microsoft SEAL 4.x as its files have them: plain structures without rings, devices or keys of
/// this library. `read.hpp` and `write.hpp` turn them into bytes and back; `chain.hpp` says whether one
/// belongs to a parameter set.
namespace halocline::seal_format {

/// Limits that SEAL has, and with it the reader.
inline constexpr std::uint64_t max_degree = 131072;
inline constexpr std::size_t max_primes = 256;
inline constexpr unsigned max_prime_bits = 61;
inline constexpr std::uint64_t min_ciphertext_size = 2;
inline constexpr std::uint64_t max_ciphertext_size = 16;

/// Name of one set of primes: BLAKE2b with 32 bytes over scheme, degree, primes and plain modulus.
using id_words = std::array<std::uint64_t, 4>;

/// Schemes, as files number them.
enum class scheme : std::uint8_t { none = 0, bfv = 1, ckks = 2, bgv = 3 };

/// Encryption parameters: the primes in the order of the file, the special prime last.
struct parameters {
  scheme kind = scheme::ckks;
  std::uint64_t n = 0;  ///< ring degree
  std::vector<std::uint64_t> primes;
  std::uint64_t plain_modulus = 0;  ///< 0 in CKKS

  bool operator==(const parameters&) const = default;
};

/// Generator that expands a seed.
enum class seed_kind : std::uint8_t { blake2xb = 1, shake256 = 2 };

/// What stands for the second polynomial of a seeded object.
struct seed {
  seed_kind kind = seed_kind::blake2xb;
  std::array<std::uint8_t, 64> bytes{};

  bool operator==(const seed&) const = default;
};

/// A ciphertext, and one entry of a key. Residues in the order [polynomial][prime][coefficient].
struct ciphertext {
  id_words id{};
  bool is_ntt = true;
  std::uint64_t size = 0;    ///< polynomials, those of a seed included; 0: none yet
  std::uint64_t n = 0;       ///< coefficients
  std::uint64_t primes = 0;  ///< primes
  double scale = 1.0;
  std::uint64_t correction_factor = 1;  ///< of BGV; 1 in CKKS
  std::vector<std::uint64_t> data;      ///< size * primes * n words, or primes * n beside a seed
  std::optional<seed> second;           ///< then size is 2 and the second polynomial is this

  bool operator==(const ciphertext&) const = default;
};

/// A plaintext, or a secret key: a plaintext over all primes.
struct plaintext {
  id_words id{};
  std::uint64_t coefficients = 0;  ///< words: n * primes in CKKS
  double scale = 1.0;
  std::vector<std::uint64_t> data;

  bool operator==(const plaintext&) const = default;
};

/// Relinearization or Galois keys. Entry i of relinearization keys switches from s^(i + 2), that of Galois
/// keys from s(X^(2 i + 1)); an entry has one ciphertext over all primes for each data prime, or is absent
/// (empty).
struct switch_keys {
  id_words id{};
  std::vector<std::vector<ciphertext>> keys;

  bool operator==(const switch_keys&) const = default;
};

}  // namespace halocline::seal_format
