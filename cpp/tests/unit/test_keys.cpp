// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/keys.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "halocline/arith/arith.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/key_generator.hpp"
#include "halocline/core/error.hpp"
#include "halocline/params/footprint.hpp"
#include "halocline/ring/automorphism.hpp"
#include "support/message_of.hpp"
#include "support/residues.hpp"

namespace halocline::ckks {
namespace {

using arith::window;
using backend::limb_view;
using ::testing::HasSubstr;

/// A client's view of one preset.
struct key_rig {
  explicit key_rig(params::parameters parameters, const char* device = "cpu")
      : ctx(test::make_test_context(std::move(parameters), device)), generator(*ctx, random) {}

  [[nodiscard]] limb_view secret_on(const secret_key& secret, window primes) const {
    return limb_view{&secret.value.data(), 0, ctx->parameters().all_window()}.slice(primes);
  }
  [[nodiscard]] std::vector<std::int64_t> coefficients_of(const secret_key& secret) const {
    std::vector<std::int64_t> out(ctx->parameters().n());
    ctx->device().download(std::as_writable_bytes(std::span(out)), secret.coefficients, 0);
    return out;
  }

  std::shared_ptr<context> ctx;
  ring::random_source random{backend::seed_bytes{42}};
  key_generator generator;
};

params::parameters sparse_parameters() {
  params::literal source = params::preset_literal("test-n10-d3");
  source.secret = {params::secret_kind::sparse, 32};
  return params::parameters::from_literal(source);
}

class KeysOn : public ::testing::TestWithParam<const char*> {
 protected:
  key_rig rig{params::preset(GetParam())};
  const params::parameters& parameters = rig.ctx->parameters();
  secret_key secret = rig.generator.make_secret_key();

  /// What an evaluation key must encrypt, in integers modulo the primes of the key: the error of digit j,
  /// that is (b + a s_target) / 2^w - P s_source on the limbs of the digit.
  std::vector<double> digit_error(const evaluation_key& key, std::size_t j);
};

TEST_P(KeysOn, SecretIsTernaryAndTheSameInBothForms) {
  const auto coefficients = rig.coefficients_of(secret);
  for (const std::int64_t value : {-1, 0, 1}) {
    EXPECT_NEAR(std::count(coefficients.begin(), coefficients.end(), value), parameters.n() / 3.0,
                5 * std::sqrt(parameters.n() * 2 / 9.0));
  }
  const std::vector<double> lifted =
      test::integer_coefficients(*rig.ctx, rig.secret_on(secret, parameters.all_window()));
  EXPECT_TRUE(std::equal(lifted.begin(), lifted.end(), coefficients.begin(), coefficients.end(),
                         [](double x, std::int64_t y) { return x == static_cast<double>(y); }));
  EXPECT_EQ(secret.coefficients.cls(), memory::object_class::scratch);
  EXPECT_EQ(secret.value.data().cls(), memory::object_class::scratch);
  EXPECT_EQ(secret.coefficients.size() + secret.value.data().size(),
            params::footprint(parameters).secret_key());
}

TEST_P(KeysOn, PublicKeyIsAnEncryptionOfZeroOnAllChainPrimes) {
  const public_key key = rig.generator.make_public_key(secret);
  const window chain{parameters.special_count(), parameters.prime_count() - parameters.special_count()};
  EXPECT_EQ(key.b.chain().primes, chain);
  EXPECT_EQ(key.a.chain().primes, chain);
  EXPECT_EQ(key.bytes(), params::footprint(parameters).public_key());
  const backend::binary_job job{key.b.chain(), key.a.chain(), rig.secret_on(secret, chain)};
  rig.ctx->device().multiply_add(rig.ctx->tables(), {&job, 1});
  const std::vector<double> error = test::integer_coefficients(*rig.ctx, key.b.chain());
  EXPECT_NEAR(test::root_mean_square(error), parameters.error_stddev(), 0.5);
  EXPECT_LT(test::largest_of(error), 30);
  const ring::poly again = ring::make_poly(rig.ctx->ring(), chain, memory::object_class::scratch, "test");
  const backend::uniform_job uniform{again.chain(), key.seed};
  rig.ctx->device().sample_uniform(rig.ctx->tables(), {&uniform, 1});
  EXPECT_EQ(test::words_of(*rig.ctx, again.chain()), test::words_of(*rig.ctx, key.a.chain()));
}

template <typename WordT>
std::vector<std::uint64_t> inverse_radix(const params::parameters& parameters, window primes) {
  std::vector<std::uint64_t> out;
  for (std::uint32_t i = primes.first; i < primes.end(); ++i) {
    const auto q = arith::make_modulus(static_cast<WordT>(parameters.primes()[i]));
    out.push_back(arith::inverse_mod(q.r, q));
  }
  return out;
}

std::vector<double> KeysOn::digit_error(const evaluation_key& key, std::size_t j) {
  context& ctx = *rig.ctx;
  const window limbs{0, evaluation_key::limb_count(parameters, key.level)};
  const auto scratch = [&] {
    return ring::poly(ctx.ring(), {}, limbs, memory::object_class::scratch, "test");
  };
  const ring::poly sum = scratch();
  const ring::poly rotated = scratch();
  const ring::poly source = scratch();
  const limb_view s = rig.secret_on(secret, limbs);
  limb_view target = s;
  if (key.galois_element == relinearization_element) {
    const backend::binary_job square{source.chain(), s, s};
    ctx.device().multiply(ctx.tables(), {&square, 1});
  } else {
    const std::uint64_t inverse = ring::inverse_galois_element(key.galois_element, parameters.log_n());
    const backend::automorphism_job job{rotated.chain(), s, &ctx.ring().permutation(inverse)};
    ctx.device().automorphism(ctx.tables(), {&job, 1});
    target = rotated.chain();
    const backend::unary_job copy{source.chain(), s};
    ctx.device().copy(ctx.tables(), {&copy, 1});
  }
  const backend::unary_job copy{sum.chain(), {&key.digits[j].b, 0, limbs}};
  ctx.device().copy(ctx.tables(), {&copy, 1});
  const backend::binary_job product{sum.chain(), {&key.digits[j].a, 0, limbs}, target};
  ctx.device().multiply_add(ctx.tables(), {&product, 1});
  const auto radix = parameters.word_bits() == 32 ? inverse_radix<std::uint32_t>(parameters, limbs)
                                                  : inverse_radix<std::uint64_t>(parameters, limbs);
  backend::scalar_job scale{sum.chain(), sum.chain(), {}};
  for (const std::uint64_t factor : radix) scale.scalars.push_back({factor, factor});
  ctx.device().scalar_multiply(ctx.tables(), {&scale, 1});
  window digit = parameters.digit(static_cast<unsigned>(j));
  digit.count = std::min(digit.count, limbs.count - digit.first);
  backend::scalar_job gadget{source.chain().slice(digit), source.chain().slice(digit), {}};
  for (std::uint32_t i = digit.first; i < digit.end(); ++i) {
    std::uint64_t special = 1;
    __extension__ using wide = unsigned __int128;
    for (unsigned k = 0; k < parameters.special_count(); ++k) {
      special = static_cast<std::uint64_t>(static_cast<wide>(special) * parameters.primes()[k] %
                                           parameters.primes()[i]);
    }
    gadget.scalars.push_back({special, special});
  }
  ctx.device().scalar_multiply(ctx.tables(), {&gadget, 1});
  const backend::binary_job difference{sum.chain().slice(digit), sum.chain().slice(digit),
                                       source.chain().slice(digit)};
  ctx.device().sub(ctx.tables(), {&difference, 1});
  return test::integer_coefficients(ctx, sum.chain());
}

TEST_P(KeysOn, EveryDigitEncryptsItsPartOfTheSourceSecretWithAFreshError) {
  for (const std::uint64_t element :
       {relinearization_element, parameters.galois_element(3), parameters.conjugation_element()}) {
    for (const unsigned level : {0U, 1U, parameters.max_level()}) {
      const evaluation_key key = rig.generator.make_evaluation_key(secret, {element, level});
      EXPECT_EQ(key.galois_element, element);
      EXPECT_EQ(key.level, level);
      std::vector<double> previous;
      for (std::size_t j = 0; j < key.digits.size(); ++j) {
        const std::vector<double> error = digit_error(key, j);
        ASSERT_LT(test::largest_of(error), 30)
            << "element " << element << " level " << level << " digit " << j;
        ASSERT_NEAR(test::root_mean_square(error), parameters.error_stddev(), 0.5);
        ASSERT_NE(error, previous);
        previous = error;
      }
    }
  }
}

TEST_P(KeysOn, SizesAreThoseOfTheFootprint) {
  const params::footprint sizes(parameters);
  for (unsigned level = 0; level <= parameters.max_level(); ++level) {
    const evaluation_key full =
        rig.generator.make_evaluation_key(secret, {parameters.galois_element(1), level});
    const evaluation_key seeded =
        rig.generator.make_evaluation_key(secret, {parameters.galois_element(1), level}, true);
    EXPECT_EQ(full.bytes(), sizes.evaluation_key(level)) << level;
    EXPECT_EQ(seeded.bytes(), sizes.evaluation_key_seeded(level)) << level;
    for (const evaluation_key_digit& digit : seeded.digits) EXPECT_FALSE(digit.a);
    for (const evaluation_key_digit& digit : full.digits) {
      EXPECT_EQ(digit.b.cls(), memory::object_class::evaluation_key);
      EXPECT_EQ(digit.a.cls(), memory::object_class::evaluation_key);
    }
  }
}

TEST_P(KeysOn, SeededAndFullKeysOfOneRandomStreamAreTheSame) {
  const auto make = [&](bool seeded) {
    ring::random_source random{backend::seed_bytes{8}};
    key_generator generator(*rig.ctx, random);
    return generator.make_evaluation_key(secret, {relinearization_element, 2}, seeded);
  };
  const evaluation_key full = make(false);
  evaluation_key seeded = make(true);
  expand(*rig.ctx, seeded);
  const window limbs{0, evaluation_key::limb_count(parameters, 2)};
  ASSERT_EQ(full.digits.size(), seeded.digits.size());
  for (std::size_t j = 0; j < full.digits.size(); ++j) {
    EXPECT_EQ(test::words_of(*rig.ctx, {&full.digits[j].a, 0, limbs}),
              test::words_of(*rig.ctx, {&seeded.digits[j].a, 0, limbs}));
    EXPECT_EQ(test::words_of(*rig.ctx, {&full.digits[j].b, 0, limbs}),
              test::words_of(*rig.ctx, {&seeded.digits[j].b, 0, limbs}));
    EXPECT_EQ(full.digits[j].source.stream, j);
    EXPECT_EQ(full.digits[j].source.seed, full.digits[0].source.seed);
  }
}

TEST_P(KeysOn, TransferCopiesBothForms) {
  const auto to = test::make_test_context(parameters);
  const window limbs{0, evaluation_key::limb_count(parameters, 1)};
  for (const bool seeded : {false, true}) {
    const evaluation_key source =
        rig.generator.make_evaluation_key(secret, {relinearization_element, 1}, seeded);
    const evaluation_key copy = transfer(source, *to);
    EXPECT_EQ(copy.bytes(), source.bytes());
    EXPECT_EQ(copy.level, 1U);
    for (std::size_t j = 0; j < copy.digits.size(); ++j) {
      EXPECT_EQ(static_cast<bool>(copy.digits[j].a), !seeded);
      EXPECT_EQ(copy.digits[j].source.seed, source.digits[j].source.seed);
      EXPECT_EQ(test::words_of(*to, {&copy.digits[j].b, 0, limbs}),
                test::words_of(*rig.ctx, {&source.digits[j].b, 0, limbs}));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(keys, KeysOn, ::testing::Values("test-n10-d3", "test-n10-d3-w64", "test-n11-d8"));

TEST(Keys, SparseSecretHasItsWeight) {
  key_rig rig(sparse_parameters());
  const auto coefficients = rig.coefficients_of(rig.generator.make_secret_key());
  EXPECT_EQ(std::count_if(coefficients.begin(), coefficients.end(), [](std::int64_t x) { return x != 0; }),
            32);
}

TEST(Keys, ComeOutTheSameFromTheSameSeed) {
  key_rig first(params::preset("test-n10-d3"));
  key_rig second(params::preset("test-n10-d3"));
  const secret_key a = first.generator.make_secret_key();
  const secret_key b = second.generator.make_secret_key();
  EXPECT_EQ(first.coefficients_of(a), second.coefficients_of(b));
  const public_key pa = first.generator.make_public_key(a);
  const public_key pb = second.generator.make_public_key(b);
  EXPECT_EQ(test::words_of(*first.ctx, pa.b.chain()), test::words_of(*second.ctx, pb.b.chain()));
  EXPECT_NE(first.coefficients_of(first.generator.make_secret_key()), first.coefficients_of(a));
}

/// Whether all freed blocks of this size are zero. The runtime hands them out again without touching them.
testing::AssertionResult freed_blocks_are_zero(context& ctx, std::size_t bytes) {
  std::vector<memory::buffer> blocks;
  while (true) {
    const std::size_t cached = ctx.runtime().statistics().cached_bytes;
    blocks.push_back(ctx.runtime().allocate(bytes, memory::object_class::scratch, "test"));
    if (ctx.runtime().statistics().cached_bytes == cached) break;  // a fresh one: no more freed blocks
    std::vector<std::byte> seen(bytes, std::byte{1});
    ctx.device().download(seen, blocks.back(), 0);
    if (std::any_of(seen.begin(), seen.end(), [](std::byte x) { return x != std::byte{0}; })) {
      return testing::AssertionFailure()
             << "block " << blocks.size() << " of " << bytes << " bytes is not zero";
    }
  }
  if (blocks.size() == 1) return testing::AssertionFailure() << "no freed block of " << bytes << " bytes";
  return testing::AssertionSuccess();
}

TEST(Keys, SecretPolynomialsAreZeroAfterUse) {
  key_rig rig(params::preset("test-n10-d3"));
  const params::parameters& parameters = rig.ctx->parameters();
  const std::size_t coefficient_bytes = parameters.n() * sizeof(std::int64_t);
  (void)rig.generator.make_secret_key();
  EXPECT_TRUE(freed_blocks_are_zero(*rig.ctx, coefficient_bytes));
  EXPECT_TRUE(freed_blocks_are_zero(*rig.ctx, parameters.prime_count() * parameters.limb_bytes()));
}

TEST(Keys, ErrorsAndDerivedSecretsAreZeroAfterUse) {
  key_rig rig(params::preset("test-n10-d3"));
  const params::parameters& parameters = rig.ctx->parameters();
  const std::size_t coefficient_bytes = parameters.n() * sizeof(std::int64_t);
  const std::size_t limbs = evaluation_key::limb_count(parameters, 3);
  const secret_key secret = rig.generator.make_secret_key();
  const public_key kept = rig.generator.make_public_key(secret);
  EXPECT_TRUE(freed_blocks_are_zero(*rig.ctx, coefficient_bytes));
  EXPECT_TRUE(freed_blocks_are_zero(*rig.ctx, kept.b.data().size()));
  const evaluation_key square = rig.generator.make_evaluation_key(secret, {relinearization_element, 3});
  EXPECT_TRUE(
      freed_blocks_are_zero(*rig.ctx, (limbs - parameters.special_count()) * parameters.limb_bytes()));
  const evaluation_key rotation = rig.generator.make_evaluation_key(secret, {5, 3});
  EXPECT_TRUE(freed_blocks_are_zero(*rig.ctx, limbs * parameters.limb_bytes()));
  EXPECT_TRUE(freed_blocks_are_zero(*rig.ctx, coefficient_bytes));
}

TEST(Keys, SecretOfAnotherContextIsRefused) {
  key_rig rig(params::preset("test-n10-d3"));
  key_rig other(params::preset("test-n10-d3"));
  const secret_key foreign = other.generator.make_secret_key();
  EXPECT_THAT(test::message_of<invalid_argument>([&] { (void)rig.generator.make_public_key(foreign); }),
              HasSubstr("make_public_key: the secret key belongs to another context"));
  EXPECT_THAT(
      test::message_of<invalid_argument>([&] { (void)rig.generator.make_evaluation_key(secret_key{}, {}); }),
      HasSubstr("the secret key is empty"));
}

TEST(Keys, BadRequestsAreRefused) {
  key_rig rig(params::preset("test-n10-d3"));
  const secret_key secret = rig.generator.make_secret_key();
  for (const key_request& request : {key_request{2, 0}, key_request{2049, 0}, key_request{5, 4}}) {
    EXPECT_THROW((void)rig.generator.make_evaluation_key(secret, request), invalid_argument)
        << request.galois_element << " " << request.level;
  }
}

TEST(Keys, GhostMakesTheSameBuffersInTheSameOrder) {
  std::vector<std::vector<std::string>> runs;
  for (const char* device : {"cpu", "ghost"}) {
    key_rig rig(params::preset("test-n10-d3"), device);
    rig.ctx->runtime().start_trace();
    const secret_key secret = rig.generator.make_secret_key();
    const public_key key = rig.generator.make_public_key(secret);
    evaluation_key rotation = rig.generator.make_evaluation_key(secret, {5, 2}, true);
    expand(*rig.ctx, rotation);
    const evaluation_key square = rig.generator.make_evaluation_key(secret, {relinearization_element, 3});
    std::vector<std::string> rows;
    const memory::trace trace = rig.ctx->runtime().stop_trace();
    for (const memory::trace_event& event : trace.events) {
      rows.push_back(trace.op(event) + " " + trace.tag(event) + " " + std::to_string(event.bytes));
    }
    runs.push_back(rows);
  }
  EXPECT_EQ(runs[0], runs[1]);
}

}  // namespace
}  // namespace halocline::ckks
