// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/layout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "halocline/core/error.hpp"
#include "halocline/pir/messages.hpp"

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
  refused({.plain_bits = 32}, "plain_bits");
  refused({.log_n = 11, .prime_count = 2, .prime_bits = 19.5}, "prime_bits");
  refused({.log_n = 10, .prime_count = 2, .prime_bits = 20, .plain_bits = 16, .allow_insecure = true},
          "8 bits");
  EXPECT_THAT([] { (void)preset("pir-n1024"); }, ThrowsMessage<invalid_argument>(HasSubstr("pir-n2048")));
  EXPECT_THROW((void)preset("pir-n4096").split(0), invalid_argument);
}

// Sizes and operation counts of the published set: sizes are those of its publication, plus headers (56 bytes
// of each message, 16 of an answer) and less the seeds of rows; counts follow from the layout.
TEST(PirLayout, CountsOfThePublishedSet) {
  const parameters paper = preset("paper", true);
  const layout at = published(paper);
  EXPECT_EQ(at.column_bits(), 10U);
  EXPECT_EQ(at.packed(paper), 572U);
  EXPECT_EQ(at.expansion_depth(paper), 10U);
  const layout_sizes size = sizes(paper, at);
  constexpr std::size_t polynomial = 2 * 2048 * 29 / 8, frame = 56, seed = 32;
  EXPECT_EQ(size.query, polynomial + seed + frame);  // published: 14,880 with the seed
  EXPECT_EQ(size.server_keys, (10 * 8 + 10) * polynomial + seed + 16 + frame);
  EXPECT_EQ(size.answer, 11264U + 3 * 16 + frame);
  EXPECT_EQ(size.database, std::size_t{512} * 631 * 2048 * 2 * 4);
  EXPECT_EQ(size.expanded, (512U + 2 * 60) * 2 * 2048 * 2 * 4);
  // Nodes with children: 1, 2, 3, 5, 9, 18, 36, 72, 143, 286. A polynomial takes 2 inverse transforms and one
  // for each of the 2 * 4, 2 * 5 or 2 * 3 digits and each prime.
  const double nodes = 575, pairs = 630;
  EXPECT_EQ(work(paper, at).transforms, nodes * 18 + 60 * 22 + pairs * 2 * 14 + 4);
  EXPECT_EQ(work(paper, at).products, 2.0 * 2 * 2048 * 512 * 631);
  EXPECT_EQ(work(paper, at).database, static_cast<double>(size.database));
  EXPECT_EQ(work(paper, at, 3).transforms, nodes * 18 + 60 * 22 + 3 * (pairs * 2 * 14 + 4));
  EXPECT_EQ(work(paper, at, 3).products, 3 * work(paper, at).products);
}

// A single digit is not transformed modulo its own prime: each polynomial takes 4 + 4 * 3 transforms.
TEST(PirLayout, CountsOfSingleDigits) {
  const parameters of = preset("pir-n4096");
  const layout at{4, 3, of.split(1), of.split(1), of.split(1), 40, 40};
  ASSERT_EQ(at.packed(of), 12U);  // nodes with children: 1, 2, 3, 6
  EXPECT_EQ(work(of, at).transforms, 12 * 16 + 8 * 16 + 2 * 2 * 16 + 8);
}

// Its authors observe 1 to 3 bits between the noise and half a step.
TEST(PirLayout, NoiseOfThePublishedSet) {
  const parameters paper = preset("paper", true);
  const noise_forecast noise = forecast(paper, published(paper), 1, contents::uniform);
  const double half_step = paper.log2_q() - paper.source().plain_bits - 1;
  EXPECT_NEAR(half_step - noise.selected, 2.7, 0.3);
  EXPECT_NEAR(noise.log2_failure, -19.5, 0.5);
  EXPECT_NEAR(forecast(paper, published(paper)).log2_failure, -8.3, 0.5);
}

// What records that follow the covariance of the leaves may add, where servers lift at random, by the bound
// in retrieval_noise.md: with the numbers of the publication 0.05 bits, of n2048 up to two.
TEST(PirLayout, ChosenRecordsAreAccountedFor) {
  literal source = preset("paper", true).source();
  source.log2_failure = -40;
  const parameters lifted = parameters::from_literal(source);
  const double before = forecast(preset("paper", true), published(lifted)).log2_failure;
  const double after = forecast(lifted, published(lifted)).log2_failure;
  EXPECT_NEAR(after - before, 0.052, 0.005);
  const double uniform = forecast(lifted, published(lifted), 1, contents::uniform).log2_failure;
  EXPECT_LT(uniform, after);
  // Rows are most of the noise here: 2^-56.79 without the fluctuation, by a calculation of its own.
  const parameters of = preset("pir-n2048");
  const layout rows{256, 4, of.split(3), of.split(4), of.split(2), 0, 0};
  EXPECT_NEAR(forecast(of, rows).log2_failure, -55.77, 0.05);
  // No noise at all to speak of, and rows that are few among the leaves: still a bound, and no overflow.
  const layout tiny{1, 4000, of.split(8), of.split(8), of.split(8), 0, 0};
  EXPECT_LT(forecast(of, tiny).log2_failure, -40);
}

/// What layouts are chosen for: one query at a time on a core, on two, batches on an accelerator.
std::vector<layout_request> uses() {
  return {{},
          {.rates = rates_of("cpu", 2)},
          {.batch = 16, .rates = rates_of("cpu", 64)},
          {.rates = rates_of("cuda:0")},
          {.batch = 64, .rates = rates_of("cuda")},
          {.batch = 256, .rates = rates_of("cuda")}};
}

TEST(PirLayout, ChosenLayoutsKeepTheirPromises) {
  const struct {
    const char* name;
    std::size_t query, keys;
    double answer;
  } limits[] = {{"pir-n4096", 56 << 10, 3355443, 2.6}, {"pir-n2048", 16 << 10, 1677721, 5}};
  for (const auto& limit : limits) {
    const parameters of = preset(limit.name);
    for (const double gibibytes : {0.0, 0.001, 0.03, 1.0, 8.0, 32.0, 100.0, 1024.0}) {
      for (layout_request request : uses()) {
        SCOPED_TRACE(testing::Message()
                     << limit.name << ", " << gibibytes << " GiB, batch " << request.batch);
        request.plaintexts = plaintexts_of(of, gibibytes) + 1;
        const layout at = choose_layout(of, request);
        EXPECT_GE(std::uint64_t{at.rows} * at.columns, request.plaintexts);
        EXPECT_LE(at.packed(of), of.n());
        EXPECT_LE(forecast(of, at).log2_failure, -40);
        const layout_sizes size = sizes(of, at);
        EXPECT_LE(size.query, limit.query);
        EXPECT_LE(size.server_keys, limit.keys);
        EXPECT_LE(static_cast<double>(size.answer), limit.answer * static_cast<double>(of.plaintext_bytes()));
      }
    }
  }
}

// Messages of a geometry are those that its layout promises.
TEST(PirLayout, SizesAreThoseOfMessages) {
  for (const std::string& name : preset_names()) {
    const parameters of = preset(name, true);
    const geometry one = make_geometry(of, 1000, of.plaintext_bytes());
    const message_sizes sent = message_sizes_of(one);
    const layout_sizes size = sizes(of, one.at);
    EXPECT_EQ(size.query, sent.query);
    EXPECT_EQ(size.server_keys, sent.server_keys);
    EXPECT_EQ(size.answer, sent.answer);
  }
}

// All plaintexts of a record must be right.
TEST(PirLayout, SplitRecordsFailMoreOften) {
  const parameters of = preset("pir-n4096");
  const layout at = choose_layout(of, {.plaintexts = 100000});
  EXPECT_NEAR(forecast(of, at, 1024).log2_failure, forecast(of, at).log2_failure + 10, 1e-9);
  const layout split = choose_layout(of, {.plaintexts = 100, .planes = 1000});
  EXPECT_LE(forecast(of, split, 1000).log2_failure, -40);
}

// The expansion serves all planes and the columns are there in each: more planes, more rows.
TEST(PirLayout, RowsFollowThePlanesAndTheDevice) {
  const parameters of = preset("pir-n4096");
  const auto rows = [&](const layout_request& request) { return choose_layout(of, request).rows; };
  EXPECT_LT(rows({.plaintexts = 2000}), rows({.plaintexts = 2000, .planes = 100}));
  for (const layout_request& use : uses()) {
    layout_request small = use, large = use;
    small.plaintexts = 1000;
    large.plaintexts = 1000000;
    EXPECT_LT(rows(small), rows(large));
  }
}

// A database that is larger than the budget is read for each part of a batch: fewer rows make expanded
// queries smaller, and groups of columns wider.
TEST(PirLayout, ABudgetBelowTheDatabaseMakesRowsFewer) {
  const parameters of = preset("pir-n4096");
  layout_request request{.plaintexts = plaintexts_of(of, 32), .batch = 256, .rates = rates_of("cuda:0")};
  const layout free = choose_layout(of, request);
  const double seconds = estimate_seconds(of, free, request);
  request.memory_bytes = std::size_t{16} << 30;
  const layout within = choose_layout(of, request);
  EXPECT_LT(within.rows, free.rows);
  EXPECT_LT(estimate_seconds(of, within, request), estimate_seconds(of, free, request));
  EXPECT_GT(estimate_seconds(of, within, request), seconds);
  EXPECT_LE(forecast(of, within).log2_failure, of.source().log2_failure);
  request.rates.link_bytes_per_second = 1e9;
  request.memory_bytes = sizes(of, free).database;  // no room for queries: it is read for each batch
  EXPECT_GT(estimate_seconds(of, free, request), 2 * seconds);
  request.memory_bytes += request.memory_bytes / 4;  // which is enough
  EXPECT_EQ(estimate_seconds(of, free, request), seconds);
  EXPECT_EQ(choose_layout(of, request), free);
}

// The link bounds a batch of which only a few queries fit at a time.
TEST(PirLayout, AnotherPassReadsTheDatabaseAgain) {
  const parameters of = preset("pir-n4096");
  layout_request request{.plaintexts = plaintexts_of(of, 32), .batch = 64, .rates = rates_of("cuda:0")};
  request.rows = 512;
  request.rates.link_bytes_per_second = 1e9;
  request.memory_bytes = std::size_t{16} << 30;
  const layout at = choose_layout(of, request);
  const double once = estimate_seconds(of, at, request);
  request.memory_bytes /= 4;
  EXPECT_NEAR(estimate_seconds(of, at, request) / once, 3, 1.2);  // of which some 5 of 6 parts are the link's
  request.rates.link_bytes_per_second = 0;
  EXPECT_THAT([&] { (void)choose_layout(of, request); }, ThrowsMessage<invalid_argument>(HasSubstr("rate")));
}

TEST(PirLayout, RatesAreThoseOfKnownDevices) {
  EXPECT_EQ(rates_of("ghost").butterflies_per_second, rates_of("cpu").butterflies_per_second);
  EXPECT_EQ(rates_of("cpu", 3).products_per_second, 3 * rates_of("cpu").products_per_second);
  EXPECT_GT(rates_of("cuda:1").bytes_per_second, rates_of("cpu", 64).bytes_per_second);
  EXPECT_THAT([] { (void)rates_of("tpu"); }, ThrowsMessage<invalid_argument>(HasSubstr("'tpu'")));
  EXPECT_THROW((void)rates_of("cpu", 0), invalid_argument);
}

TEST(PirLayout, IsTheFastestOfTheAllowedOnes) {
  std::mt19937 random(20261122);
  const parameters of = preset("pir-n4096");
  for (int trial = 0; trial < 10; ++trial) {
    layout_request request{.plaintexts = 1 + random() % 1000000};
    request.batch = 1 + random() % 100;
    request.planes = 1 + random() % 3;
    request.rates = {std::exp2(20.0 + random() % 20), std::exp2(20.0 + random() % 20),
                     std::exp2(20.0 + random() % 20)};
    const layout best = choose_layout(of, request);
    for (const std::uint32_t rows : {64U, 256U, 1024U}) {
      layout_request narrow = request;
      narrow.rows = rows;
      try {
        EXPECT_LE(estimate_seconds(of, best, request),
                  estimate_seconds(of, choose_layout(of, narrow), request) * 1.000001);
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
  refused({.plaintexts = 10, .planes = 0}, "0 planes");
  refused({.plaintexts = 10, .batch = 0}, "at least one of each");
  refused({.plaintexts = ~std::uint64_t{0}}, "no layout");
  refused({.plaintexts = (std::uint64_t{1} << 40) + 256, .rows = 256}, "no layout");
  for (const double rate : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    refused({.plaintexts = 10, .rates = {rate, 1e9}}, "positive");
    refused({.plaintexts = 10, .rates = {1e9, rate}}, "positive");
    refused({.plaintexts = 10, .rates = {1e9, 1e9, rate}}, "positive");
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
