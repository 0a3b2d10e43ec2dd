// SPDX-License-Identifier: Apache-2.0
#include "polynomial_text.hpp"

#include <charconv>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "seal/util/defines.h"

namespace seal::halocline_detail {
namespace {

[[noreturn]] void refuse(const std::string& text, const char* why) {
  throw std::invalid_argument(
      "Plaintext: \"" + text.substr(0, 80) + "\" " + why +
      "; expected a polynomial such as \"7FFx^3 + 1x^1 + 3\" with hexadecimal coefficients "
      "below 2^64 and falling exponents below 131072");
}

/// Takes a number off the front; false unless there is one that fits.
template <typename NumberT>
bool take(std::string_view& from, NumberT& to, int base) {
  const auto [end, error] = std::from_chars(from.data(), from.data() + from.size(), to, base);
  if (error != std::errc{}) return false;
  from.remove_prefix(static_cast<std::size_t>(end - from.data()));
  return true;
}

}  // namespace

std::vector<std::uint64_t> read_polynomial(const std::string& text) {
  constexpr std::string_view power = "x^";
  constexpr std::string_view plus = " + ";
  std::vector<std::uint64_t> made;
  std::string_view rest = text;
  std::size_t last = SEAL_POLY_MOD_DEGREE_MAX;
  while (!rest.empty()) {
    std::uint64_t coefficient = 0;
    std::size_t exponent = 0;
    if (!take(rest, coefficient, 16))
      refuse(text, "has no coefficient where one is expected, or a large one");
    if (rest.substr(0, power.size()) == power) {
      rest.remove_prefix(power.size());
      if (!take(rest, exponent, 10)) refuse(text, "has no exponent after x^");
    }
    if (exponent >= last) refuse(text, "has exponents that are too large or do not fall");
    last = exponent;
    if (made.empty() && (coefficient != 0 || exponent != 0)) made.resize(exponent + 1);
    if (!made.empty()) made[exponent] = coefficient;
    if (rest.empty()) break;
    if (rest.substr(0, plus.size()) != plus || exponent == 0 || rest.size() == plus.size()) {
      refuse(text, "has something else than another term after a term");
    }
    rest.remove_prefix(plus.size());
  }
  const bool all_zero = std::all_of(made.begin(), made.end(), [](std::uint64_t word) { return word == 0; });
  return all_zero ? std::vector<std::uint64_t>() : made;
}

std::string write_polynomial(std::span<const std::uint64_t> coefficients) {
  std::string text;
  for (std::size_t exponent = coefficients.size(); exponent-- > 0;) {
    const std::uint64_t coefficient = coefficients[exponent];
    if (coefficient == 0) continue;
    if (!text.empty()) text += " + ";
    char digits[16];
    char* end = std::to_chars(digits, digits + sizeof digits, coefficient, 16).ptr;
    for (const char* at = digits; at != end; ++at)
      text += *at >= 'a' ? static_cast<char>(*at - 'a' + 'A') : *at;
    if (exponent != 0) text += "x^" + std::to_string(exponent);
  }
  return text.empty() ? "0" : text;
}

}  // namespace seal::halocline_detail
