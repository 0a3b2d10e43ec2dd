// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Parameters of private information retrieval over Z_q[X] / (X^N + 1): a client sends one packed query, the
/// server expands it, multiplies it with the database and selects one plaintext (OnionPIRv2, ePrint
/// 2025/1142). docs/concepts/retrieval_noise.md derives the noise.
namespace halocline::pir {

/// The ring and the plaintexts of a scheme: public, unchecked.
struct literal {
  std::string name{};
  unsigned log_n = 12;        ///< ring degree N = 2^log_n, 10 to 13
  unsigned prime_count = 4;   ///< primes of q, 2 to 4
  double prime_bits = 26.5;   ///< they are the largest ones below 2^prime_bits with q_i = 1 mod 2N; 20 to 30
  unsigned plain_bits = 24;   ///< plaintext modulus t = 2^plain_bits, 2 to 31
  double error_stddev = 3.2;  ///< of the discrete Gaussian errors; secrets are uniform ternary
  double log2_failure = -40;  ///< log2 of the probability with which the decoding of a record may fail
  bool allow_insecure = false;  ///< accept less than 128 bits of security
  /// Where given, part of the scheme; where not, chosen for each database (`choose_layout`).
  std::optional<unsigned> expansion_digits{};
  std::optional<unsigned> selection_digits{};
  std::optional<unsigned> secret_digits{};
  std::optional<unsigned> answer_bits{};  ///< of both components; see `layout::answer_bits0`

  bool operator==(const literal&) const = default;
};

/// How residues are split before they are multiplied with encryptions: each residue modulo q_i, taken in
/// [-q_i/2, q_i/2), is written with `digits` balanced digits in base 2^`base_bits`. The gadget vector is B^k
/// modulo q_i and 0 modulo the other primes.
struct gadget {
  unsigned digits = 1;     ///< for each prime
  unsigned base_bits = 0;  ///< ceil(prime_bits / digits)

  bool operator==(const gadget&) const = default;
};

/// Everything checked: the primes, and what they say about security. Immutable.
class parameters {
 public:
  /// @throws invalid_argument for a field out of its range, insecure_parameters below 128 bits unless allowed
  [[nodiscard]] static parameters from_literal(const literal& source);

  /// What it was made of, ring degree, primes, log2 of their product.
  [[nodiscard]] const literal& source() const noexcept { return source_; }
  [[nodiscard]] std::size_t n() const noexcept { return std::size_t{1} << source_.log_n; }
  [[nodiscard]] std::span<const std::uint64_t> primes() const noexcept { return primes_; }
  [[nodiscard]] double log2_q() const noexcept { return log2_q_; }
  /// By `params::estimate_security`; where no published bound applies, as for the errors of `paper`, 0.
  [[nodiscard]] double security_bits() const noexcept { return security_bits_; }
  /// Bytes of a record's share of one plaintext: N t bits.
  [[nodiscard]] std::size_t plaintext_bytes() const noexcept { return n() * source_.plain_bits / 8; }
  /// Whether servers choose at random which integers stand for the coefficients of records, so that the
  /// failure probability holds for any records: where it is at most 2^-40. `paper` is as it was published.
  [[nodiscard]] bool lifts_at_random() const noexcept { return source_.log2_failure <= -40; }
  /// The gadget with this many digits for each prime. @throws invalid_argument unless 1 to 8
  [[nodiscard]] gadget split(unsigned digits) const;

 private:
  literal source_;
  std::vector<std::uint64_t> primes_;
  double log2_q_ = 0;
  double security_bits_ = 0;
};

/// Names of the sets: `pir-n4096` (the default), `pir-n2048`, and `paper`, the numbers of OnionPIRv2's
/// publication for comparisons: 117 bits of security by its authors, and a failure
/// probability that is stated and not bounded: 2^-8 for the worst records at 1 GiB, 2^-19 for uniform ones.
[[nodiscard]] std::vector<std::string> preset_names();
/// @throws invalid_argument for an unknown name; insecure_parameters for `paper` unless `allow_insecure`
[[nodiscard]] parameters preset(std::string_view name, bool allow_insecure = false);

}  // namespace halocline::pir
