// SPDX-License-Identifier: Apache-2.0
#include "halocline/backend/profile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>
#include <string>

#include "backend/operation_stack.hpp"
#include "backend/profiler.hpp"
#include "halocline/backend/program_scope.hpp"
#include "halocline/backend/scoped_operation.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/core/error.hpp"
#include "halocline/core/json.hpp"
#include "support/ckks_fixture.hpp"

namespace halocline::backend {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(ProfileBuilder, GroupsByOperationStepAndKernel) {
  profile_builder builder(true);
  const auto two_kernels = [&](std::uint64_t begin) {
    sample_place at = builder.begin_step(op_kind::ntt);
    at.kernel = "ntt_first";
    builder.add(at, begin, begin + 10);
    at.kernel = "ntt_second";
    builder.add(at, begin + 10, begin + 40);
  };
  {
    const scoped_operation outer("multiply");
    two_kernels(0);
    const scoped_operation inner("rescale");
    two_kernels(100);
    two_kernels(200);
  }
  sample_place at = builder.begin_step(op_kind::copy);
  builder.add(at, 238, 243);  // begins before the last one ended: the timeline moves it, its time stays
  const profile p = builder.finish();

  ASSERT_EQ(p.rows.size(), 5U);
  EXPECT_EQ(p.rows[0].operation, "multiply/rescale");
  EXPECT_EQ(p.rows[0].op, "ntt");
  EXPECT_EQ(p.rows[0].kernel, "ntt_second");
  EXPECT_EQ(p.rows[0].calls, 2U);
  EXPECT_EQ(p.rows[0].total_ns, 60U);
  EXPECT_EQ(p.rows[0].shortest_ns, 30U);
  EXPECT_EQ(p.rows[0].longest_ns, 30U);
  EXPECT_EQ(p.rows[4].operation, "-");
  EXPECT_EQ(p.rows[4].total_ns, 5U);
  EXPECT_EQ(p.total_ns(), 125U);
  EXPECT_EQ(p.ntt_ns(), 120U);

  // Tracks: three operations, four steps, seven kernels; the two steps of "rescale" are one operation.
  std::map<std::uint32_t, int> spans;
  for (const memory::timeline_span& each : p.timeline.spans) ++spans[each.track];
  EXPECT_EQ(spans[0], 3);
  EXPECT_EQ(spans[1], 4);
  EXPECT_EQ(spans[2], 7);
  EXPECT_THAT(p.timeline.tracks, ElementsAre("operations", "ring operations", "kernels"));
  EXPECT_EQ(p.timeline.spans.back().begin_ns, 240U);
  std::ostringstream out;
  memory::write_perfetto(p.timeline, out);
  EXPECT_NO_THROW((void)json::parse(out.str()));
}

TEST(ProfileBuilder, DeepNestingKeepsTheOuterNames) {
  profile_builder builder(false);
  const scoped_operation a("a"), b("b"), c("c"), d("d"), e("e"), f("f"), g("g"), h("h"), i("i"), j("j");
  builder.add(builder.begin_step(op_kind::add), 5, 3);  // a clock that went back: no time
  const profile p = builder.finish();
  EXPECT_EQ(p.rows.at(0).operation, "a/b/c/d/e/f/g/h");
  EXPECT_EQ(p.rows.at(0).total_ns, 0U);
}

TEST(ScopedOperation, TellsHooksAndLeavesNothingBehind) {
  static std::string seen;
  static const operation_hooks hooks{[](const char* name) noexcept { seen += std::string("<") + name; },
                                     []() noexcept { seen += '>'; }};
  set_operation_hooks(&hooks);
  {
    const scoped_operation outer("multiply");
    const scoped_operation inner("rescale");
  }
  set_operation_hooks(nullptr);
  { const scoped_operation unseen("add"); }
  EXPECT_EQ(seen, "<multiply<rescale>>");
  EXPECT_EQ(this_thread_operations().depth, 0U);
}

TEST(Profile, TimesTheStepsOfTheCpuByOperation) {
  test::ckks_rig rig("test-n10-d3", {1});
  backend& cpu = rig.ctx->device();
  const ckks::ciphertext x = rig.encrypt(rig.random_values(rig.slots(), 1));
  cpu.start_profile();
  EXPECT_THAT([&] { cpu.start_profile(); }, ThrowsMessage<invalid_argument>(HasSubstr("already")));
  const ckks::ciphertext y = rig.eval.rotate(rig.eval.multiply(x, x), 1);
  const profile p = cpu.stop_profile();
  EXPECT_THAT([&] { (void)cpu.stop_profile(); }, ThrowsMessage<invalid_argument>(HasSubstr("none")));

  EXPECT_EQ(p.device, "cpu");
  EXPECT_FALSE(p.kernels);
  EXPECT_LE(p.total_ns(), p.wall_ns);
  EXPECT_GT(p.ntt_ns(), 0U);
  EXPECT_LT(p.ntt_ns(), p.total_ns());
  EXPECT_EQ(p.driver, driver_counters{});
  std::set<std::string> outer;
  std::map<std::string, std::uint64_t> calls;
  for (const profile_row& row : p.rows) {
    outer.insert(row.operation.substr(0, row.operation.find('/')));
    calls[row.op] += row.calls;
  }
  EXPECT_THAT(outer, ElementsAre("multiply", "rotate"));
  EXPECT_EQ(calls["tensor"], 1U);
  EXPECT_GE(calls["key_multiply_accumulate"], 2U);  // relinearization and rotation
  EXPECT_EQ(calls.count("automorphism"), 0U);       // part of the product
  const std::uint64_t steps = rig.ctx->runtime().statistics().steps;
  EXPECT_GE(steps, p.rows.size());
}

TEST(Profile, NothingIsTimedUnlessAskedFor) {
  test::ckks_rig rig("test-n10-d3");
  backend& cpu = rig.ctx->device();
  const ckks::ciphertext x = rig.encrypt(rig.random_values(rig.slots(), 1));
  cpu.start_profile();
  EXPECT_TRUE(cpu.stop_profile().rows.empty());
  (void)rig.eval.add(x, x);
  cpu.start_profile();
  EXPECT_TRUE(cpu.stop_profile().rows.empty());
}

TEST(ProgramScope, IsHarmlessWhereThereAreNoGraphs) {
  test::ckks_rig rig("test-n10-d3");
  backend& cpu = rig.ctx->device();
  EXPECT_FALSE(cpu.makes_graphs());
  cpu.use_graphs(true);
  {
    program_scope scope(cpu, 1);
    const program_scope part(cpu, 2);
    scope.finish();
  }
  EXPECT_EQ(cpu.graphs().programs, 0U);
}

}  // namespace
}  // namespace halocline::backend
