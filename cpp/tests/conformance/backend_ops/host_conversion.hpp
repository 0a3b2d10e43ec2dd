// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/multiprecision/cpp_int.hpp>

#include "ops_fixture.hpp"

/// Base conversions on the host, with big integers.
namespace halocline::test {

using arith::window;
using boost::multiprecision::cpp_int;

struct basis {
  std::vector<window> sources, targets;
};

[[nodiscard]] inline std::vector<std::uint32_t> flatten(const std::vector<window>& windows) {
  std::vector<std::uint32_t> primes;
  for (const window& w : windows) {
    for (std::uint32_t p = w.first; p < w.end(); ++p) primes.push_back(p);
  }
  return primes;
}

/// Constants of a conversion, from their definition in `conversion_table`, with big integers.
template <typename WordT>
class host_conversion {
 public:
  host_conversion(const host_ring<WordT>& host, const basis& b)
      : sources_(flatten(b.sources)), targets_(flatten(b.targets)), host_(host) {
    for (const std::uint32_t s : sources_) product_ *= host.primes[s];
  }

  [[nodiscard]] std::vector<WordT> words() const {
    constexpr unsigned w = 8 * sizeof(WordT);
    std::vector<WordT> inverses, quotients, reciprocals, factors;
    for (const std::uint32_t s : sources_) {
      const std::uint64_t d = host_.primes[s];
      const std::uint64_t inverse = inverse_of(s);
      inverses.push_back(static_cast<WordT>(inverse));
      quotients.push_back(static_cast<WordT>((static_cast<u128>(inverse) << w) / d));
      reciprocals.push_back(static_cast<WordT>((static_cast<u128>(1) << backend::reciprocal_shift(w)) / d));
    }
    for (const std::uint32_t t : targets_) {
      const cpp_int p = host_.primes[t];
      for (const std::uint32_t s : sources_) {
        factors.push_back(static_cast<WordT>((product_ / host_.primes[s] << w) % p));
      }
      factors.push_back(static_cast<WordT>(p - (product_ << w) % p));
    }
    for (const auto* part : {&quotients, &reciprocals, &factors}) {
      inverses.insert(inverses.end(), part->begin(), part->end());
    }
    return inverses;
  }

  /// The exact integer sum_i y_i D / d_i - v D of one coefficient.
  [[nodiscard]] cpp_int value(const limbs<WordT>& source, std::size_t j) const {
    const unsigned shift = backend::reciprocal_shift(8 * sizeof(WordT));
    u128 fraction = static_cast<u128>(1) << (shift - 1);
    cpp_int sum = 0;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      const std::uint64_t d = host_.primes[sources_[i]];
      const std::uint64_t y = naive_mul(source[i][j], inverse_of(sources_[i]), d);
      sum += product_ / d * y;
      fraction += y * ((static_cast<u128>(1) << shift) / d);
    }
    return sum - product_ * static_cast<std::uint64_t>(fraction >> shift);
  }

  [[nodiscard]] const cpp_int& product() const { return product_; }
  [[nodiscard]] const std::vector<std::uint32_t>& sources() const { return sources_; }
  [[nodiscard]] const std::vector<std::uint32_t>& targets() const { return targets_; }

 private:
  [[nodiscard]] std::uint64_t inverse_of(std::uint32_t source) const {
    const std::uint64_t d = host_.primes[source];
    return naive_pow(static_cast<std::uint64_t>(product_ / d % d), d - 2, d);
  }

  std::vector<std::uint32_t> sources_, targets_;
  const host_ring<WordT>& host_;
  cpp_int product_ = 1;
};

template <typename WordT>
[[nodiscard]] std::uint64_t residue(const cpp_int& x, std::uint64_t p) {
  cpp_int r = x % p;
  if (r < 0) r += p;
  return static_cast<std::uint64_t>(r);
}

}  // namespace halocline::test
