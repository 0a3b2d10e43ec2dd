// SPDX-License-Identifier: Apache-2.0
// Division by primes and ModUp against exact integers.
#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "halocline/backend/registry.hpp"
#include "halocline/params/presets.hpp"
#include "halocline/ring/poly.hpp"
#include "halocline/rns/mod_down.hpp"
#include "halocline/rns/mod_up.hpp"

namespace {

using namespace halocline;
using arith::window;
using boost::multiprecision::cpp_int;

constexpr std::uint32_t seed = 20261120;

/// A ring, with polynomials as exact integers on one side and NTT residues on the other.
class exact_ring {
 public:
  explicit exact_ring(const std::string& preset)
      : parameters_(params::preset(preset)),
        ring_(ring::shape_of(parameters_), backend::make_backend("cpu")),
        converter_(ring_) {}

  [[nodiscard]] ring::context& ring() { return ring_; }
  [[nodiscard]] rns::base_converter& converter() { return converter_; }
  [[nodiscard]] const params::parameters& parameters() const { return parameters_; }
  [[nodiscard]] std::uint64_t prime(std::uint32_t i) const { return ring_.tables().primes[i]; }

  [[nodiscard]] cpp_int product(const std::vector<window>& windows) const {
    cpp_int result = 1;
    for (const window& w : windows) {
      for (std::uint32_t i = w.first; i < w.end(); ++i) result *= prime(i);
    }
    return result;
  }

  [[nodiscard]] std::vector<cpp_int> random_integers(const cpp_int& below) {
    std::vector<cpp_int> values(ring_.tables().n());
    for (cpp_int& value : values) {
      for (int i = 0; i < 12; ++i) value = (value << 64) + random_();
      value %= below;
    }
    return values;
  }

  /// NTT form of integers modulo special and chain primes.
  [[nodiscard]] ring::poly make(const std::vector<cpp_int>& values, window special, window chain) {
    ring::poly result(ring_, special, chain, memory::object_class::scratch, "test");
    for (const backend::limb_view& view : result.views()) {
      for (std::uint32_t i = 0; i < view.primes.count; ++i) store(view, i, values);
      const backend::unary_job job{view, view};
      ring_.device().ntt(ring_.tables(), {&job, 1});
    }
    return result;
  }

  /// Coefficients of one limb of an NTT-form view.
  [[nodiscard]] std::vector<std::uint64_t> residues(const backend::limb_view& view, std::uint32_t prime) {
    const ring::poly copy = ring::make_poly(ring_, {prime, 1}, memory::object_class::scratch, "test");
    const backend::unary_job job{copy.chain(), view.slice({prime, 1})};
    ring_.device().intt(ring_.tables(), {&job, 1});
    const std::size_t n = ring_.tables().n();
    std::vector<std::uint64_t> result(n);
    if (ring_.tables().word_bits == 64) {
      ring_.device().download(std::as_writable_bytes(std::span(result)), copy.data(), 0);
    } else {
      std::vector<std::uint32_t> words(n);
      ring_.device().download(std::as_writable_bytes(std::span(words)), copy.data(), 0);
      result.assign(words.begin(), words.end());
    }
    return result;
  }

 private:
  void store(const backend::limb_view& view, std::uint32_t i, const std::vector<cpp_int>& values) {
    const std::uint64_t q = prime(view.primes.first + i);
    std::vector<std::uint64_t> wide;
    for (const cpp_int& value : values) wide.push_back(static_cast<std::uint64_t>(((value % q) + q) % q));
    const std::size_t offset = (view.limb + i) * ring_.tables().limb_bytes();
    if (ring_.tables().word_bits == 64) {
      ring_.device().upload(*view.data, offset, std::as_bytes(std::span(wide)));
    } else {
      const std::vector<std::uint32_t> narrow(wide.begin(), wide.end());
      ring_.device().upload(*view.data, offset, std::as_bytes(std::span(narrow)));
    }
  }

  params::parameters parameters_;
  ring::context ring_;
  rns::base_converter converter_;
  std::mt19937_64 random_{seed};
};

cpp_int floor_div(const cpp_int& a, const cpp_int& b) {
  cpp_int quotient = a / b;
  if (a % b != 0 && a < 0) --quotient;
  return quotient;
}

/// Checks dst = round(factor * added * x / dropped) on every target limb. The fixed-point quotient may round
/// the other way when the remainder is within 2^-14 of one half, so there both neighbours count as right, but
/// all limbs must agree on one.
void expect_quotient(exact_ring& exact, const ring::poly& result, const std::vector<cpp_int>& values,
                     const cpp_int& numerator, const cpp_int& denominator) {
  const window target = result.chain().primes;
  std::vector<int> choice(values.size(), -1);
  for (std::uint32_t i = target.first; i < target.end(); ++i) {
    const std::vector<std::uint64_t> got = exact.residues(result.chain(), i);
    const cpp_int q = exact.prime(i);
    for (std::size_t k = 0; k < values.size(); ++k) {
      const cpp_int x = values[k] * numerator;
      const cpp_int low = floor_div(x, denominator);
      const cpp_int rest = x - low * denominator;
      const bool tie = abs(2 * rest - denominator) * 8192 < denominator;
      const int nearest = 2 * rest >= denominator ? 1 : 0;
      const auto residue = [&](int up) { return static_cast<std::uint64_t>((((low + up) % q) + q) % q); };
      if (choice[k] < 0) choice[k] = tie && got[k] != residue(nearest) ? 1 - nearest : nearest;
      ASSERT_EQ(got[k], residue(choice[k])) << "prime " << i << " coefficient " << k;
    }
  }
}

class Division : public testing::TestWithParam<std::string> {
 protected:
  void run(exact_ring& exact, const rns::division& step, const cpp_int& factor) {
    const window s = step.source_chain;
    const cpp_int modulus = exact.product({step.source_special, s});
    const auto values = exact.random_integers(modulus);
    const ring::poly source = exact.make(values, step.source_special, s);
    const ring::poly* pointer = &source;
    const auto results = rns::divide(exact.ring(), exact.converter(), step, {&pointer, 1},
                                     memory::object_class::scratch, "test");
    cpp_int dropped = exact.product({step.source_special});
    cpp_int added = 1;
    for (std::uint32_t i = s.first; i < s.end(); ++i) {
      if (!step.target.contains(i)) dropped *= exact.prime(i);
    }
    for (std::uint32_t i = step.target.first; i < step.target.end(); ++i) {
      if (!s.contains(i)) added *= exact.prime(i);
    }
    // Residues know the numerator only modulo the source modulus times the added primes.
    std::vector<cpp_int> reduced;
    for (const cpp_int& x : values) reduced.push_back(factor * x % modulus);
    expect_quotient(exact, results.front(), reduced, added, dropped);
  }
};

TEST_P(Division, RescalesEveryLevelExactly) {
  exact_ring exact(GetParam());
  const params::parameters& p = exact.parameters();
  for (unsigned level = p.max_level(); level > 0; --level) {
    SCOPED_TRACE(level);
    run(exact, {{}, p.level(level).q, p.level(level - 1).q, {}}, 1);
  }
}

TEST_P(Division, DropsSpecialPrimesAndRescalesInOneStep) {
  exact_ring exact(GetParam());
  const params::parameters& p = exact.parameters();
  const unsigned top = p.max_level();
  run(exact, {p.special_window(), p.level(top).q, p.level(top).q, {}}, 1);
  run(exact, {p.special_window(), p.level(top).q, p.level(top - 1).q, {}}, 1);
  run(exact, {p.special_window(), p.level(1).q, p.level(0).q, {}}, 1);
}

INSTANTIATE_TEST_SUITE_P(Presets, Division, testing::Values("test-n10-d3", "test-n10-d3-w64", "test-n11-d8"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) {
                             if (c == '-') c = '_';
                           }
                           return name;
                         });

TEST(ModUp, DigitsAreCentredRepresentatives) {
  exact_ring exact("test-n11-d8");
  const params::parameters& p = exact.parameters();
  for (const unsigned level : {p.max_level(), p.max_level() / 2, 0U}) {
    const window chain = p.level(level).q;
    const auto values = exact.random_integers(exact.product({chain}));
    const ring::poly source = exact.make(values, {}, chain);
    const auto raised = rns::mod_up(exact.ring(), exact.converter(), source.chain());
    for (std::size_t d = 0; d < raised.digits.size(); ++d) {
      const window whole = p.digit(raised.numbers[d]);
      const std::uint32_t first = std::max(whole.first, chain.first);
      const std::uint32_t end = std::min(whole.end(), chain.end());
      const cpp_int modulus = exact.product({{first, end - first}});
      std::vector<backend::limb_view> views{raised.digits[d].special()};
      for (std::size_t run = 0; run < raised.runs.size(); ++run) views.push_back(raised.at(d, run));
      for (const backend::limb_view& view : views) {
        for (std::uint32_t i = view.primes.first; i < view.primes.end(); ++i) {
          const auto got = exact.residues(view, i);
          const cpp_int q = exact.prime(i);
          for (std::size_t k = 0; k < values.size(); ++k) {
            cpp_int digit = values[k] % modulus;
            if (2 * digit >= modulus) digit -= modulus;
            if (abs(2 * abs(digit) - modulus) * 8192 < modulus) continue;  // either representative is fine
            ASSERT_EQ(got[k], static_cast<std::uint64_t>(((digit % q) + q) % q))
                << "digit " << d << " prime " << i;
          }
        }
      }
    }
  }
}

}  // namespace
