// SPDX-License-Identifier: Apache-2.0
// Random programs: whatever the order of operations and levels, automatic mode keeps every scale canonical
// and the decrypted result close to the same program on complex numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "support/ckks_fixture.hpp"

namespace halocline::test {
namespace {

struct value {
  ckks::ciphertext encrypted;
  complex_vector plain;
};

/// Keeps the numbers of a program below one in modulus, so that its error does not grow with them.
double largest(const complex_vector& v) {
  double result = 0.0;
  for (const auto& each : v) result = std::max(result, std::abs(each));
  return result;
}

class program {
 public:
  program(ckks_rig& rig, std::uint32_t seed) : rig_(rig), random_(seed) {
    for (unsigned i = 0; i < 3; ++i) {
      const unsigned level = pick(rig.top() / 2, rig.top());
      complex_vector plain = rig.random_values(rig.slots(), seed + i);
      pool_.push_back({rig.encrypt(plain, level), std::move(plain)});
    }
  }

  void step() {
    const value& a = pool_[pick(std::size_t{0}, pool_.size() - 1)];
    const value& b = pool_[pick(std::size_t{0}, pool_.size() - 1)];
    value result = apply(pick(0, 7), a, b);
    if (largest(result.plain) < 2.0) pool_.push_back(std::move(result));
  }

  void check() {
    for (const value& each : pool_) {
      EXPECT_EQ(each.encrypted.scale, rig_.parameters().level(each.encrypted.level).scale);
      // N = 2^11: 2^-28 for each of at most a dozen steps, products add the errors of both factors.
      EXPECT_GE(rig_.precision(each.encrypted, each.plain).worst_bits, 20.0);
    }
  }

 private:
  template <typename IntT>
  [[nodiscard]] IntT pick(IntT low, IntT high) {
    return std::uniform_int_distribution<IntT>(low, high)(random_);
  }

  [[nodiscard]] value apply(int operation, const value& a, const value& b) {
    ckks::evaluator& eval = rig_.eval;
    value r;
    r.plain = a.plain;
    const bool deep = std::min(a.encrypted.level, b.encrypted.level) == 0;
    const auto each = [&](auto f) {
      for (std::size_t i = 0; i < r.plain.size(); ++i) r.plain[i] = f(i);
    };
    if (operation == 0) {
      r.encrypted = eval.add(a.encrypted, b.encrypted);
      each([&](std::size_t i) { return a.plain[i] + b.plain[i]; });
    } else if (operation == 1) {
      r.encrypted = eval.sub(a.encrypted, b.encrypted);
      each([&](std::size_t i) { return a.plain[i] - b.plain[i]; });
    } else if (operation == 2 && !deep) {
      r.encrypted = eval.multiply(a.encrypted, b.encrypted);
      each([&](std::size_t i) { return a.plain[i] * b.plain[i]; });
    } else if (operation == 3) {
      r.encrypted = eval.rotate(a.encrypted, 1);
      each([&](std::size_t i) { return a.plain[(i + 1) % a.plain.size()]; });
    } else if (operation == 4) {
      r.encrypted = eval.conjugate(a.encrypted);
      each([&](std::size_t i) { return std::conj(a.plain[i]); });
    } else if (operation == 5 && a.encrypted.level > 0) {
      r.encrypted = eval.multiply_constant(a.encrypted, {0.3, -0.6});
      each([&](std::size_t i) { return a.plain[i] * std::complex<double>(0.3, -0.6); });
    } else if (operation == 6) {
      r.encrypted = eval.drop_level(a.encrypted, pick(0U, a.encrypted.level));
    } else {
      r.encrypted = eval.add_constant(a.encrypted, {-0.25, 0.125});
      each([&](std::size_t i) { return a.plain[i] + std::complex<double>(-0.25, 0.125); });
    }
    return r;
  }

  ckks_rig& rig_;
  std::mt19937 random_;
  std::vector<value> pool_;
};

TEST(ScaleManagement, RandomProgramsStayCanonicalAndAccurate) {
  ckks_rig rig("test-n11-d8", {1});
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("program seed " + std::to_string(seed));
    program p(rig, seed);
    for (int i = 0; i < 12; ++i) p.step();
    p.check();
  }
}

TEST(ScaleManagement, SixtyFourBitWords) {
  ckks_rig rig("test-n10-d3-w64", {1});
  for (std::uint32_t seed = 100; seed <= 110; ++seed) {
    SCOPED_TRACE("program seed " + std::to_string(seed));
    program p(rig, seed);
    for (int i = 0; i < 8; ++i) p.step();
    p.check();
  }
}

}  // namespace
}  // namespace halocline::test
