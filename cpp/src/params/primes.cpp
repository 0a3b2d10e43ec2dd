// SPDX-License-Identifier: Apache-2.0
#include "halocline/params/primes.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "halocline/core/expects.hpp"

namespace halocline::params {

namespace {

__extension__ using uint128 = unsigned __int128;

std::uint64_t multiply_mod(std::uint64_t a, std::uint64_t b, std::uint64_t q) noexcept {
  return static_cast<std::uint64_t>(static_cast<uint128>(a) * b % q);
}

std::uint64_t power_mod(std::uint64_t base, std::uint64_t exponent, std::uint64_t q) noexcept {
  std::uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1U) {
    if ((exponent & 1U) != 0) result = multiply_mod(result, base, q);
    base = multiply_mod(base, base, q);
  }
  return result;
}

/// True when the odd `q` = d 2^s + 1 passes the Miller-Rabin test to `base`.
bool passes(std::uint64_t base, std::uint64_t d, unsigned s, std::uint64_t q) noexcept {
  std::uint64_t x = power_mod(base, d, q);
  if (x == 1 || x == q - 1) return true;
  for (unsigned i = 1; i < s; ++i) {
    x = multiply_mod(x, x, q);
    if (x == q - 1) return true;
  }
  return false;
}

bool contains(std::span<const std::uint64_t> list, std::uint64_t value) noexcept {
  return std::find(list.begin(), list.end(), value) != list.end();
}

void check_request(double bits, std::uint64_t two_n) {
  HALOCLINE_EXPECTS(two_n >= 2 && (two_n & (two_n - 1)) == 0, invalid_argument, "two_n is ", two_n,
                    "; expected a power of two (twice the ring degree)");
  HALOCLINE_EXPECTS(bits > std::log2(static_cast<double>(two_n)) && bits <= 61, invalid_argument,
                    "primes of ", bits, " bits requested with 2N = ", two_n,
                    "; expected more than log2(2N) and at most 61 bits");
}

/// Largest q = 1 mod two_n below `bound`; 1 when there is none.
std::uint64_t candidate_below(long double bound, std::uint64_t two_n) noexcept {
  const auto last = static_cast<std::uint64_t>(std::ceil(bound)) - 1;  // largest integer below the bound
  return (last - 1) / two_n * two_n + 1;
}

}  // namespace

bool is_prime(std::uint64_t value) noexcept {
  static constexpr std::array<std::uint64_t, 12> bases = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
  if (value < 2) return false;
  for (const std::uint64_t p : bases) {
    if (value % p == 0) return value == p;
  }
  std::uint64_t d = value - 1;
  unsigned s = 0;
  for (; (d & 1U) == 0; d >>= 1U) ++s;
  return std::all_of(bases.begin(), bases.end(),
                     [&](std::uint64_t base) { return passes(base, d, s, value); });
}

std::vector<std::uint64_t> primes_below(double bits, std::size_t count, std::uint64_t two_n,
                                        std::span<const std::uint64_t> avoid) {
  check_request(bits, two_n);
  std::vector<std::uint64_t> found;
  const auto low = static_cast<std::uint64_t>(std::exp2(static_cast<long double>(bits) - 1));
  for (std::uint64_t q = candidate_below(std::exp2(static_cast<long double>(bits)), two_n);
       found.size() < count && q > low; q -= two_n) {
    if (!contains(avoid, q) && is_prime(q)) found.push_back(q);
    if (q <= two_n) break;
  }
  HALOCLINE_EXPECTS(found.size() == count, invalid_argument, "only ", found.size(), " primes q = 1 mod ",
                    two_n, " lie between 2^", bits - 1, " and 2^", bits, "; expected ", count,
                    "; ask for fewer or larger primes, or take a smaller ring degree");
  return found;
}

std::uint64_t nearest_prime(double bits, std::uint64_t two_n, std::span<const std::uint64_t> avoid) {
  check_request(bits, two_n);
  const long double target = std::exp2(static_cast<long double>(bits));
  const long double low = target * std::exp2(-0.5L);
  const long double high = target * std::exp2(0.5L);
  const auto usable = [&](std::uint64_t q) { return !contains(avoid, q) && is_prime(q); };
  std::uint64_t below = candidate_below(target, two_n);
  std::uint64_t above = below + two_n;
  while (static_cast<long double>(below) >= low && !usable(below)) below = below > two_n ? below - two_n : 1;
  while (static_cast<long double>(above) <= high && !usable(above)) above += two_n;
  const bool has_below = static_cast<long double>(below) >= low;
  const bool has_above = static_cast<long double>(above) <= high;
  HALOCLINE_EXPECTS(has_below || has_above, invalid_argument, "no prime q = 1 mod ", two_n,
                    " lies within half a bit of 2^", bits,
                    "; expected at least one; take larger terminal primes (terminal_bits), a smaller ring "
                    "degree, or 64-bit words");
  if (!has_above) return below;
  if (!has_below) return above;
  // On a logarithmic scale target / below against above / target.
  const long double products = static_cast<long double>(below) * static_cast<long double>(above);
  return products >= target * target ? below : above;
}

}  // namespace halocline::params
