// SPDX-License-Identifier: Apache-2.0
#include "halocline/seal/context.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <memory>
#include <span>
#include <utility>

#include "halocline/arith/arith.hpp"
#include "halocline/backend/table_recipe.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/memory/identity.hpp"
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

}  // namespace

context::context(seal_format::parameters of, std::shared_ptr<backend::backend> device, bool allow_insecure,
                 std::uint64_t least_degree)
    : chain_(std::move(of)), ring_(ring_of(chain_.top(), allow_insecure, least_degree), std::move(device)) {}

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

template <typename WordsT>
backend::conversion_table context::make_table(std::uint32_t source, std::uint32_t copies,
                                              std::vector<std::uint32_t> targets, WordsT words) {
  const std::uint64_t q = prime(source);
  std::vector<std::uint64_t> all(copies, 1);  // no cofactor to divide by
  all.insert(all.end(), copies, arith::shoup_quotient<std::uint64_t>(1, arith::make_modulus(q)));
  all.insert(all.end(), copies, 0);  // reciprocals: with these the quotient is 0, so that nothing is centred
  for (const std::uint32_t target : targets) {
    const wide_modulus p = arith::make_modulus(prime(target));
    for (const std::uint64_t word : words(p)) all.push_back(arith::mul_mod(word, p.r, p));
    all.push_back(0);
  }
  backend::conversion_table made;
  made.sources.assign(copies, source);
  made.targets = std::move(targets);
  const auto bytes = std::as_bytes(std::span(all));
  made.data = runtime().allocate(bytes.size(), memory::object_class::table, "seal.conversion");
  device().upload(made.data, 0, bytes);
  const auto write = [&on = device(), all](const memory::buffer& to) {
    on.upload(to, 0, std::as_bytes(std::span(all)));
  };
  runtime().set_recipe(made.data, std::make_shared<backend::table_recipe>(write));
  return made;
}

const backend::conversion_table& context::digit_table(std::uint32_t digit, std::uint32_t count) {
  const auto found = digits_.find({digit, count});
  if (found != digits_.end()) return found->second;
  std::vector<std::uint32_t> targets{special()};
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i != digit) targets.push_back(i);
  }
  const auto one = [](const wide_modulus&) { return std::array<std::uint64_t, 1>{1}; };
  return digits_.emplace(std::pair(digit, count), make_table(digit, 1, std::move(targets), one))
      .first->second;
}

const division_plan& context::division(std::uint32_t divisor, std::uint32_t count) {
  const auto found = divisions_.find({divisor, count});
  if (found != divisions_.end()) return found->second;
  const std::uint64_t p = prime(divisor);
  division_plan made;
  made.half = p / 2;
  std::vector<std::uint32_t> targets;
  for (std::uint32_t i = 0; i < count; ++i) {
    const wide_modulus q = arith::make_modulus(prime(i));
    targets.push_back(i);
    made.inverse.push_back(arith::inverse_mod(p % q.value, q));
    made.negative.push_back(arith::negate_mod(made.inverse.back(), q));
  }
  made.table = make_table(divisor, 2, std::move(targets), [&](const wide_modulus& q) {
    return std::array<std::uint64_t, 2>{1, arith::negate_mod(made.half % q.value, q)};
  });
  return divisions_.emplace(std::pair(divisor, count), std::move(made)).first->second;
}

const memory::buffer& context::ones() {
  if (ones_) return ones_;
  ones_ = runtime().allocate(tables().limb_bytes(), memory::object_class::table, "seal.ones");
  const auto write = [&on = device(), n = tables().n()](const memory::buffer& to) {
    const std::vector<std::uint64_t> words(n, 1);
    on.upload(to, 0, std::as_bytes(std::span(words)));
  };
  write(ones_);
  runtime().set_recipe(ones_, std::make_shared<backend::table_recipe>(write));
  return ones_;
}

const std::vector<std::uint64_t>& context::special_residues() {
  if (!special_residues_.empty()) return special_residues_;
  const std::uint64_t p = prime(special());
  for (std::uint32_t i = 0; i < chain_.data_primes(); ++i) special_residues_.push_back(p % prime(i));
  return special_residues_;
}

}  // namespace halocline::seal
