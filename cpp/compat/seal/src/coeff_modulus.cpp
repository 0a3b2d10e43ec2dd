// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <map>
#include <numeric>

#include "default_primes.hpp"
#include "halocline/params/primes.hpp"
#include "seal/modulus.h"

namespace seal {
namespace {

/// The `count` largest primes of `bits` bits that are 1 modulo `factor`, falling.
std::vector<std::uint64_t> largest_primes(std::uint64_t factor, int bits, std::size_t count) {
  std::vector<std::uint64_t> found;
  const std::uint64_t least = std::uint64_t{1} << (bits - 1);
  const std::uint64_t most = (std::uint64_t{1} << bits) - 1;
  std::uint64_t value = (most - 1) / factor * factor + 1;
  for (; found.size() < count && value > least; value -= factor) {
    if (::halocline::params::is_prime(value)) found.push_back(value);
  }
  if (found.size() < count) {
    throw std::logic_error("CoeffModulus: there are no " + std::to_string(count) + " primes of " +
                           std::to_string(bits) + " bits that are 1 modulo " + std::to_string(factor));
  }
  return found;
}

void check_request(std::size_t degree, const std::vector<int>& bit_sizes) {
  if (degree < SEAL_POLY_MOD_DEGREE_MIN || degree > SEAL_POLY_MOD_DEGREE_MAX ||
      !std::has_single_bit(degree)) {
    throw std::invalid_argument("CoeffModulus: poly_modulus_degree " + std::to_string(degree) +
                                "; expected a power of two from 2 to 131072");
  }
  if (bit_sizes.size() > SEAL_COEFF_MOD_COUNT_MAX) {
    throw std::invalid_argument("CoeffModulus: " + std::to_string(bit_sizes.size()) +
                                " sizes; expected 256 at most");
  }
  for (const int bits : bit_sizes) {
    if (bits < SEAL_USER_MOD_BIT_COUNT_MIN || bits > SEAL_USER_MOD_BIT_COUNT_MAX) {
      throw std::invalid_argument("CoeffModulus: a prime of " + std::to_string(bits) +
                                  " bits; expected 2 to 60");
    }
  }
}

/// Primes of these sizes that are 1 modulo `factor`; of one size, the largest comes last.
std::vector<Modulus> create(std::uint64_t factor, const std::vector<int>& bit_sizes) {
  std::map<int, std::size_t> counts;
  for (const int bits : bit_sizes) ++counts[bits];
  std::map<int, std::vector<std::uint64_t>> left;
  for (const auto& [bits, count] : counts) left[bits] = largest_primes(factor, bits, count);
  std::vector<Modulus> made;
  for (const int bits : bit_sizes) {
    made.emplace_back(left[bits].back());
    left[bits].pop_back();
  }
  return made;
}

}  // namespace

int CoeffModulus::MaxBitCount(std::size_t poly_modulus_degree, sec_level_type sec_level) noexcept {
  if (sec_level == sec_level_type::none) return std::numeric_limits<int>::max();
  const halocline_detail::default_row* row =
      halocline_detail::find_row(poly_modulus_degree, static_cast<int>(sec_level));
  return row == nullptr ? 0 : row->max_bits;
}

std::vector<Modulus> CoeffModulus::BFVDefault(std::size_t poly_modulus_degree, sec_level_type sec_level) {
  if (sec_level == sec_level_type::none) {
    throw std::invalid_argument("BFVDefault: no security level; expected tc128, tc192 or tc256");
  }
  const halocline_detail::default_row* row =
      halocline_detail::find_row(poly_modulus_degree, static_cast<int>(sec_level));
  if (row == nullptr) {
    throw std::invalid_argument("BFVDefault: poly_modulus_degree " + std::to_string(poly_modulus_degree) +
                                "; expected a power of two from 1024 to 32768");
  }
  return {row->primes.begin(), std::find(row->primes.begin(), row->primes.end(), std::uint64_t{0})};
}

std::vector<Modulus> CoeffModulus::Create(std::size_t poly_modulus_degree, std::vector<int> bit_sizes) {
  check_request(poly_modulus_degree, bit_sizes);
  return create(2 * poly_modulus_degree, bit_sizes);
}

std::vector<Modulus> CoeffModulus::Create(std::size_t poly_modulus_degree, const Modulus& plain_modulus,
                                          std::vector<int> bit_sizes) {
  check_request(poly_modulus_degree, bit_sizes);
  if (plain_modulus.is_zero()) throw std::invalid_argument("CoeffModulus: plain_modulus cannot be zero");
  const std::uint64_t degree = 2 * poly_modulus_degree;
  const std::uint64_t others = plain_modulus.value() / std::gcd(degree, plain_modulus.value());
  if (others > (std::uint64_t{1} << SEAL_USER_MOD_BIT_COUNT_MAX) / degree) {
    throw std::logic_error("CoeffModulus: no prime of 60 bits is 1 modulo both 2 poly_modulus_degree and " +
                           std::to_string(plain_modulus.value()));
  }
  return create(degree * others, bit_sizes);
}

}  // namespace seal
