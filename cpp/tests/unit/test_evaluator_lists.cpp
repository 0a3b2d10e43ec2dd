// SPDX-License-Identifier: Apache-2.0
// Operations on several ciphertexts: the integers are those of single ones, and calls are joined.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "halocline/circuits/polynomial.hpp"
#include "halocline/ckks/key_switch.hpp"
#include "halocline/core/error.hpp"
#include "support/circuit_fixture.hpp"
#include "support/residues.hpp"

namespace halocline::ckks {
namespace {

using test::ckks_rig;
using test::words_of;
using testing::HasSubstr;
using testing::ThrowsMessage;

using list = std::vector<ciphertext>;
using words = std::vector<std::uint64_t>;

class EvaluatorLists : public ::testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] list encrypted(std::uint32_t seed, unsigned level, std::size_t count = 3) {
    list result;
    for (std::size_t i = 0; i < count; ++i) {
      result.push_back(
          rig.encrypt(rig.random_values(rig.slots(), seed + static_cast<std::uint32_t>(i)), level));
    }
    return result;
  }
  [[nodiscard]] words all_words(const ciphertext& value) {
    words result;
    for (const ring::poly& part : value.parts) {
      const words own = words_of(*rig.ctx, part.chain());
      result.insert(result.end(), own.begin(), own.end());
    }
    return result;
  }
  void expect_same(const list& found, const std::function<ciphertext(std::size_t)>& single) {
    ASSERT_EQ(found.size(), a.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      const ciphertext wanted = single(i);
      EXPECT_EQ(found[i].level, wanted.level) << i;
      EXPECT_EQ(found[i].scale, wanted.scale) << i;
      EXPECT_EQ(found[i].slots, wanted.slots) << i;
      EXPECT_EQ(found[i].key, wanted.key) << i;
      EXPECT_EQ(all_words(found[i]), all_words(wanted)) << i;
    }
  }
  /// Calls of the backend by operation.
  std::map<std::string, std::uint64_t> calls(const std::function<void()>& run) {
    rig.ctx->device().start_profile();
    run();
    std::map<std::string, std::uint64_t> result;
    for (const backend::profile_row& row : rig.ctx->device().stop_profile().rows) result[row.op] += row.calls;
    return result;
  }

  ckks_rig rig{GetParam()};
  evaluator& eval = rig.eval;
  const unsigned top = rig.top();
  const list a = encrypted(1, top);
  const list b = encrypted(11, top);
  const list lower = encrypted(21, top - 1);
};

TEST_P(EvaluatorLists, AdditionsEqualSingleOnes) {
  const list off = eval.multiply_constant_raw(pointers(b), 0.5, 0x1p32);
  expect_same(eval.add(pointers(a), pointers(b)), [&](std::size_t i) { return eval.add(a[i], b[i]); });
  expect_same(eval.sub(pointers(a), pointers(b)), [&](std::size_t i) { return eval.sub(a[i], b[i]); });
  expect_same(eval.add(pointers(a), pointers(lower)),
              [&](std::size_t i) { return eval.add(a[i], lower[i]); });
  expect_same(eval.sub(pointers(lower), pointers(a)),
              [&](std::size_t i) { return eval.sub(lower[i], a[i]); });
  expect_same(eval.add(pointers(a), pointers(off)), [&](std::size_t i) { return eval.add(a[i], off[i]); });
  expect_same(eval.add_constant(pointers(a), {0.25, -2}), [&](std::size_t i) {
    return eval.add_constant(a[i], {0.25, -2});
  });
  eval.set_mode(maintenance::manual);
  const list three = eval.multiply(pointers(a), pointers(b));
  const list two = eval.multiply_constant_raw(pointers(a), 1.0, b.front().scale);
  eval.set_mode(maintenance::automatic);
  expect_same(eval.add(pointers(two), pointers(three)),
              [&](std::size_t i) { return eval.add(two[i], three[i]); });
  expect_same(eval.sub(pointers(two), pointers(three)),
              [&](std::size_t i) { return eval.sub(two[i], three[i]); });
}

TEST_P(EvaluatorLists, ProductsEqualSingleOnes) {
  expect_same(eval.multiply(pointers(a), pointers(b)),
              [&](std::size_t i) { return eval.multiply(a[i], b[i]); });
  expect_same(eval.multiply(pointers(a), pointers(lower)),
              [&](std::size_t i) { return eval.multiply(a[i], lower[i]); });
  for (const std::complex<double> c : {std::complex<double>(3.0), {0.0, 1.0}, {0.3, 0.4}}) {
    expect_same(eval.multiply_constant(pointers(a), c),
                [&](std::size_t i) { return eval.multiply_constant(a[i], c); });
  }
  const std::vector<std::vector<const ciphertext*>> left{pointers(a), pointers(b)};
  const std::vector<std::vector<const ciphertext*>> right{pointers(b), pointers(lower)};
  const auto factors = [](const auto& lists, std::size_t i) {
    return std::vector<const ciphertext*>{lists[0][i], lists[1][i]};
  };
  expect_same(eval.dot(left, right),
              [&](std::size_t i) { return eval.dot(factors(left, i), factors(right, i)); });
  list unfinished;
  for (std::size_t i = 0; i < a.size(); ++i) unfinished.push_back(eval.unfinished_product(a[i], b[i]));
  expect_same(eval.finish_product(pointers(unfinished)),
              [&](std::size_t i) { return eval.finish_product(unfinished[i]); });
  expect_same(eval.finish_product(pointers(unfinished)),
              [&](std::size_t i) { return eval.multiply(a[i], b[i]); });
}

TEST_P(EvaluatorLists, LevelsAndScalesEqualThoseOfSingleOnes) {
  const list raw = eval.multiply_constant_raw(pointers(a), 0.7, a.front().scale);
  expect_same(eval.rescale(pointers(raw)), [&](std::size_t i) { return eval.rescale(raw[i]); });
  for (unsigned level = 0; level <= top; ++level) {
    expect_same(eval.drop_level(pointers(a), level),
                [&](std::size_t i) { return eval.drop_level(a[i], level); });
  }
  const double scale = 1.25 * a.front().scale;
  expect_same(eval.adjust(pointers(a), top - 1, scale),
              [&](std::size_t i) { return eval.adjust(a[i], top - 1, scale); });
}

// Products and rescales take ciphertexts with scales of their own.
TEST_P(EvaluatorLists, ScalesMayDifferBeforeDivisions) {
  list raw, unfinished;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double scale = a.front().scale * (1.0 + 0.125 * static_cast<double>(i));
    raw.push_back(eval.multiply_constant_raw(a[i], 0.7, scale));
    unfinished.push_back(eval.unfinished_product(a[i], b[i]));
    unfinished.back().scale *= 1.0 + 0.25 * static_cast<double>(i);
  }
  expect_same(eval.rescale(pointers(raw)), [&](std::size_t i) { return eval.rescale(raw[i]); });
  expect_same(eval.finish_product(pointers(unfinished)),
              [&](std::size_t i) { return eval.finish_product(unfinished[i]); });
  EXPECT_NE(eval.rescale(pointers(raw))[0].scale, eval.rescale(pointers(raw))[1].scale);
  EXPECT_THAT(
      [&] {
        (void)eval.rescale(std::vector<const ciphertext*>{&raw[0], &lower[0]});
      },
      ThrowsMessage<invalid_argument>(HasSubstr("rescale: ciphertext 1 has level")));
}

// Few limbs in a group: the list has k times the limbs of one ciphertext, and groups become smaller.
TEST_P(EvaluatorLists, GroupsOfPrimesHaveRoomForAll) {
  const list whole = eval.multiply(pointers(a), pointers(b));
  for (const std::size_t limbs : {1UL, 40UL, 100UL}) {
    rig.ctx->set_cache_bytes(limbs * rig.ctx->tables().limb_bytes());
    expect_same(eval.multiply(pointers(a), pointers(b)),
                [&](std::size_t i) { return clone(*rig.ctx, whole[i]); });
  }
  rig.ctx->set_cache_bytes(0);
}

TEST_P(EvaluatorLists, CallsAreThoseOfOneCiphertext) {
  circuits::polynomial p;
  p.coefficients = {0.1, 0.2, -0.3, 0.4, 0.1, -0.2, 0.3};
  (void)circuits::evaluate(eval, p, a.front());  // makes the tables
  const auto single = calls([&] { (void)circuits::evaluate(eval, p, a.front()); });
  const auto joined = calls([&] { (void)circuits::evaluate(eval, p, pointers(a)); });
  EXPECT_EQ(joined, single);
  EXPECT_GT(single.at("key_multiply_accumulate"), 1U);
  expect_same(circuits::evaluate(eval, p, pointers(a)),
              [&](std::size_t i) { return circuits::evaluate(eval, p, a[i]); });
}

TEST_P(EvaluatorLists, SayWhatIsWrong) {
  const std::vector<const ciphertext*> none;
  const std::vector<const ciphertext*> mixed{&a[0], &lower[0]};
  const list scaled = eval.multiply_constant_raw(pointers(a), 1.0, 4.0);
  const std::vector<const ciphertext*> scales{&a[0], &scaled[0]};
  const auto fails = [](const auto& run, const std::string& message) {
    EXPECT_THAT(run, ThrowsMessage<invalid_argument>(HasSubstr(message)));
  };
  fails([&] { (void)eval.add(none, none); }, "add: no ciphertexts; expected at least one");
  fails([&] { (void)eval.rescale(none); }, "rescale: no ciphertexts");
  fails([&] { (void)eval.multiply(pointers(a), mixed); },
        "multiply: 3 first operands and 2 second ones; expected the same number");
  fails([&] { (void)eval.drop_level(mixed, 0); },
        "drop_level: ciphertext 1 has level " + std::to_string(top - 1));
  fails([&] { (void)eval.adjust(mixed, 0, 1.0); },
        "expected those of the first: level " + std::to_string(top));
  fails([&] { (void)eval.multiply_constant(scales, 2.0); }, "multiply_constant: ciphertext 1 has level");
  fails([&] { (void)eval.finish_product(pointers(a)); }, "has 2 components, expected 3");
  const std::vector<std::vector<const ciphertext*>> left{pointers(a), mixed};
  fails([&] { (void)eval.dot(left, left); }, "dot: a factor of 2 sums; expected 3");
  const std::vector<std::vector<const ciphertext*>> empty{none};
  fails([&] { (void)eval.dot(empty, empty); }, "dot: no ciphertexts");
  const circuits::polynomial p{circuits::polynomial_basis::monomial, {0.0, 1.0, 0.5}};
  fails([&] { (void)circuits::evaluate(eval, p, none); }, "polynomial: no ciphertexts");
  fails([&] { (void)circuits::evaluate(eval, p, mixed); }, "ciphertext 1 has level");
}

TEST_P(EvaluatorLists, SwitchesSayWhatIsWrong) {
  const auto fails = [](const auto& run, const std::string& message) {
    EXPECT_THAT(run, ThrowsMessage<invalid_argument>(HasSubstr(message)));
  };
  const evaluation_key& key = rig.keys.get(relinearization_element, top);
  const std::vector<switch_source> sources{{a[0].parts[1].chain()}, {lower[0].parts[1].chain()}};
  const std::vector<backend::limb_view> views{sources[0].polynomial, sources[1].polynomial};
  auto& ring = rig.ctx->ring();
  fails([&] { (void)switch_product(*rig.ctx, std::span<const switch_source>{}, key); }, "no polynomials");
  fails([&] { (void)switch_product(*rig.ctx, sources, key); }, "expected the same");
  fails([&] { (void)rns::mod_up(ring, rig.ctx->converter(), std::span<const backend::limb_view>{}); },
        "mod_up: no polynomials");
  fails([&] { (void)rns::mod_up(ring, rig.ctx->converter(), views); }, "expected the same");
  std::vector<rns::raised_digits> digits;
  for (const auto& each : views) digits.push_back(rns::mod_up(ring, rig.ctx->converter(), each));
  const std::vector<product_options> options(2);
  fails([&] { (void)key_product(*rig.ctx, digits, key, options); }, "expected the same");
  fails([&] { (void)key_product(*rig.ctx, digits, key, std::span(options).first(1)); },
        "2 polynomials with 1 options");
}

INSTANTIATE_TEST_SUITE_P(WordBits, EvaluatorLists, ::testing::Values("test-n11-boot", "test-n11-boot64"),
                         [](const auto& each) {
                           return std::string(each.param).find("64") == std::string::npos ? "w32" : "w64";
                         });

}  // namespace
}  // namespace halocline::ckks
