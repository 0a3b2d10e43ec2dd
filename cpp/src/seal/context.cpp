// SPDX-License-Identifier: Apache-2.0
#include "halocline/seal/context.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <memory>
#include <utility>

#include "halocline/arith/arith.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/params/primes.hpp"
#include "halocline/params/security.hpp"

namespace halocline::seal {
namespace {

using wide_modulus = arith::modulus<std::uint64_t>;

constexpr unsigned least_log_n = 10;  // of the table below

/// Bits of the product of all primes for 128-bit security with ternary secrets, for log2(N) from 10 on.
constexpr std::array<unsigned, 6> standard_bits{27, 54, 109, 218, 438, 881};

void check_security(const seal_format::parameters& of) {
  double bits = 0;
  for (const std::uint64_t prime : of.primes) bits += std::log2(static_cast<double>(prime));
  const auto log_n = static_cast<unsigned>(std::countr_zero(of.n));
  HALOCLINE_EXPECTS(log_n >= least_log_n, insecure_parameters,
                    "SEAL parameters: no primes are secure for ring degree ", of.n,
                    "; expected at least 1024, or allow_insecure for tests");
  const unsigned row = log_n - least_log_n;
  if (row < standard_bits.size() && bits <= standard_bits[row]) return;
  const params::security_estimate own = params::estimate_security(log_n, bits, {}, 3.2);
  HALOCLINE_EXPECTS(own.bits >= params::required_security, insecure_parameters,
                    "SEAL parameters: the primes have ", bits, " bits in all; expected at most ",
                    row < standard_bits.size() ? standard_bits[row] : own.max_log2_pq, " for ring degree ",
                    of.n,
                    " and 128-bit security. Use fewer or smaller primes or a larger ring, or "
                    "allow_insecure for tests");
}

ring::shape ring_of(const seal_format::parameters& of, bool allow_insecure, std::uint64_t least_degree) {
  HALOCLINE_EXPECTS(of.n >= least_degree, invalid_argument, "SEAL parameters: ring degree ", of.n,
                    "; expected at least ", least_degree, " to compute with");
  for (const std::uint64_t prime : of.primes) {
    HALOCLINE_EXPECTS(params::is_prime(prime), invalid_argument, "SEAL parameters: modulus ", prime,
                      " is not prime");
  }
  if (!allow_insecure) check_security(of);
  ring::shape made;
  made.log_n = static_cast<unsigned>(std::countr_zero(of.n));
  made.word_bits = 64;
  made.primes = of.primes;
  const auto data = static_cast<std::uint32_t>(of.primes.size() == 1 ? 1 : of.primes.size() - 1);
  if (of.primes.size() > 1) made.special = {data, 1};
  for (std::uint32_t i = 0; i < data; ++i) made.digits.push_back({i, 1});
  return made;
}

/// Half of a device's cache; without one, what second-level caches of processors hold, for each thread.
std::size_t digit_bytes(const backend::capability& of) {
  constexpr std::size_t near = std::size_t{2} << 20;
  return of.cache_bytes != 0 ? of.cache_bytes / 2 : near * std::max(1U, of.threads);
}

}  // namespace

context::context(seal_format::parameters of, std::shared_ptr<backend::backend> device, bool allow_insecure,
                 std::uint64_t least_degree)
    : chain_(std::move(of)),
      ring_(ring_of(chain_.top(), allow_insecure, least_degree), std::move(device)),
      digit_bytes_(digit_bytes(ring_.device().describe())),
      joins_limbs_(ring_.device().describe().cache_bytes != 0) {}

std::uint32_t context::special() const {
  HALOCLINE_EXPECTS(chain_.key_primes() > 1, invalid_argument,
                    "SEAL parameters with one prime have no special prime: keys cannot be switched");
  return chain_.data_primes();
}

double context::log2_modulus(std::uint32_t count) const {
  double bits = 0;
  for (std::uint32_t i = 0; i < count; ++i) bits += std::log2(static_cast<double>(prime(i)));
  return bits;
}

const division_plan& context::division(std::uint32_t divisor, std::uint32_t count) {
  const auto found = divisions_.find({divisor, count});
  if (found != divisions_.end()) return found->second;
  const std::uint64_t p = prime(divisor);
  division_plan made;
  for (std::uint32_t i = 0; i < count; ++i) {
    const wide_modulus q = arith::make_modulus(prime(i));
    made.inverse.push_back(arith::inverse_mod(p % q.value, q));
    made.negative.push_back(arith::negate_mod(made.inverse.back(), q));
  }
  return divisions_.emplace(std::pair(divisor, count), std::move(made)).first->second;
}

std::uint32_t context::switch_group(std::size_t digits, std::uint32_t targets) const {
  const std::size_t fitting = digit_bytes_ / (digits * tables().limb_bytes());
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(fitting, 1, targets));
}

const std::vector<std::uint64_t>& context::special_residues() {
  if (!special_residues_.empty()) return special_residues_;
  const std::uint64_t p = prime(special());
  for (std::uint32_t i = 0; i < chain_.data_primes(); ++i) special_residues_.push_back(p % prime(i));
  return special_residues_;
}

}  // namespace halocline::seal
