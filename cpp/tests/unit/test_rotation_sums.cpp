// SPDX-License-Identifier: Apache-2.0
// Sums of rotations against their specification in steps of key switching, against lone rotations, and as a
// cost model chooses them.
#include "halocline/ckks/rotation_sums.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "circuits/switch_work.hpp"
#include "halocline/ckks/key_switch.hpp"
#include "halocline/core/error.hpp"
#include "halocline/rns/mod_down.hpp"
#include "halocline/rns/mod_up.hpp"
#include "support/circuit_fixture.hpp"
#include "support/turned_poly.hpp"

namespace halocline::test {
namespace {

using ckks::ciphertext;
using ckks::rotation_stage;
using testing::HasSubstr;
using testing::ThrowsMessage;

ckks_rig& shared_rig(const std::string& preset) {
  static std::map<std::string, std::unique_ptr<ckks_rig>> rigs;
  auto& rig = rigs[preset];
  if (!rig) {
    std::vector<std::int64_t> steps;
    for (std::int64_t i = 1; i < 8; ++i) steps.insert(steps.end(), {i, 4 * i, 8 * i});
    rig = std::make_unique<ckks_rig>(preset, steps);
  }
  return *rig;
}

std::vector<std::byte> bytes_of(ckks_rig& rig, const ciphertext& value) {
  std::vector<std::byte> all;
  for (const ring::poly& each : value.parts) {
    const std::size_t begin = all.size();
    all.resize(begin + each.data().size());
    rig.ctx->device().download(std::span(all).subspan(begin), each.data(), 0);
  }
  return all;
}

/// to += from, over all primes.
void add(ckks::context& ctx, const ring::poly& to, const ring::poly& from) {
  std::vector<backend::binary_job> jobs;
  for (std::size_t i = 0; i < to.views().size(); ++i) {
    jobs.push_back({to.views()[i], to.views()[i], from.views()[i]});
  }
  ctx.device().add(ctx.tables(), jobs);
}

/// The specification: every stage by hoisted products with keys, each turned by a pass of its own.
ciphertext specified(ckks_rig& rig, const ciphertext& a, std::span<const rotation_stage> stages) {
  ckks::context& ctx = *rig.ctx;
  const arith::window special = rig.parameters().special_window(), chain = rig.parameters().level(a.level).q;
  const auto scratch = memory::object_class::scratch;
  const auto zero = [&] {
    ring::poly p(ctx.ring(), special, chain, scratch, "sum");
    ctx.device().set_zero(ctx.tables(), p.views());
    return p;
  };
  ckks::poly_pair sum{zero(), zero()};
  ckks::add_times_special(ctx, sum.first, a.parts[0].chain());
  ckks::add_times_special(ctx, sum.second, a.parts[1].chain());
  for (const rotation_stage& stage : stages) {
    const ring::poly* const second[] = {&sum.second};
    const auto divided =
        rns::divide(ctx.ring(), ctx.converter(), {special, chain, chain, {}}, second, scratch, "second");
    const rns::raised_digits digits = rns::mod_up(ctx.ring(), ctx.converter(), divided.front().chain());
    ckks::poly_pair next{zero(), zero()};
    for (const std::int64_t step : stage) {
      const std::uint64_t element = rig.parameters().galois_element(step);
      ckks::poly_pair product{zero(), zero()};
      if (element != 1) {
        product = ckks::key_product(ctx, digits, rig.keys.get(element, a.level));
      } else {
        add(ctx, product.second, sum.second);
      }
      add(ctx, product.first, sum.first);
      for (const auto half : {&ckks::poly_pair::first, &ckks::poly_pair::second}) {
        add(ctx, next.*half, turned_poly(ctx, product.*half, element));
      }
    }
    sum = std::move(next);
  }
  ciphertext result = ckks::clone(ctx, a);
  result.parts = ckks::finish_switch(ctx, sum, a.level, a.level);
  return result;
}

class RotationSums : public testing::TestWithParam<const char*> {
 protected:
  ckks_rig& rig = shared_rig(GetParam());
  ckks::evaluator& eval = rig.eval;
  complex_vector values = rig.random_values(rig.slots(), 1);
  ciphertext x = rig.encrypt(values);

  [[nodiscard]] ciphertext summed(const ciphertext& a, std::span<const rotation_stage> stages) const {
    const ciphertext* const one[] = {&a};
    return std::move(eval.sum_rotations(one, stages).front());
  }
  [[nodiscard]] complex_vector expected(std::span<const std::int64_t> steps) const {
    const auto n = static_cast<std::int64_t>(values.size());
    complex_vector out(values.size());
    for (std::int64_t i = 0; i < n; ++i) {
      for (const std::int64_t k : steps) {
        out[static_cast<std::size_t>(i)] += values[static_cast<std::size_t>(((i + k) % n + n) % n)];
      }
    }
    return out;
  }
};

// With the operand itself and without, at all kinds of levels, in groups of any size. P times the operand is
// divided by P exactly, so the specification may begin with it.
TEST_P(RotationSums, AreTheIntegersOfTheSpecification) {
  const std::vector<std::vector<rotation_stage>> programs{{{0, 1, 2, 3}},
                                                          {{2}},
                                                          {{1, 5}},
                                                          {{0, 1}, {0, 2}},
                                                          {{0, 1, 2, 3}, {0, 4, 8, 12}},
                                                          {{1, 2}, {3, 0}, {4, 5}},
                                                          {{0}, {0, 1}, {0}}};
  const std::size_t limb = rig.ctx->tables().limb_bytes();
  for (const unsigned level : {rig.top(), 1U}) {
    const ciphertext a = eval.drop_level(x, level);
    for (const auto& stages : programs) {
      const auto wanted = bytes_of(rig, specified(rig, a, stages));
      for (const std::size_t limbs : {0, 1, 7, 20, 10000}) {
        for (const std::size_t budget : {std::size_t{0}, std::size_t{1}, std::size_t{6} << 20}) {
          rig.ctx->set_cache_bytes(limbs * limb);
          rig.ctx->set_joining_budget(budget);
          EXPECT_EQ(bytes_of(rig, summed(a, stages)), wanted)
              << level << " " << stages.size() << " " << limbs << " " << budget;
        }
      }
      rig.ctx->set_cache_bytes(0);
      rig.ctx->set_joining_budget({});
    }
  }
}

// A key switch errs by its division, 2^-40 sqrt(N (h + 1) / 12) = 2^-31 at N = 2^10, and by its key: eight
// rotations make 2^-28, one division less. Results of lone rotations err at least as much.
TEST_P(RotationSums, AreAsPreciseAsLoneRotations) {
  SCOPED_TRACE(rig.describe());
  const std::vector<std::int64_t> eight{0, 1, 2, 3, 4, 5, 6, 7}, some{-1 + 5, 2, 0, 24};
  EXPECT_GT(rig.precision(eval.sum_rotations(x, some), expected(some)).worst_bits, 23.0);
  const auto mean = [&](const ciphertext& y) { return rig.precision(y, expected(eight)).mean_bits; };
  ciphertext lone = ckks::clone(*rig.ctx, x);
  for (const std::int64_t step : eight) {
    if (step != 0) lone = eval.add(lone, eval.rotate(x, step));
  }
  const double by_doubling = mean(eval.inner_sum(x, 1, 8));
  for (const unsigned radix : {4U, 8U}) {
    const ciphertext y = eval.inner_sum(x, 1, 8, radix);
    EXPECT_EQ(y.level, x.level);
    EXPECT_EQ(y.scale, x.scale);
    EXPECT_EQ(y.slots, x.slots);
    EXPECT_GT(rig.precision(y, expected(eight)).worst_bits, 23.0);
    EXPECT_GT(mean(y), by_doubling - 0.1) << radix;
    EXPECT_GT(mean(y), mean(lone) - 0.1) << radix;
  }
  EXPECT_EQ(bytes_of(rig, eval.inner_sum(x, 1, 8, 2)), bytes_of(rig, eval.inner_sum(x, 1, 8)));
}

TEST_P(RotationSums, SeveralAreTheSameAsEachByItself) {
  const ciphertext other = rig.encrypt(rig.random_values(rig.slots(), 2), 1);
  const ciphertext* const both[] = {&x, &other};
  const auto stages = ckks::sum_stages(1, 16, 4);
  const auto together = eval.sum_rotations(both, stages);
  EXPECT_EQ(bytes_of(rig, together[0]), bytes_of(rig, summed(x, stages)));
  EXPECT_EQ(bytes_of(rig, together[1]), bytes_of(rig, summed(other, stages)));
  EXPECT_EQ(bytes_of(rig, std::move(eval.sum_rotations(both, {}).front())), bytes_of(rig, x));
}

TEST(SumStages, AreFewAndOfEvenSizes) {
  const auto sizes = [](std::uint32_t count, unsigned radix) {
    std::vector<std::size_t> result;
    for (const auto& stage : ckks::sum_stages(3, count, radix)) result.push_back(stage.size());
    return result;
  };
  using testing::ElementsAre;
  EXPECT_THAT(sizes(128, 8), ElementsAre(8, 4, 4));
  EXPECT_THAT(sizes(128, 4), ElementsAre(4, 4, 4, 2));
  EXPECT_THAT(sizes(16, 8), ElementsAre(4, 4));
  EXPECT_THAT(sizes(8, 16), ElementsAre(8));
  EXPECT_TRUE(sizes(1, 4).empty());
  for (const unsigned radix : {2U, 4U, 8U, 16U}) {
    std::set<std::int64_t> sums{0};  // all shifts 0, 3, 6, ... once
    for (const auto& stage : ckks::sum_stages(3, 128, radix)) {
      std::set<std::int64_t> next;
      for (const std::int64_t sum : sums) {
        for (const std::int64_t step : stage) next.insert(sum + step);
      }
      sums = next;
    }
    ASSERT_EQ(sums.size(), 128u);
    EXPECT_EQ(*sums.rbegin(), 3 * 127);
  }
}

// With exactly the keys that are listed; and a ghost asks for the same.
TEST_P(RotationSums, KeysAreThoseOfTheList) {
  for (const unsigned radix : {2U, 4U, 8U, 16U}) {
    const auto stages = ckks::sum_stages(2, 32, radix);
    const auto listed = ckks::keys_of(rig.parameters(), stages, 1);
    EXPECT_EQ(listed.size(), radix == 2 ? 5U : radix == 4 ? 7U : 10U);  // 8 by 4 for radix 16, too
    exact_keys keys(rig, listed);
    const ciphertext a = rig.eval.drop_level(x, 1);
    const ciphertext* const one[] = {&a};
    EXPECT_EQ(keys.eval.sum_rotations(one, stages).front().level, 1U);
    ghost_rig ghost(rig.parameters());
    const ciphertext empty = ghost.ghost_input(1, rig.slots());
    const ciphertext* const empties[] = {&empty};
    (void)ghost.eval.sum_rotations(empties, stages);
    const auto asked = ghost.keys.requests();
    ASSERT_EQ(asked.size(), listed.size());
    for (std::size_t i = 0; i < asked.size(); ++i) {
      EXPECT_EQ(asked[i].galois_element, listed[i].galois_element);
      EXPECT_EQ(asked[i].level, listed[i].level);
    }
  }
}

TEST_P(RotationSums, BadInputIsRefused) {
  const auto sum = [&](std::vector<std::int64_t> steps) { (void)eval.sum_rotations(x, steps); };
  EXPECT_THAT([&] { sum({}); }, ThrowsMessage<invalid_argument>(HasSubstr("no rotations")));
  EXPECT_THAT([&] { sum({1, 2, 1}); }, ThrowsMessage<invalid_argument>(HasSubstr("by 1 is there twice")));
  EXPECT_THAT(
      [&] {
        sum({0, static_cast<std::int64_t>(rig.slots())});
      },
      ThrowsMessage<invalid_argument>(HasSubstr("twice")));
  EXPECT_THAT([&] { sum({0, 17}); }, ThrowsMessage<missing_key>(HasSubstr("17")));
  EXPECT_THAT([&] { (void)ckks::sum_stages(1, 12, 4); },
              ThrowsMessage<invalid_argument>(HasSubstr("count of 12")));
  EXPECT_THAT([&] { (void)eval.inner_sum(x, 1, 8, 6); },
              ThrowsMessage<invalid_argument>(HasSubstr("radix 6")));
  EXPECT_THAT([&] { (void)ckks::sum_stages(std::int64_t{1} << 62, 8, 4); },
              ThrowsMessage<invalid_argument>(HasSubstr("too large")));
  const ciphertext three = eval.unfinished_product(x, x);
  const std::vector<std::int64_t> steps{0, 1};
  EXPECT_THAT([&] { (void)eval.sum_rotations(three, steps); },
              ThrowsMessage<invalid_argument>(HasSubstr("relinearize")));
}

TEST_P(RotationSums, SwitchesCheckWhatTheyAdd) {
  ckks::context& ctx = *rig.ctx;
  const auto& key = rig.keys.get(rig.parameters().galois_element(1), rig.top());
  const ckks::switch_term term{&key, 1};
  const ckks::poly_pair total =
      ckks::key_product(ctx, rns::mod_up(ctx.ring(), ctx.converter(), x.parts[1].chain()), key);
  ckks::switch_source source{x.parts[1].chain()};
  EXPECT_THAT([&] { ckks::switch_sum(ctx, source, {}, total, false); },
              ThrowsMessage<invalid_argument>(HasSubstr("no keys")));
  source.extended0 = &x.parts[0];
  EXPECT_THAT(
      [&] {
        ckks::switch_sum(ctx, source, {&term, 1}, total, false);
      },
      ThrowsMessage<invalid_argument>(HasSubstr("0 special primes")));
  source.plus0 = x.parts[0].chain();
  EXPECT_THAT(
      [&] {
        ckks::switch_sum(ctx, source, {&term, 1}, total, false);
      },
      ThrowsMessage<invalid_argument>(HasSubstr("beside extended0")));
}

INSTANTIATE_TEST_SUITE_P(WordBits, RotationSums, testing::Values("test-n10-d3", "test-n10-d3-w64"));

// n16-boot at its top: a decomposition costs 2.4 products with a key by the model, so four rotations at a
// time are best: 6 stages of 1,200 NTTs for 4,096 copies, against 12 of 800 and 4 of 2,000.
TEST(SumWork, FourRotationsAtATimeAreBest) {
  const params::parameters parameters = params::preset("n16-boot");
  EXPECT_EQ(circuits::detail::best_sum_radix(parameters, 26, 4096), 4U);
  EXPECT_EQ(circuits::detail::best_sum_radix(parameters, 26, 2), 2U);
  EXPECT_EQ(circuits::detail::best_sum_radix(parameters, 26, 1), 2U);
  const auto work = [&](unsigned radix) {
    return circuits::detail::sum_work(parameters, 26, ckks::sum_stages(8, 4096, radix));
  };
  EXPECT_LT(work(4), 0.8 * work(2));
  EXPECT_LT(work(2), 12 * circuits::detail::rotation_work(parameters, 26));
}

}  // namespace
}  // namespace halocline::test
