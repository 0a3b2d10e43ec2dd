// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/parameters.hpp"

#include <array>
#include <cmath>

#include "halocline/core/expects.hpp"
#include "halocline/params/primes.hpp"
#include "halocline/params/security.hpp"

namespace halocline::pir {
namespace {

const std::array<literal, 3>& presets() {
  // log2(q) of the first two is the bound for 128 bits of ePrint 2024/463. Their t is the largest one, of
  // whole bytes for N = 4096, with which databases of a tebibyte stay below the failure probability.
  static const auto& sets = *new std::array<literal, 3>{{
      {.name = "pir-n4096"},
      {.name = "pir-n2048", .log_n = 11, .prime_count = 2, .plain_bits = 10},
      {.name = "paper",
       .log_n = 11,
       .prime_count = 2,
       .prime_bits = 29,
       .plain_bits = 13,
       .error_stddev = 2.55,
       .log2_failure = -5,
       .expansion_digits = 4,
       .selection_digits = 3,
       .secret_digits = 5,
       .answer_bits = 22},
  }};
  return sets;
}

/// Largest failure probability of a set that needs no permission.
constexpr double largest_log2_failure = -40;

void check_ranges(const literal& source) {
  const auto within = [&source](double value, double low, double high, const char* field) {
    HALOCLINE_EXPECTS(value >= low && value <= high, invalid_argument, "retrieval parameters '", source.name,
                      "': ", field, " is ", value, "; expected ", low, " to ", high);
  };
  within(source.log_n, 10, 13, "log_n");
  within(source.prime_count, 2, 4, "prime_count");
  within(source.prime_bits, 20, 30, "prime_bits");
  within(source.plain_bits, 2, 31, "plain_bits");
  within(source.error_stddev, 0.5, 16, "error_stddev");
  within(source.log2_failure, -256, 0, "log2_failure");
  if (source.answer_bits) {
    within(*source.answer_bits, source.plain_bits + 1, source.prime_count * source.prime_bits, "answer_bits");
  }
}

}  // namespace

parameters parameters::from_literal(const literal& source) {
  check_ranges(source);
  parameters made;
  made.source_ = source;
  made.primes_ =
      params::primes_below(source.prime_bits, source.prime_count, std::uint64_t{2} << source.log_n);
  for (const std::uint64_t prime : made.primes_) made.log2_q_ += std::log2(static_cast<double>(prime));
  // A coefficient below t is multiplied with round(q / t), which is off by up to 1/2.
  HALOCLINE_EXPECTS(2 * source.plain_bits + 8 <= made.log2_q_, invalid_argument, "retrieval parameters '",
                    source.name, "': plain_bits is ", source.plain_bits, ", and q has ", made.log2_q_,
                    " bits; expected q to have at least 8 bits more than t^2");
  const params::security_estimate found =
      params::estimate_security(source.log_n, made.log2_q_, {}, source.error_stddev);
  made.security_bits_ = found.bits;
  HALOCLINE_EXPECTS(
      source.allow_insecure || found.bits >= params::required_security, insecure_parameters,
      "retrieval parameters '", source.name,
      "': ", found.bits > 0 ? text("about ", std::floor(found.bits), " bits of security") : found.source,
      "; expected at least ", params::required_security,
      ". Take 'pir-n4096' or 'pir-n2048', or allow insecure parameters for a comparison");
  HALOCLINE_EXPECTS(source.allow_insecure || source.log2_failure <= largest_log2_failure, insecure_parameters,
                    "retrieval parameters '", source.name,
                    "': records may fail to decode with probability 2^", source.log2_failure,
                    "; expected at most 2^", largest_log2_failure,
                    ", or a permission for insecure parameters");
  return made;
}

gadget parameters::split(unsigned digits) const {
  HALOCLINE_EXPECTS(digits >= 1 && digits <= 8, invalid_argument, "retrieval parameters: ", digits,
                    " digits for each prime; expected 1 to 8");
  return {digits, static_cast<unsigned>(std::ceil(source_.prime_bits / digits))};
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const literal& each : presets()) names.push_back(each.name);
  return names;
}

parameters preset(std::string_view name, bool allow_insecure) {
  std::string known;
  for (literal each : presets()) {
    if (each.name == name) {
      each.allow_insecure = allow_insecure;
      return parameters::from_literal(each);
    }
    known += (known.empty() ? "" : ", ") + each.name;
  }
  throw invalid_argument(text("unknown retrieval parameters '", name, "'; expected one of ", known));
}

}  // namespace halocline::pir
