// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/client.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "halocline/backend/registry.hpp"
#include "halocline/core/error.hpp"
#include "support/forked.hpp"
#include "support/pir_probe.hpp"
#include "support/pir_samples.hpp"

namespace halocline::pir {
namespace {

using test::pir_probe;
using test::residue_vector;
using test::small_geometry;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr double error_stddev = 3.2;
/// A deviation that none of 2^20 errors exceeds: erfc(9 / sqrt 2) = 2^-62.
constexpr double error_bound = 9 * error_stddev;

std::vector<std::int64_t> constant(std::size_t n) {
  std::vector<std::int64_t> one(n);
  one[0] = 1;
  return one;
}

/// Row (limb, digit) of a key from row number `row` of the message on.
struct expected_row {
  std::uint32_t row;
  std::uint64_t galois_element;
  std::size_t limb;
  unsigned digit;
};

class PirClient : public ::testing::Test {
 protected:
  client alice{small_geometry(3000, 1024)};
  pir_probe probe{alice};
  const geometry& of = alice.shape();

  [[nodiscard]] std::span<const std::uint32_t> body(const server_keys_message& keys,
                                                    std::uint32_t row) const {
    const std::size_t words = probe.limbs() * probe.n();
    return std::span(keys.b).subspan(row * words, words);
  }
  [[nodiscard]] std::vector<double> row_error(const server_keys_message& keys, const expected_row& at,
                                              const gadget& split, std::span<const std::int64_t> source) {
    const residue_vector phase =
        probe.phase(body(keys, at.row), probe.uniform(keys.seed, at.row), at.galois_element, true);
    return probe.error(phase, probe.multiple(source, probe.gadget_entry(at.limb, at.digit, split)));
  }
};

TEST_F(PirClient, SecretIsTernaryAndUniform) {
  const std::vector<std::int64_t> secret = probe.secret();
  for (const std::int64_t value : {-1, 0, 1}) {
    // 341 of 1024 expected, deviation sqrt(N 2 / 9) = 15: seven of them.
    EXPECT_NEAR(static_cast<double>(std::ranges::count(secret, value)), 1024 / 3.0, 7 * 15.1) << value;
  }
  EXPECT_EQ(std::ranges::count_if(secret, [](std::int64_t x) { return x < -1 || x > 1; }), 0);
}

TEST_F(PirClient, ExpansionKeysEncryptTheSecretUnderItsImages) {
  const server_keys_message keys = read_server_keys(of, alice.server_keys());
  ASSERT_EQ(keys.levels, of.at.expansion_depth(of.scheme));
  ASSERT_GE(keys.levels, 4U);
  std::uint32_t row = 0;
  std::vector<double> all;
  for (unsigned level = 1; level <= keys.levels; ++level) {
    const std::uint64_t g = of.scheme.n() / (std::uint64_t{1} << (level - 1)) + 1;
    for (std::size_t limb = 0; limb < probe.limbs(); ++limb) {
      for (unsigned digit = 0; digit < of.at.expansion.digits; ++digit, ++row) {
        const auto errors = row_error(keys, {row, g, limb, digit}, of.at.expansion, probe.secret());
        EXPECT_LT(pir_probe::largest(errors), error_bound) << "row " << row;
        all.insert(all.end(), errors.begin(), errors.end());
      }
    }
  }
  // Relative deviation of a deviation of n values: 1 / sqrt(2 n) < 0.01 here; seven of them.
  EXPECT_NEAR(std::exp2(pir_probe::log2_deviation(all)), error_stddev, 0.07 * error_stddev);
}

TEST_F(PirClient, LastKeyEncryptsTheSquareOfTheSecret) {
  const server_keys_message keys = read_server_keys(of, alice.server_keys());
  const std::vector<std::int64_t> s = probe.secret();
  std::vector<std::int64_t> square(s.size());
  for (std::size_t i = 0; i < s.size(); ++i) {
    for (std::size_t j = 0; j < s.size(); ++j) {
      square[(i + j) % s.size()] += i + j < s.size() ? s[i] * s[j] : -s[i] * s[j];
    }
  }
  auto row = static_cast<std::uint32_t>(keys.levels * of.at.expansion.digits * probe.limbs());
  for (std::size_t limb = 0; limb < probe.limbs(); ++limb) {
    for (unsigned digit = 0; digit < of.at.secret.digits; ++digit, ++row) {
      const auto errors = row_error(keys, {row, 1, limb, digit}, of.at.secret, square);
      EXPECT_LT(pir_probe::largest(errors), error_bound) << "row " << row;
    }
  }
  EXPECT_EQ(keys.b.size(), row * probe.limbs() * probe.n());
}

/// Constant m of the payload of a query, times 2^depth: what its leaf will be.
residue_vector leaf_of(const pir_probe& probe, const client& of, const residue_vector& phase,
                       std::uint64_t m) {
  const unsigned depth = of.shape().at.expansion_depth(of.shape().scheme);
  std::uint64_t place = 0;
  for (unsigned bit = 0; bit < depth; ++bit) place |= (m >> bit & 1) << (depth - 1 - bit);
  residue_vector out(phase.size());
  for (std::size_t limb = 0; limb < probe.limbs(); ++limb) {
    const std::uint64_t value = phase[limb * probe.n() + place];
    out[limb * probe.n()] = static_cast<std::uint32_t>((value << depth) % probe.prime(limb));
  }
  return out;
}

TEST_F(PirClient, QueriesPackTheRowAndTheBitsOfTheColumn) {
  ASSERT_GE(of.at.column_bits(), 2U);
  const std::uint64_t wanted_row = of.at.rows - 2, column = of.at.columns - 2;
  const std::uint64_t record = column * of.at.rows + wanted_row;
  ASSERT_EQ(of.records_per_plaintext(), 1U);
  const query_message query = read_query(of, alice.query(record));
  const residue_vector phase = probe.phase(query.c0, probe.uniform(query.seed, 0));
  const double bound = std::exp2(of.at.expansion_depth(of.scheme)) * error_bound;
  const auto expect_constant = [&](std::uint64_t m, const std::vector<std::uint64_t>& factors) {
    const residue_vector leaf = leaf_of(probe, alice, phase, m);
    const auto errors = probe.error(leaf, probe.multiple(constant(probe.n()), factors));
    EXPECT_LT(std::abs(errors[0]), bound) << "constant " << m;
  };
  const std::vector<std::uint64_t> zero(probe.limbs());
  std::uint64_t m = 0;
  for (; m < of.at.rows; ++m) expect_constant(m, m == wanted_row ? probe.plaintext_step() : zero);
  for (unsigned bit = 0; bit < of.at.column_bits(); ++bit) {
    for (std::size_t limb = 0; limb < probe.limbs(); ++limb) {
      for (unsigned digit = 0; digit < of.at.selection.digits; ++digit, ++m) {
        const bool set = (column >> bit & 1) != 0;
        expect_constant(m, set ? probe.gadget_entry(limb, digit, of.at.selection) : zero);
      }
    }
  }
  EXPECT_EQ(m, of.at.packed(of.scheme));
  // All other places have errors alone.
  std::vector<double> empty;
  for (const double each : probe.error(phase, residue_vector(phase.size()))) {
    if (std::abs(each) <= error_bound) empty.push_back(each);
  }
  EXPECT_GE(empty.size() + m, probe.n());
  EXPECT_GE(empty.size(), 800U);
  // Relative deviation of a deviation of 800 values: 0.025; seven of them.
  EXPECT_NEAR(std::exp2(pir_probe::log2_deviation(empty)), error_stddev, 0.18 * error_stddev);
}

TEST_F(PirClient, NothingRepeats) {
  const auto one = alice.query(5), two = alice.query(5);
  EXPECT_NE(one, two);
  EXPECT_NE(read_query(of, one).seed, read_query(of, two).seed);
  const residue_vector a = read_query(of, one).c0, b = read_query(of, two).c0;
  std::size_t equal = 0;
  for (std::size_t i = 0; i < a.size(); ++i) equal += a[i] == b[i] ? 1 : 0;
  EXPECT_LT(equal, 4U);  // each with a probability of 2^-26
  EXPECT_NE(read_server_keys(of, alice.server_keys()).seed, read_server_keys(of, alice.server_keys()).seed);
  const server_keys_message keys = read_server_keys(of, alice.server_keys());
  std::set<std::vector<std::uint32_t>> streams;
  const std::size_t rows = keys.b.size() / (probe.limbs() * probe.n());
  for (std::uint32_t row = 0; row < rows; ++row) streams.insert(probe.uniform(keys.seed, row));
  EXPECT_EQ(streams.size(), rows);
  EXPECT_NE(client(of).id(), client(of).id());
}

TEST_F(PirClient, ChildrenDrawTheirOwnRandomness) {
  using seed = arith::seed_bytes;
  const auto seed_of_query = [&] { return read_query(of, alice.query(1)).seed; };
  const auto seed_of_keys = [&] { return read_server_keys(of, alice.server_keys()).seed; };
  const seed one = test::value_of_child<seed>(seed_of_query), two = test::value_of_child<seed>(seed_of_query);
  EXPECT_NE(one, two);
  EXPECT_NE(one, seed_of_query());
  EXPECT_NE(one, seed{});
  EXPECT_NE(test::value_of_child<seed>(seed_of_keys), test::value_of_child<seed>(seed_of_keys));
}

TEST_F(PirClient, SeededClientsRepeatAndDoNotFork) {
  const arith::seed_bytes seed{7};
  client one(of, nullptr, seed), two(of, nullptr, seed), other(of, nullptr, arith::seed_bytes{8});
  EXPECT_EQ(one.id(), two.id());
  EXPECT_EQ(one.server_keys(), two.server_keys());
  EXPECT_EQ(one.query(3), two.query(3));
  EXPECT_NE(one.query(3), other.query(3));
  EXPECT_EQ(test::exit_code_of_child([&] {
              try {
                (void)one.query(3);
              } catch (const invalid_argument&) {
                return 0;
              }
              return 1;
            }),
            0);
}

TEST_F(PirClient, RefusesWhatItCannotDo) {
  EXPECT_THAT([&] { (void)alice.query(3000); }, ThrowsMessage<invalid_argument>(HasSubstr("record 3000")));
  EXPECT_THAT([&] { client(of, backend::make_backend("ghost")); },
              ThrowsMessage<invalid_argument>(HasSubstr("no contents")));
}

}  // namespace
}  // namespace halocline::pir
