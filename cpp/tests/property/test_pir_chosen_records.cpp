// SPDX-License-Identifier: Apache-2.0
// Records that follow the covariance of the noise of leaves, which public parameters determine: the noise
// that they cause, measured with the secret, against docs/concepts/retrieval_noise.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "support/leaf_covariance.hpp"
#include "support/pir_database.hpp"
#include "support/pir_probe.hpp"
#include "support/pir_rig.hpp"

namespace halocline::pir {
namespace {

using test::bytes;

/// One column of 256 rows, which are all leaves of an expansion of depth 8.
/// @param log2_failure -40: with integers chosen at random, above: without
geometry one_column(double log2_failure) {
  literal source;
  source.name = "test";
  source.log_n = 10;
  source.prime_count = 2;
  source.prime_bits = 30;
  source.plain_bits = 8;
  source.allow_insecure = true;
  source.log2_failure = log2_failure;
  layout_request request{.rows = 256};
  request.max_key_bytes = 16U << 20;
  request.expansion_digits = 3;
  return make_geometry(parameters::from_literal(source), 256, 1024, request);
}

/// Records whose products with the leaves add up in coefficient 0: t/2 - 1 and -t/2 with the signs that the
/// covariance prefers. Coefficient 0 of a e is a_0 e_0 minus the sum of a_i e_(N - i).
bytes chosen_records(const geometry& of, std::uint32_t seed) {
  const std::size_t n = of.scheme.n();
  const test::leaf_covariance covariance(n, of.at.expansion_depth(of.scheme));
  const std::vector<double> signs = covariance.worst_signs(seed);
  bytes records(of.records * of.record_bytes);  // a byte is a coefficient
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::size_t row = i / n, j = i % n;
    const double sign = j == 0 ? signs[row * n] : -signs[row * n + n - j];
    records[i] = sign < 0 ? std::byte{0x80} : std::byte{0x7F};
  }
  return records;
}

/// Mean squares of the noise of the sum over the rows, as log2 of deviations.
struct row_noise {
  double target = 0;  ///< of coefficient 0
  double all = 0;     ///< of all coefficients
};

row_noise measure(server& at, const bytes& records, std::uint8_t queries) {
  const geometry& shape = at.scope().shape();
  std::vector<double> target, all;
  for (std::uint8_t i = 0; i < queries; ++i) {
    client user(shape, test::make_device(), test::seed_of(i));
    const auto keys = at.load_keys(user.server_keys());
    const std::uint64_t record = i * 37U % shape.records;
    const query_message message = read_query(shape, user.query(record));
    const client_query query{keys.get(), &message};
    std::vector<query_leaves> leaves = expand(at.scope(), {&query, 1});
    const std::vector<expanded_query> expanded = complete(at.scope(), {&query, 1}, leaves);
    const std::vector<memory::buffer> columns = select_rows(at.scope(), at.records(), expanded);
    std::vector<std::uint32_t> words(2 * at.scope().polynomial_bytes() / sizeof(std::uint32_t));
    at.scope().device().download(std::as_writable_bytes(std::span(words)), columns.front(), 0);
    test::pir_probe probe(user);
    const auto plain = test::coefficients_of(shape, records, record, 0);
    const std::vector<double> errors =
        probe.error(probe.phase(words), probe.multiple(plain, probe.plaintext_step()));
    target.push_back(errors[0]);
    all.insert(all.end(), errors.begin(), errors.end());
  }
  return {test::pir_probe::log2_deviation(target), test::pir_probe::log2_deviation(all)};
}

constexpr std::uint8_t queries = 40;

// The tests below mean something: where the same integers always stand for records, these raise the noise of
// their target, to more than four times the variance of independent leaves.
TEST(PirChosenRecords, RaiseTheNoiseOfFixedIntegers) {
  const geometry shape = one_column(-30);
  ASSERT_FALSE(shape.scheme.lifts_at_random());
  const bytes records = chosen_records(shape, 1);
  server fixed(shape, make_memory_records(records), test::make_device("cpu", 2));
  const row_noise found = measure(fixed, records, queries);
  const double independent = forecast(shape.scheme, shape.at).row;
  std::cout << "  target 2^" << found.target << ", all 2^" << found.all << ", by the formula 2^"
            << independent << '\n';
  EXPECT_GT(found.target, independent + 1);
}

// All coefficients are t/2 - 1 or -t/2, so that the mean square of the integers is t^2/4. The mean over all
// coefficients may be off as that of test_pir_noise.cpp; that of the target, which is one of each query, by
// sqrt(2 / 40) = 22 % of the variance, 0.16 in the logarithm of the deviation, of which 0.5 are three.
TEST(PirChosenRecords, CauseTheNoiseOfTheFormula) {
  const geometry shape = one_column(-40);
  ASSERT_TRUE(shape.scheme.lifts_at_random());
  ASSERT_EQ(shape.at.columns, 1U);
  const bytes records = chosen_records(shape, 1);
  const double expected = forecast(shape.scheme, shape.at).row;
  const auto compare = [&](const char* how, server& at) {
    const row_noise found = measure(at, records, queries);
    std::cout << "  " << how << ": target 2^" << found.target << ", all 2^" << found.all
              << ", by the formula 2^" << expected << '\n';
    EXPECT_NEAR(found.all, expected, 0.1) << how;
    EXPECT_NEAR(found.target, expected, 0.5) << how;
  };
  for (const storage kept : {storage::transformed, storage::raw}) {
    server built(shape, make_memory_records(records), test::make_device("cpu", 2),
                 test::with_lift_key({.database = {.kept = kept}}));
    compare("built", built);
  }
  server replaced(shape, make_memory_records(bytes(records.size())), test::make_device("cpu", 2),
                  test::with_lift_key());
  for (std::uint64_t i = 0; i < shape.records; ++i) {
    replaced.records().replace(i, std::span(records).subspan(i * shape.record_bytes, shape.record_bytes));
  }
  compare("replaced", replaced);
}

// Integers that became public say nothing about those that are chosen when the record is replaced.
TEST(PirChosenRecords, IntegersAreChosenAnewWhenARecordIsReplaced) {
  const geometry shape = one_column(-40);
  const bytes records = chosen_records(shape, 1);
  for (const storage kept : {storage::transformed, storage::raw}) {
    context ctx(shape, test::make_device());
    database data(ctx, make_memory_records(records), {.kept = kept});
    memory::buffer scratch;
    const auto integers = [&](std::uint32_t row) {
      return test::integers_in(ctx, data.points(data.groups().front(), scratch), row);
    };
    const auto before = integers(7), other = integers(8);
    data.replace(7, std::span(records).subspan(7 * shape.record_bytes, shape.record_bytes));
    const auto after = integers(7);
    EXPECT_EQ(integers(8), other);
    // The same records: about half of the integers are others.
    std::size_t equal = 0;
    for (std::size_t j = 0; j < before.size(); ++j) equal += before[j] == after[j] ? 1 : 0;
    EXPECT_NEAR(static_cast<double>(equal), 512, 5 * 16);
  }
}

}  // namespace
}  // namespace halocline::pir
