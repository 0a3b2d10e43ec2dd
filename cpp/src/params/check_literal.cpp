// SPDX-License-Identifier: Apache-2.0
#include "params/check_literal.hpp"

#include <algorithm>
#include <string_view>

#include "halocline/core/expects.hpp"

namespace halocline::params {

namespace {

constexpr unsigned max_depth = 127;
constexpr unsigned max_primes = 256;
/// Base conversions sum at most 64 terms (backend::conversion_table).
constexpr unsigned max_digit = 64;
/// Dividing by P and rescaling happen in one step, so P leaves room for the primes that a rescale drops.
constexpr unsigned max_special = 48;
constexpr std::size_t max_name = 64;

/// The comparison is written so that NaN fails it.
template <typename NumberT>
void in_range(std::string_view field, NumberT value, NumberT low, NumberT high) {
  HALOCLINE_EXPECTS(value >= low && value <= high, invalid_argument, field, " is ", value, "; expected ", low,
                    "..", high);
}

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
         c == '.';
}

void check_name(const std::string& name) {
  HALOCLINE_EXPECTS(name.size() <= max_name, invalid_argument, "name has ", name.size(),
                    " characters; expected at most ", max_name);
  HALOCLINE_EXPECTS(
      std::all_of(name.begin(), name.end(), is_name_char), invalid_argument,
      "name has a character that is not a letter, a digit, '-', '_' or '.'; expected only these");
}

/// Level 0 holds values below 2^(base_bits - scale_bits - 1).
void check_base(const literal& source, double high) {
  HALOCLINE_EXPECTS(source.base_bits >= source.scale_bits + 1 && source.base_bits <= high, invalid_argument,
                    "base_bits is ", source.base_bits, "; expected scale_bits + 1 = ", source.scale_bits + 1,
                    "..", high,
                    ", so that level 0 holds values up to 1; raise base_bits or lower scale_bits");
}

void check_words(const literal& source) {
  HALOCLINE_EXPECTS(source.word_bits == 32 || source.word_bits == 64, invalid_argument, "word_bits is ",
                    source.word_bits, "; expected 32 or 64");
  if (source.word_bits == 32) {
    in_range("main_bits", source.main_bits, 21.0, 30.0);
    in_range("terminal_bits", source.terminal_bits, smallest_terminal_bits, 30.0);
    in_range("special_bits", source.special_bits, 21.0, 30.0);
    in_range("scale_bits", source.scale_bits, 20.0, 60.0);
    check_base(source, 120.0);
    return;
  }
  HALOCLINE_EXPECTS(source.main_bits == 0 && source.terminal_bits == 0, invalid_argument, "main_bits is ",
                    source.main_bits, " and terminal_bits ", source.terminal_bits,
                    "; they apply to 32-bit words only; set both to 0");
  in_range("special_bits", source.special_bits, 28.0, 61.0);
  in_range("scale_bits", source.scale_bits, 28.0, 59.0);
  check_base(source, 61.0);
}

void check_secret(const literal& source) {
  const secret_distribution& secret = source.secret;
  if (secret.kind == secret_kind::ternary) {
    HALOCLINE_EXPECTS(secret.hamming_weight == 0, invalid_argument, "hamming_weight is ",
                      secret.hamming_weight,
                      " with a ternary secret; expected 0; set the kind to sparse to fix the weight");
  } else {
    in_range("hamming_weight", secret.hamming_weight, 1U, 1U << source.log_n);
  }
}

void check_group(std::string_view name, const level_group& group, unsigned word_bits) {
  in_range(text("bootstrapping ", name, " bits"), group.bits, word_bits == 32 ? 20.0 : 28.0, 60.0);
  in_range(text("bootstrapping ", name, " levels"), group.levels, 1U, max_depth);
}

void check_bootstrapping(const literal& source) {
  if (!source.bootstrapping) return;
  const bootstrap_literal& extra = *source.bootstrapping;
  check_group("eval_mod", extra.eval_mod, source.word_bits);
  check_group("coeff_to_slot", extra.coeff_to_slot, source.word_bits);
  const unsigned levels = source.depth + extra.eval_mod.levels + extra.coeff_to_slot.levels;
  HALOCLINE_EXPECTS(levels <= max_depth, invalid_argument, "depth and bootstrapping levels together are ",
                    levels, "; expected at most ", max_depth);
  HALOCLINE_EXPECTS(extra.slot_to_coeff_levels >= 1 && extra.slot_to_coeff_levels <= source.depth,
                    invalid_argument, "slot_to_coeff_levels is ", extra.slot_to_coeff_levels,
                    "; expected 1..depth = ", source.depth, ", because they are ordinary levels");
  in_range("ephemeral_weight", extra.ephemeral_weight, 0U, 1U << source.log_n);
  const bool encapsulated = extra.ephemeral_weight != 0;
  HALOCLINE_EXPECTS(
      encapsulated
          ? extra.ephemeral_special_primes >= 1 && extra.ephemeral_special_primes <= source.special_primes
          : extra.ephemeral_special_primes == 0,
      invalid_argument, "ephemeral_special_primes is ", extra.ephemeral_special_primes,
      " with ephemeral_weight ", extra.ephemeral_weight,
      "; expected 1..special_primes = ", source.special_primes, ", or 0 for both without encapsulation");
}

}  // namespace

void check_literal(const literal& source) {
  check_name(source.name);
  in_range("log_n", source.log_n, 10U, 17U);
  in_range("depth", source.depth, 0U, max_depth);
  check_words(source);
  in_range("special_primes", source.special_primes, 1U, max_special);
  in_range("digit_size", source.digit_size, 1U, max_digit);
  check_secret(source);
  check_bootstrapping(source);
  in_range("error_stddev", source.error_stddev, 0.5, 64.0);
  HALOCLINE_EXPECTS(source.galois_generator == 5 || source.galois_generator == 3, invalid_argument,
                    "galois_generator is ", source.galois_generator,
                    "; expected 5, or 3 for SEAL's slot order");
}

void check_prime_count(const literal& source, unsigned terminals, unsigned mains) {
  const unsigned count = source.special_primes + terminals + mains;
  HALOCLINE_EXPECTS(count <= max_primes, invalid_argument, "the parameters have ", count, " primes (",
                    source.special_primes, " special, ", terminals, " terminal, ", mains,
                    " main); expected at most ", max_primes, "; lower depth or special_primes");
  HALOCLINE_EXPECTS(source.digit_size <= terminals + mains, invalid_argument, "digit_size is ",
                    source.digit_size, "; expected at most the ", terminals + mains, " primes of the chain");
}

}  // namespace halocline::params
