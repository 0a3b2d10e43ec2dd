// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/layout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "halocline/core/error.hpp"

namespace halocline::pir {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// The layout of the published code for 1 GiB: 512 rows, 631 columns, gadgets of 8, 6 and 10 digits for q.
layout published(const parameters& paper) {
  return {512, 631, paper.split(4), paper.split(3), paper.split(5), 22, 22};
}

std::uint64_t plaintexts_of(const parameters& of, double gibibytes) {
  return static_cast<std::uint64_t>(
      std::ceil(gibibytes * 0x1p30 / static_cast<double>(of.plaintext_bytes())));
}

TEST(PirParameters, PrimesAllowTransforms) {
  for (const std::string& name : preset_names()) {
    const parameters of = preset(name, true);
    for (const std::uint64_t prime : of.primes()) {
      EXPECT_EQ(prime % (2 * of.n()), 1U) << name;
      EXPECT_LT(std::log2(static_cast<double>(prime)), of.source().prime_bits) << name;
    }
  }
}

TEST(PirParameters, DefaultSetsHave128Bits) {
  // ePrint 2024/463, Table 5.2.
  EXPECT_GE(preset("pir-n4096").security_bits(), 128);
  EXPECT_LE(preset("pir-n4096").log2_q(), 106);
  EXPECT_GE(preset("pir-n2048").security_bits(), 128);
  EXPECT_LE(preset("pir-n2048").log2_q(), 53);
}

TEST(PirParameters, RefusesInsecureSetsUnlessAllowed) {
  EXPECT_THAT([] { (void)preset("paper"); }, ThrowsMessage<insecure_parameters>(HasSubstr("pir-n4096")));
  EXPECT_EQ(preset("paper", true).primes().size(), 2U);
  literal large{.name = "large", .prime_bits = 28};
  EXPECT_THAT([&] { (void)parameters::from_literal(large); },
              ThrowsMessage<insecure_parameters>(HasSubstr("about 121 bits")));
}

TEST(PirParameters, RefusesFieldsOutOfRange) {
  const auto refused = [](literal source, const char* part) {
    EXPECT_THAT([&] { (void)parameters::from_literal(source); },
                ThrowsMessage<invalid_argument>(HasSubstr(part)));
  };
  refused({.log_n = 9}, "log_n is 9; expected 10 to 13");
  refused({.prime_count = 5}, "prime_count");
  refused({.prime_bits = 31}, "prime_bits");
  refused({.prime_bits = std::nan("")}, "prime_bits");
  refused({.plain_bits = 33}, "plain_bits");
  refused({.log_n = 11, .prime_count = 2, .prime_bits = 19.5}, "prime_bits");
  refused({.log_n = 10, .prime_count = 2, .prime_bits = 20, .plain_bits = 32, .allow_insecure = true},
          "8 bits");
  EXPECT_THAT([] { (void)preset("pir-n1024"); }, ThrowsMessage<invalid_argument>(HasSubstr("pir-n2048")));
  EXPECT_THROW((void)preset("pir-n4096").split(0), invalid_argument);
}

// Sizes and operation counts of the published set, from its publication.
TEST(PirLayout, CountsOfThePublishedSet) {
  const parameters paper = preset("paper", true);
  const layout at = published(paper);
  EXPECT_EQ(at.column_bits(), 10U);
  EXPECT_EQ(at.packed(paper), 572U);
  EXPECT_EQ(at.expansion_depth(paper), 10U);
  const layout_sizes size = sizes(paper, at);
  EXPECT_EQ(size.query, 14880U);
  EXPECT_EQ(size.server_keys, 1488000U);
  EXPECT_EQ(size.answer, 11264U);
  EXPECT_EQ(work(paper, at).transforms, 11420 + 2640 + 17640);
  EXPECT_EQ(work(paper, at).products, 2.0 * 2 * 2048 * 512 * 631);
}

// Its authors observe 1 to 3 bits between the noise and half a step.
TEST(PirLayout, NoiseOfThePublishedSet) {
  const parameters paper = preset("paper", true);
  const noise_forecast noise = forecast(paper, published(paper));
  const double half_step = paper.log2_q() - paper.source().plain_bits - 1;
  EXPECT_NEAR(half_step - noise.selected, 2.7, 0.3);
  EXPECT_NEAR(noise.log2_failure, -20, 2);
}

TEST(PirLayout, ChosenLayoutsKeepTheirPromises) {
  const struct {
    const char* name;
    std::size_t query, keys;
    double answer;
  } limits[] = {{"pir-n4096", 56 << 10, 3355443, 2.6}, {"pir-n2048", 16 << 10, 1677721, 5}};
  for (const auto& limit : limits) {
    const parameters of = preset(limit.name);
    for (const double gibibytes : {0.0, 0.001, 0.03, 1.0, 8.0, 100.0, 1024.0}) {
      SCOPED_TRACE(testing::Message() << limit.name << ", " << gibibytes << " GiB");
      const std::uint64_t plaintexts = plaintexts_of(of, gibibytes) + 1;
      const layout at = choose_layout(of, {.plaintexts = plaintexts});
      EXPECT_GE(std::uint64_t{at.rows} * at.columns, plaintexts);
      EXPECT_LE(at.packed(of), of.n());
      EXPECT_LE(forecast(of, at).log2_failure, -40);
      const layout_sizes size = sizes(of, at);
      EXPECT_LE(size.query, limit.query);
      EXPECT_LE(size.server_keys, limit.keys);
      EXPECT_LE(static_cast<double>(size.answer), limit.answer * static_cast<double>(of.plaintext_bytes()));
    }
  }
}

TEST(PirLayout, IsTheFastestOfTheAllowedOnes) {
  std::mt19937 random(20261122);
  const parameters of = preset("pir-n4096");
  const auto seconds = [&of](const layout& at, const work_rates& rates) {
    const layout_work needed = work(of, at);
    return needed.transforms * 4096 * 6 / rates.butterflies_per_second +
           needed.products / rates.products_per_second;
  };
  for (int trial = 0; trial < 10; ++trial) {
    layout_request request{.plaintexts = 1 + random() % 1000000};
    request.rates = {std::exp2(20.0 + random() % 20), std::exp2(20.0 + random() % 20)};
    const layout best = choose_layout(of, request);
    for (const std::uint32_t rows : {64U, 256U, 1024U}) {
      layout_request narrow = request;
      narrow.rows = rows;
      try {
        EXPECT_LE(seconds(best, request.rates), seconds(choose_layout(of, narrow), request.rates) * 1.000001);
      } catch (const invalid_argument&) {
        continue;  // these rows have no allowed layout
      }
    }
  }
}

TEST(PirLayout, KeepsWhatIsGiven) {
  const parameters of = preset("pir-n2048");
  const layout at = choose_layout(
      of,
      {.plaintexts = 5000, .rows = 128, .expansion_digits = 5, .selection_digits = 4, .secret_digits = 3});
  EXPECT_EQ(at.rows, 128U);
  EXPECT_EQ(at.columns, 40U);
  EXPECT_EQ(at.expansion, of.split(5));
  EXPECT_EQ(at.selection, of.split(4));
  EXPECT_EQ(at.secret, of.split(3));
}

TEST(PirLayout, SaysWhyThereIsNone) {
  const parameters of = preset("pir-n2048");
  EXPECT_THAT([&] { (void)choose_layout(of, {.plaintexts = 5000, .rows = 2048}); },
              ThrowsMessage<invalid_argument>(HasSubstr("the lowest probability is")));
  EXPECT_THAT([&] { (void)choose_layout(of, {.plaintexts = 100000, .max_key_bytes = 100000}); },
              ThrowsMessage<invalid_argument>(HasSubstr("keys of at most 100000 bytes")));
  EXPECT_THAT([&] { (void)choose_layout(of, {.plaintexts = 0}); },
              ThrowsMessage<invalid_argument>(HasSubstr("no plaintexts")));
  EXPECT_THAT([&] { (void)choose_layout(of, {.plaintexts = 5, .rows = 100}); },
              ThrowsMessage<invalid_argument>(HasSubstr("power of two")));
}

TEST(PirLayout, RefusesNumbersThatCannotBe) {
  const parameters of = preset("pir-n4096");
  const auto refused = [&](const layout_request& request, const char* part) {
    EXPECT_THAT([&] { (void)choose_layout(of, request); }, ThrowsMessage<invalid_argument>(HasSubstr(part)));
  };
  refused({.plaintexts = 10, .rows = 0}, "power of two");
  refused({.plaintexts = 10, .rows = std::uint32_t{1} << 31}, "power of two");
  refused({.plaintexts = ~std::uint64_t{0}}, "no layout");
  refused({.plaintexts = (std::uint64_t{1} << 40) + 256, .rows = 256}, "no layout");
  for (const double rate : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    refused({.plaintexts = 10, .rates = {rate, 1e9}}, "positive");
    refused({.plaintexts = 10, .rates = {1e9, rate}}, "positive");
  }
  layout forged{256, 300, of.split(1), {1U << 30, 27}, of.split(1), 40, 40};
  EXPECT_THROW((void)forecast(of, forged), invalid_argument);
  EXPECT_THROW((void)forecast(of, layout{256, 300, {}, {}, {}, 40, 40}), invalid_argument);
}

TEST(PirLayout, HoldsAllPlaintextsOfVastDatabases) {
  const parameters of = preset("pir-n4096");
  for (const unsigned log2 : {33U, 40U, 43U}) {
    const std::uint64_t plaintexts = (std::uint64_t{1} << log2) + 12345;
    try {
      const layout at = choose_layout(of, {.plaintexts = plaintexts});
      EXPECT_GE(std::uint64_t{at.rows} * at.columns, plaintexts);
    } catch (const invalid_argument& refusal) {
      EXPECT_THAT(refusal.what(), HasSubstr("no layout"));
    }
  }
}

TEST(PirLayout, AnswersThatFailTooOftenAreRefused) {
  literal source{.name = "short"};
  source.answer_bits = 25;
  EXPECT_THAT([&] { (void)choose_layout(parameters::from_literal(source), {.plaintexts = 100}); },
              ThrowsMessage<invalid_argument>(HasSubstr("Give more answer_bits")));
  source.answer_bits = 4000000000;
  EXPECT_THROW((void)parameters::from_literal(source), invalid_argument);
}

// A larger database, more rows and a coarser gadget never lower the noise.
TEST(PirLayout, NoiseGrowsWithEverything) {
  const parameters of = preset("pir-n4096");
  const layout base{256, 300, of.split(2), of.split(2), of.split(2), 40, 40};
  const double before = forecast(of, base).selected;
  layout more = base;
  more.columns = 600;
  EXPECT_GT(forecast(of, more).selected, before);
  more = base;
  more.rows = 512;
  EXPECT_GT(forecast(of, more).selected, before);
  for (gadget layout::*part : {&layout::expansion, &layout::selection, &layout::secret}) {
    more = base;
    more.*part = of.split(1);
    EXPECT_GT(forecast(of, more).selected, before);
  }
}

}  // namespace
}  // namespace halocline::pir
