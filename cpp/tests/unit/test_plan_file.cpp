// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "halocline/core/error.hpp"
#include "halocline/core/json.hpp"
#include "halocline/memory/plan/planner.hpp"
#include "support/message_of.hpp"
#include "support/plan_samples.hpp"

namespace halocline::memory::plan {
namespace {

using test::sample_plan;
using testing::HasSubstr;

std::string refusal(const std::vector<std::byte>& bytes) {
  return test::message_of<corrupt_data>([&] { (void)plan_from_bytes(bytes); });
}

TEST(PlanFile, ComesBackEqual) {
  const plan original = sample_plan();
  const std::vector<std::byte> bytes = to_bytes(original);
  const plan again = plan_from_bytes(bytes);
  EXPECT_EQ(again, original);
  EXPECT_EQ(to_bytes(again), bytes);
  EXPECT_EQ(plan_from_bytes(to_bytes(plan{})), plan{});
}

TEST(PlanFile, NumbersOfAnySizeComeBack) {
  plan original = sample_plan();
  original.capacity_bytes = std::numeric_limits<std::uint64_t>::max();
  original.objects[0].id = 1ULL << 63;
  original.objects[0].identity = (1ULL << 35) - 1;
  original.compositions = {{2, {2, 127, 128, 1ULL << 32}}, {1ULL << 32, {3}}};
  EXPECT_EQ(plan_from_bytes(to_bytes(original)), original);
}

TEST(PlanFile, RefusesEveryTruncation) {
  const std::vector<std::byte> bytes = to_bytes(sample_plan());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::span<const std::byte> part(bytes.data(), size);
    EXPECT_THROW((void)plan_from_bytes(part), corrupt_data) << size;
    std::vector<std::byte> sealed(part.begin(), part.end());
    test::reseal_plan(sealed);
    EXPECT_THROW((void)plan_from_bytes(sealed), corrupt_data) << size;
  }
}

TEST(PlanFile, RefusesFlippedBits) {
  const std::vector<std::byte> bytes = to_bytes(sample_plan());
  for (std::size_t i = 0; i < bytes.size() * 8; ++i) {
    std::vector<std::byte> damaged = bytes;
    damaged[i / 8] ^= static_cast<std::byte>(1U << (i % 8));
    EXPECT_THROW((void)plan_from_bytes(damaged), corrupt_data) << i;
  }
}

TEST(PlanFile, WithTheChecksumMadeRightDamageIsRefusedOrAnotherPlan) {
  const std::vector<std::byte> bytes = to_bytes(sample_plan());
  for (std::size_t i = 0; i < (bytes.size() - 8) * 8; ++i) {
    std::vector<std::byte> damaged = bytes;
    damaged[i / 8] ^= static_cast<std::byte>(1U << (i % 8));
    test::reseal_plan(damaged);
    try {
      EXPECT_EQ(to_bytes(plan_from_bytes(damaged)), damaged) << i;
    } catch (const corrupt_data&) {
      continue;
    }
  }
}

TEST(PlanFile, SaysWhatIsWrong) {
  std::vector<std::byte> bytes = to_bytes(sample_plan());
  EXPECT_THAT(refusal({}), HasSubstr("only 0 bytes"));
  bytes.push_back(std::byte{});
  EXPECT_THAT(refusal(bytes), HasSubstr("checksum is wrong"));
  test::reseal_plan(bytes);
  EXPECT_THAT(refusal(bytes), HasSubstr("bytes too many"));
  bytes = to_bytes(sample_plan());
  bytes[0] = std::byte{'h'};
  EXPECT_THAT(refusal(bytes), HasSubstr("must begin with HALOPLAN"));
  bytes = to_bytes(sample_plan());
  bytes[8] = std::byte{1};
  test::reseal_plan(bytes);
  EXPECT_THAT(refusal(bytes), HasSubstr("format version 1, this library reads version 2"));
}

/// What `plan_from_bytes` says of a plan that was changed before it was written.
std::string refusal_after(const std::function<void(plan&)>& change) {
  plan damaged = sample_plan();
  change(damaged);
  return refusal(to_bytes(damaged));
}

TEST(PlanFile, ChecksEveryIndex) {
  EXPECT_THAT(refusal_after([](plan& p) { p.directives[1].target = 99; }),
              HasSubstr("object of a directive"));
  EXPECT_THAT(refusal_after([](plan& p) { p.directives.back().before = 99; }), HasSubstr("names step 99"));
  EXPECT_THAT(refusal_after([](plan& p) { p.directives[0].pages = 99; }), HasSubstr("pages of a directive"));
  EXPECT_THAT(refusal_after([](plan& p) { p.directives[0].pages = 0; }), HasSubstr("pages of a directive"));
  EXPECT_THAT(refusal_after([](plan& p) { p.directives[0].action = static_cast<verb>(7); }),
              HasSubstr("unknown verb 7"));
  EXPECT_THAT(refusal_after([](plan& p) { std::swap(p.directives.front(), p.directives.back()); }),
              testing::Not(HasSubstr("no exception")));
  EXPECT_THAT(refusal_after([](plan& p) { p.objects[0].bytes = 0; }), HasSubstr("size of an object"));
  EXPECT_THAT(refusal_after([](plan& p) { p.objects[0].cls = static_cast<object_class>(5); }),
              HasSubstr("unknown kind of object"));
  EXPECT_THAT(refusal_after([](plan& p) { p.objects[0].comes_back = static_cast<recovery>(3); }),
              HasSubstr("unknown kind of object"));
  EXPECT_THAT(refusal_after([](plan& p) { p.objects[0].born = 99; }), HasSubstr("first step of an object"));
  EXPECT_THAT(refusal_after([](plan& p) { p.objects[0].dead = 99; }), HasSubstr("last step of an object"));
  EXPECT_THAT(refusal_after([](plan& p) { p.expected.total_ns = -1; }), HasSubstr("is no time"));
  EXPECT_THAT(refusal_after([](plan& p) { p.expected.stall_ns = std::numeric_limits<double>::quiet_NaN(); }),
              HasSubstr("is no time"));
}

TEST(PlanFile, ChecksCompositions) {
  using list = std::vector<composition>;
  const auto refused = [](const list& forged) {
    return refusal_after([&](plan& p) { p.compositions = forged; });
  };
  EXPECT_THAT(refused({{1, {5}}}), HasSubstr("element of a composition is 1"));
  EXPECT_THAT(refused({{25, {5, 5}}, {25, {125, 5}}}), HasSubstr("element of a composition"));
  EXPECT_THAT(refused({{625, {25, 25}}, {25, {5, 5}}}), HasSubstr("element of a composition"));
  EXPECT_THAT(refused({{(1ULL << 32) + 1, {5}}}), HasSubstr("element of a composition"));
  EXPECT_THAT(refused({{25, {}}}), HasSubstr("number of parts is 0"));
  EXPECT_THAT(refused({{25, std::vector<std::uint64_t>(17, 5)}}), HasSubstr("number of parts is 17"));
  EXPECT_THAT(refused({{25, {5, 5, 1}}}), HasSubstr("part of a composition is 1"));
  EXPECT_THAT(refused({{25, {5, 0}}}), HasSubstr("part of a composition is 0"));
}

TEST(PlanFile, ChecksThatTheParametersAreText) {
  for (const char* const bad : {"\xFF", "\xC0\x80", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
                                "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE2\x82", "a\x80"}) {
    EXPECT_THAT(refusal_after([&](plan& p) { p.parameters = bad; }), HasSubstr("UTF-8"));
  }
  for (const char* const good : {"", "a", "\xC2\x80", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                                 "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    plan each = sample_plan();
    each.parameters = good;
    EXPECT_EQ(plan_from_bytes(to_bytes(each)), each);
  }
  EXPECT_THAT(refusal_after([](plan& p) { p.parameters.assign((1 << 20) + 1, 'a'); }),
              HasSubstr("length of the parameters"));
}

TEST(PlanFile, TheSummaryIsJson) {
  const plan source = sample_plan();
  const json::value parsed = json::parse(to_json(source));
  const json::object& top = parsed.as_object("plan");
  EXPECT_EQ(json::find(top, "parameters")->as_string("parameters"), source.parameters);
  EXPECT_EQ(json::find(top, "steps")->as_integer("steps", 0, 1000), source.steps());
  const json::object& expected = json::find(top, "expected")->as_object("expected");
  EXPECT_EQ(json::find(expected, "loaded_bytes")->as_integer("loaded_bytes", 0, 1ULL << 53),
            source.expected.loaded_bytes);
  EXPECT_EQ(json::find(expected, "gap")->as_number("gap"), source.expected.gap());
  plan unbounded;
  unbounded.expected.loaded_bytes = ~std::uint64_t{0};
  EXPECT_EQ(to_json(unbounded).find("gap"), std::string::npos);
}

}  // namespace
}  // namespace halocline::memory::plan
