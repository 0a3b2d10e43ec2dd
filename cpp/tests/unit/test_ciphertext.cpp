// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/ciphertext.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "halocline/ckks/context.hpp"
#include "halocline/core/error.hpp"
#include "support/message_of.hpp"
#include "support/residues.hpp"

namespace halocline::ckks {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// A ciphertext with uniform residues.
ciphertext sample(context& ctx, unsigned level = 2, std::size_t parts = 2) {
  ciphertext result;
  for (std::size_t i = 0; i < parts; ++i) {
    result.parts.push_back(ring::make_poly(ctx.ring(), ctx.parameters().level(level).q,
                                           memory::object_class::ciphertext, "ciphertext"));
    const backend::uniform_job job{result.parts.back().chain(),
                                   {backend::seed_bytes{9}, static_cast<std::uint32_t>(i)}};
    ctx.device().sample_uniform(ctx.tables(), {&job, 1});
  }
  result.level = level;
  result.scale = 0x1p40;
  result.slots = 64;
  result.real_hint = true;
  result.key.bytes.fill(3);
  result.seed = backend::uniform_source{backend::seed_bytes{9}, 1};
  return result;
}

void expect_equal(context& a_ctx, const ciphertext& a, context& b_ctx, const ciphertext& b) {
  EXPECT_EQ(a.level, b.level);
  EXPECT_EQ(a.scale, b.scale);
  EXPECT_EQ(a.slots, b.slots);
  EXPECT_EQ(a.real_hint, b.real_hint);
  EXPECT_EQ(a.key, b.key);
  ASSERT_EQ(a.seed.has_value(), b.seed.has_value());
  EXPECT_EQ(a.seed->seed, b.seed->seed);
  EXPECT_EQ(a.seed->stream, b.seed->stream);
  ASSERT_EQ(a.parts.size(), b.parts.size());
  for (std::size_t i = 0; i < a.parts.size(); ++i) {
    EXPECT_EQ(test::words_of(a_ctx, a.parts[i].chain()), test::words_of(b_ctx, b.parts[i].chain()));
  }
}

TEST(Ciphertext, CountsItsBytes) {
  const auto ctx = test::make_test_context(params::preset("test-n10-d3"));
  const std::size_t limbs = ctx->parameters().level(2).q.count;
  EXPECT_EQ(sample(*ctx).bytes(), 2 * limbs * 1024 * 4);
  EXPECT_EQ(sample(*ctx, 2, 3).bytes(), 3 * limbs * 1024 * 4);
}

TEST(Ciphertext, ClonesAreEqualAndIndependent) {
  const auto ctx = test::make_test_context(params::preset("test-n10-d3"));
  const ciphertext source = sample(*ctx, 2, 3);
  ciphertext copy = clone(*ctx, source);
  expect_equal(*ctx, source, *ctx, copy);
  const auto before = test::words_of(*ctx, source.parts[0].chain());
  const backend::limb_view view = copy.parts[0].chain();
  ctx->device().set_zero(ctx->tables(), {&view, 1});
  EXPECT_EQ(test::words_of(*ctx, source.parts[0].chain()), before);
}

TEST(Ciphertext, ReadWithOtherSlotsIsTheSamePolynomial) {
  const auto ctx = test::make_test_context(params::preset("test-n10-d3"));
  const ciphertext source = sample(*ctx);
  const ciphertext few = with_slots(*ctx, source, 16);
  EXPECT_EQ(few.slots, 16U);
  EXPECT_EQ(few.level, source.level);
  EXPECT_EQ(few.scale, source.scale);
  EXPECT_EQ(test::words_of(*ctx, few.parts[1].chain()), test::words_of(*ctx, source.parts[1].chain()));
  for (const std::uint32_t wrong : {0U, 24U, 1024U}) {
    EXPECT_THAT(test::message_of<invalid_argument>([&] { (void)with_slots(*ctx, source, wrong); }),
                HasSubstr("expected a power of two up to 512"));
  }
}

TEST(Ciphertext, TransfersBetweenContextsOfEqualParameters) {
  for (const char* preset : {"test-n10-d3", "test-n10-d3-w64"}) {
    const auto from = test::make_test_context(params::preset(preset));
    const auto to = test::make_test_context(params::preset(preset));
    const ciphertext source = sample(*from);
    const ciphertext moved = transfer(source, *to);
    expect_equal(*from, source, *to, moved);
    EXPECT_NO_THROW(check(*to, moved, "test"));
    EXPECT_THAT(test::message_of<invalid_argument>([&] { check(*to, source, "add"); }),
                HasSubstr("add: the ciphertext belongs to another engine or client"));
  }
}

TEST(Ciphertext, TransferRefusesOtherParametersAndEmptyGhosts) {
  const auto ctx = test::make_test_context(params::preset("test-n10-d3"));
  const auto other = test::make_test_context(params::preset("test-n11-d8"));
  const auto ghost = test::make_test_context(params::preset("test-n10-d3"), "ghost");
  const ciphertext source = sample(*ctx);
  EXPECT_THAT(test::message_of<invalid_argument>([&] { (void)transfer(source, *other); }),
              AllOf(HasSubstr("test-n10-d3"), HasSubstr("test-n11-d8")));
  const ciphertext shape = transfer(source, *ghost);
  EXPECT_NO_THROW(check(*ghost, shape, "test"));
  EXPECT_EQ(shape.bytes(), source.bytes());
  EXPECT_THAT(test::message_of<invalid_argument>([&] { (void)transfer(shape, *ctx); }), HasSubstr("ghost"));
}

class BrokenCiphertext : public ::testing::TestWithParam<const char*> {};

TEST_P(BrokenCiphertext, IsNamedByCheck) {
  const auto ctx = test::make_test_context(params::preset("test-n10-d3"), GetParam());
  ciphertext value = sample(*ctx);
  const auto problem = [&] {
    return test::message_of<invalid_argument>([&] { check(*ctx, value, "square"); });
  };
  EXPECT_EQ(problem(), "no exception");
  value.level = 4;
  EXPECT_THAT(problem(), AllOf(HasSubstr("square: a ciphertext of level 4"), HasSubstr("is 3")));
  value.level = 1;
  EXPECT_THAT(problem(), HasSubstr("made for other parameters"));
  value.level = 2;
  for (const double scale : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    value.scale = scale;
    EXPECT_THAT(problem(), HasSubstr("expected a positive number"));
  }
  value.scale = 1.0;
  for (const std::uint32_t slots : {0U, 3U, 1024U}) {
    value.slots = slots;
    EXPECT_THAT(problem(), HasSubstr("expected a power of two up to 512"));
  }
  value.slots = 512;
  value.parts.pop_back();
  EXPECT_THAT(problem(), HasSubstr("1 components"));
  value.parts.emplace_back();
  EXPECT_THAT(problem(), HasSubstr("moved from"));
  value.parts.back() = ring::poly(ctx->ring(), {0, 1}, ctx->parameters().level(2).q,
                                  memory::object_class::ciphertext, "ciphertext");
  EXPECT_THAT(problem(), HasSubstr("made for other parameters"));
}

INSTANTIATE_TEST_SUITE_P(ciphertext, BrokenCiphertext, ::testing::Values("cpu", "ghost"));

}  // namespace
}  // namespace halocline::ckks
