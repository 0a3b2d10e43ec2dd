// SPDX-License-Identifier: Apache-2.0
// The integers of SEAL, against the rules written out with 128-bit arithmetic.
// python/tests/test_seal_exact.py compares with SEAL itself.
#include "halocline/seal/evaluator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "backend/cpu/scalar_ntt.hpp"
#include "halocline/backend/registry.hpp"
#include "halocline/params/primes.hpp"
#include "halocline/ring/automorphism.hpp"
#include "halocline/ring/ntt_tables.hpp"
#include "support/message_of.hpp"
#include "support/seal_samples.hpp"

namespace halocline::seal {
namespace {

__extension__ using wide = unsigned __int128;
using words = std::vector<std::uint64_t>;
namespace format = seal_format;

constexpr std::uint64_t n = 1024;
constexpr unsigned log_n = 10;

std::uint64_t times(std::uint64_t a, std::uint64_t b, std::uint64_t q) {
  return static_cast<std::uint64_t>(static_cast<wide>(a) * b % q);
}
std::uint64_t power(std::uint64_t base, std::uint64_t exponent, std::uint64_t q) {
  std::uint64_t result = 1;
  for (; exponent != 0; exponent /= 2, base = times(base, base, q)) {
    if (exponent % 2 == 1) result = times(result, base, q);
  }
  return result;
}

/// One limb to NTT form and back, by the scalar kernels.
struct limb_transform {
  arith::modulus<std::uint64_t> q;
  words roots = words(4 * n);

  explicit limb_transform(std::uint64_t prime) : q(arith::make_modulus(prime)) {
    ring::fill_roots<std::uint64_t>(q, log_n, roots);
  }
  [[nodiscard]] backend::cpu::prime_tables<std::uint64_t> tables() const {
    return {&q, roots.data(), roots.data() + n, roots.data() + 2 * n, roots.data() + 3 * n, log_n};
  }
  [[nodiscard]] words forward(words x) const {
    backend::cpu::scalar::ntt(x.data(), static_cast<const std::uint64_t*>(x.data()), tables());
    return x;
  }
  [[nodiscard]] words inverse(words x) const {
    backend::cpu::scalar::intt(x.data(), static_cast<const std::uint64_t*>(x.data()), tables());
    return x;
  }
};

/// Polynomials as limbs, and the rules of SEAL on them.
struct model {
  format::parameters of = test::thousand_parameters();
  std::vector<limb_transform> transforms{of.primes.begin(), of.primes.end()};

  using limbs = std::vector<words>;  // one per prime

  [[nodiscard]] limbs part(const format::ciphertext& c, std::size_t i) const {
    limbs made;
    for (std::size_t k = 0; k < c.primes; ++k) {
      const auto begin = c.data.begin() + static_cast<std::ptrdiff_t>((i * c.primes + k) * n);
      made.emplace_back(begin, begin + n);
    }
    return made;
  }

  /// Divides by prime p what has `kept` and, modulo p, `last`.
  [[nodiscard]] limbs divide(const limbs& kept, const words& last, std::size_t p) const {
    const std::uint64_t divisor = of.primes[p], half = divisor / 2;
    const words coefficients = transforms[p].inverse(last);
    limbs made;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const std::uint64_t q = of.primes[i], inverse = power(divisor % q, q - 2, q);
      words rest(n);
      for (std::size_t j = 0; j < n; ++j) {
        rest[j] = ((coefficients[j] + half) % divisor % q + q - half % q) % q;
      }
      rest = transforms[i].forward(rest);
      made.emplace_back(n);
      for (std::size_t j = 0; j < n; ++j) made[i][j] = times((kept[i][j] + q - rest[j]) % q, inverse, q);
    }
    return made;
  }

  /// What a key switch of `target` adds to both polynomials.
  [[nodiscard]] std::pair<limbs, limbs> switched(const limbs& target,
                                                 const std::vector<format::ciphertext>& key) const {
    const std::size_t count = target.size(), special = of.primes.size() - 1;
    limbs sums[2] = {limbs(of.primes.size(), words(n)), limbs(of.primes.size(), words(n))};
    for (std::size_t j = 0; j < count; ++j) {
      const words digit = transforms[j].inverse(target[j]);
      for (std::size_t i = 0; i <= special; ++i) {
        if (i >= count && i != special) continue;
        const std::uint64_t q = of.primes[i];
        words reduced = digit;
        for (std::uint64_t& x : reduced) x %= q;
        reduced = transforms[i].forward(reduced);
        for (std::size_t c = 0; c < 2; ++c) {
          const words k = part(key[j], c)[i];
          for (std::size_t w = 0; w < n; ++w) {
            sums[c][i][w] = (sums[c][i][w] + times(reduced[w], k[w], q)) % q;
          }
        }
      }
    }
    const auto finish = [&](limbs& sum) {
      const words last = sum[special];
      sum.resize(count);
      return divide(sum, last, special);
    };
    return {finish(sums[0]), finish(sums[1])};
  }

  [[nodiscard]] words sum(const limbs& a, const limbs& b) const {
    words made;
    for (std::size_t i = 0; i < a.size(); ++i) {
      for (std::size_t j = 0; j < n; ++j) made.push_back((a[i][j] + b[i][j]) % of.primes[i]);
    }
    return made;
  }
};

words join(words a, const words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
words flat(const model::limbs& a) {
  words made;
  for (const words& limb : a) made = join(std::move(made), limb);
  return made;
}

class SealEvaluator : public testing::TestWithParam<bool> {
 protected:
  SealEvaluator() {
    backend::backend_options options;
    options.threads = 1;
    options.scalar = GetParam();
    const char* const device = std::getenv("HALOCLINE_TEST_DEVICE");  // "sycl:0"; none: the CPU
    ctx = std::make_unique<context>(test::thousand_parameters(),
                                    backend::make_backend(device != nullptr ? device : "cpu", options), true);
    on = std::make_unique<evaluator>(*ctx);
  }
  [[nodiscard]] format::ciphertext sample(std::uint32_t size, std::uint32_t primes,
                                          std::uint64_t seed) const {
    return test::sample_seal_ciphertext(ctx->chain(), size, primes, seed);
  }
  [[nodiscard]] words words_of(const ciphertext& c) { return store(*ctx, c).data; }

  model rules;
  std::unique_ptr<context> ctx;
  std::unique_ptr<evaluator> on;
};

TEST_P(SealEvaluator, RescalingRoundsAsSealDoes) {
  for (const std::uint32_t primes : {2U, 3U}) {
    format::ciphertext from = sample(2, primes, 5);
    // Coefficients at and beside the places where rounding changes, and the ends.
    const std::uint64_t p = rules.of.primes[primes - 1];
    words edges = rules.transforms[primes - 1].inverse(rules.part(from, 0)[primes - 1]);
    const std::uint64_t special[] = {0, 1, p / 2 - 1, p / 2, p / 2 + 1, p / 2 + 2, p - 2, p - 1};
    std::copy(std::begin(special), std::end(special), edges.begin());
    edges = rules.transforms[primes - 1].forward(edges);
    std::copy(edges.begin(), edges.end(), from.data.begin() + (primes - 1) * n);
    words expected;
    for (std::size_t i = 0; i < 2; ++i) {
      model::limbs kept = rules.part(from, i);
      const words last = kept.back();
      kept.pop_back();
      expected = join(std::move(expected), flat(rules.divide(kept, last, primes - 1)));
    }
    const ciphertext made = on->rescale_to_next(load(*ctx, from));
    EXPECT_EQ(words_of(made), expected) << primes << " primes";
    EXPECT_EQ(made.scale, from.scale / static_cast<double>(p));
  }
}

TEST_P(SealEvaluator, RelinearizingAddsTheKeySwitchOfSeal) {
  const format::switch_keys keys = test::sample_switch_keys(ctx->chain(), 1, false);
  const switch_key_set loaded = load_relin_keys(*ctx, keys);
  for (const std::uint32_t primes : {1U, 2U, 3U}) {
    const format::ciphertext from = sample(3, primes, 11);
    const auto [first, second] = rules.switched(rules.part(from, 2), keys.keys[0]);
    const words expected =
        join(rules.sum(rules.part(from, 0), first), rules.sum(rules.part(from, 1), second));
    EXPECT_EQ(words_of(on->relinearize(load(*ctx, from), loaded)), expected) << primes << " primes";
  }
}

TEST_P(SealEvaluator, RotationsTurnFirstAndSwitchThen) {
  format::switch_keys keys = test::sample_switch_keys(ctx->chain(), 3, false);  // element 3: one step
  const switch_key_set loaded = load_galois_keys(*ctx, keys);
  const format::ciphertext from = sample(2, 2, 13);
  const std::vector<std::uint32_t> index = ring::automorphism_permutation(3, log_n);
  const auto turn = [&](model::limbs x) {
    for (words& limb : x) {
      const words before = limb;
      for (std::size_t j = 0; j < n; ++j) limb[j] = before[index[j]];
    }
    return x;
  };
  const auto [first, second] = rules.switched(turn(rules.part(from, 1)), keys.keys[1]);
  const words expected = join(rules.sum(turn(rules.part(from, 0)), first), flat(second));
  const ciphertext x = load(*ctx, from);
  EXPECT_EQ(words_of(on->rotate_vector(x, 1, loaded)), expected);
  EXPECT_EQ(words_of(on->apply_galois(x, 3, loaded)), expected);
  EXPECT_EQ(words_of(on->rotate_vector(x, 0, loaded)), from.data);
  EXPECT_THROW((void)on->rotate_vector(x, 2, loaded), missing_key);
  EXPECT_THROW((void)on->rotate_vector(x, n / 2, loaded), invalid_argument);
}

TEST_P(SealEvaluator, ProductsAndSumsTakeAnyNumberOfPolynomials) {
  const format::ciphertext a = sample(3, 2, 17), b = sample(2, 2, 19);
  words product(4 * 2 * n), sum = a.data, difference = a.data, negative = b.data;
  for (std::size_t k = 0; k < 2; ++k) {
    const std::uint64_t q = rules.of.primes[k];
    for (std::size_t w = 0; w < n; ++w) {
      const auto at = [&](std::size_t part) { return (part * 2 + k) * n + w; };
      for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < 2; ++j) {
          std::uint64_t& to = product[at(i + j)];
          to = (to + times(a.data[at(i)], b.data[at(j)], q)) % q;
        }
      }
      for (std::size_t j = 0; j < 2; ++j) {
        sum[at(j)] = (a.data[at(j)] + b.data[at(j)]) % q;
        difference[at(j)] = (a.data[at(j)] + q - b.data[at(j)]) % q;
        negative[at(j)] = (q - b.data[at(j)]) % q;
      }
    }
  }
  const ciphertext x = load(*ctx, a), y = load(*ctx, b);
  EXPECT_EQ(words_of(on->multiply(x, y)), product);
  EXPECT_EQ(words_of(on->add(x, y)), sum);
  EXPECT_EQ(words_of(on->sub(x, y)), difference);
  const words reversed = words_of(on->sub(y, x));
  EXPECT_EQ(words_of(on->negate(on->sub(y, x))), difference);
  EXPECT_EQ(words_of(on->negate(y)), negative);
  EXPECT_EQ(words_of(on->square(y)), words_of(on->multiply(y, y)));
  words first(a.data.begin(), a.data.begin() + n);
  first.insert(first.end(), a.data.begin() + 2 * n, a.data.begin() + 3 * n);
  first.insert(first.end(), a.data.begin() + 4 * n, a.data.begin() + 5 * n);
  EXPECT_EQ(words_of(on->mod_switch_to_next(x)), first);
}

TEST_P(SealEvaluator, SeededKeysAndCiphertextsAreThoseThatTheyStandFor) {
  const format::switch_keys seeded = test::sample_switch_keys(ctx->chain(), 1, true);
  format::switch_keys full = seeded;
  ctx->chain().expand(full);
  const ciphertext x = load(*ctx, sample(3, 3, 23));
  EXPECT_EQ(words_of(on->relinearize(x, load_relin_keys(*ctx, seeded))),
            words_of(on->relinearize(x, load_relin_keys(*ctx, full))));
  format::ciphertext fresh = test::sample_seeded(ctx->chain(), 2, format::seed_kind::blake2xb);
  const ciphertext loaded = load(*ctx, fresh);
  ctx->chain().expand(fresh);
  EXPECT_EQ(store(*ctx, loaded), fresh);
}

TEST_P(SealEvaluator, OperandsThatDoNotFitAreRefused) {
  const ciphertext x = load(*ctx, sample(2, 2, 29)), low = load(*ctx, sample(2, 1, 31));
  format::ciphertext large = sample(2, 2, 37);
  large.scale = std::ldexp(1.0, 70);
  const ciphertext huge = load(*ctx, large);
  EXPECT_THAT(test::message_of<invalid_argument>([&] { (void)on->add(x, low); }),
              testing::HasSubstr("operands with 2 and 1 primes"));
  EXPECT_THAT(test::message_of<scale_mismatch>([&] { (void)on->add(x, huge); }),
              testing::HasSubstr("expected equal ones"));
  EXPECT_THAT(test::message_of<scale_mismatch>([&] { (void)on->multiply(huge, huge); }),
              testing::HasSubstr("out of bounds"));
  EXPECT_THROW((void)on->mod_switch_to_next(huge), scale_mismatch);
  EXPECT_THROW((void)on->rescale_to_next(low), level_exhausted);
  EXPECT_THROW((void)on->mod_switch_to_next(low), level_exhausted);
  EXPECT_THAT(test::message_of<missing_key>([&] { (void)on->relinearize(on->square(x), {}); }),
              testing::HasSubstr("no key for power 2"));
  EXPECT_THROW((void)on->apply_galois(on->square(x), 3, {}), invalid_argument);
  EXPECT_THROW((void)on->apply_galois(x, 2, {}), invalid_argument);
  context other(test::thousand_parameters(), backend::make_backend("cpu"), true);
  EXPECT_THAT(test::message_of<invalid_argument>([&] { (void)evaluator(other).negate(x); }),
              testing::HasSubstr("of another engine"));
  EXPECT_THROW((void)store(other, x), invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(Kernels, SealEvaluator, testing::Values(false, true),
                         [](const auto& info) { return info.param ? "Scalar" : "Simd"; });

TEST(SealContext, ParametersBelow128BitsNeedPermission) {
  const auto make = [](const format::parameters& of, bool insecure) {
    return std::make_unique<context>(of, backend::make_backend("cpu"), insecure);
  };
  EXPECT_THAT(test::message_of<insecure_parameters>([&] { make(test::thousand_parameters(), false); }),
              testing::HasSubstr("expected at most 27 for ring degree 1024"));
  EXPECT_NO_THROW(make(test::thousand_parameters(), true));
  // SEAL's own choice for N = 4096: 109 bits.
  EXPECT_NO_THROW(make({format::scheme::ckks, 4096, {0xffffee001, 0xffffc4001, 0x1ffffe0001}, 0}, false));
}

TEST(SealContext, ModuliMustBePrimeAndRingsLargeEnough) {
  const auto message = [](const format::parameters& of) {
    return test::message_of<invalid_argument>([&] { context(of, backend::make_backend("cpu"), true); });
  };
  EXPECT_THAT(message({format::scheme::ckks, 8, {17}, 0}), testing::HasSubstr("at least 1024"));
  EXPECT_THAT(message({format::scheme::ckks, 1024, {2049 * 4097ULL}, 0}), testing::HasSubstr("is not prime"));
}

TEST(SealContext, OnePrimeServesDataAndHasNoKeySwitch) {
  const std::uint64_t prime = params::primes_below(40.0, 1, 2 * n).front();
  context ctx({format::scheme::ckks, n, {prime}, 0}, backend::make_backend("cpu"), true);
  evaluator on(ctx);
  const format::ciphertext from = test::sample_seal_ciphertext(ctx.chain(), 2, 1);
  EXPECT_EQ(store(ctx, load(ctx, from)), from);
  EXPECT_THROW((void)ctx.special(), invalid_argument);
  EXPECT_THROW((void)on.complex_conjugate(load(ctx, from), {}), missing_key);
}

TEST(SealContext, RotationsAreElementsOfThree) {
  EXPECT_EQ(galois_element(1024, 0), 1U);
  EXPECT_EQ(galois_element(1024, 1), 3U);
  EXPECT_EQ(galois_element(1024, 2), 9U);
  EXPECT_EQ(galois_element(1024, -1) * 3 % 2048, 1U);
  EXPECT_EQ(galois_element(1024, 511), galois_element(1024, -1));
  EXPECT_THROW((void)galois_element(1024, 512), invalid_argument);
}

}  // namespace
}  // namespace halocline::seal
