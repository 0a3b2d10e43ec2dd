// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/operation_timing.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "halocline/ckks/client.hpp"
#include "halocline/params/presets.hpp"

namespace halocline::ckks {
namespace {

class OperationTiming : public testing::Test {
 protected:
  OperationTiming() : on_(params::preset("test-n10-d3"), {.threads = 1}) {
    client who(params::preset("test-n10-d3"), {.threads = 1});
    on_.add_keys(who.ctx(), who.make_keys(key_selection{{1}}));
  }

  engine on_;
};

TEST_F(OperationTiming, EveryOperationHasAsManySamplesAsAskedFor) {
  for (const std::string& name : timed_operations()) {
    const timing_result result = time_operation(
        on_, {.operation = name, .level = 2, .samples = 3, .per_sample = 2, .operand_sets = 2});
    EXPECT_EQ(result.seconds.size(), 3U) << name;
    // A call of ntt_batch counts as eight, and each set of operands takes its turn.
    EXPECT_EQ(result.per_sample, name == "ntt_batch" ? 16U : 2U) << name;
    EXPECT_GT(*std::min_element(result.seconds.begin(), result.seconds.end()), 0.0) << name;
  }
}

TEST_F(OperationTiming, FindsANumberOfOperationsThatTakesLongEnough) {
  const timing_result result =
      time_operation(on_, {.operation = "add", .level = 0, .samples = 1, .sample_seconds = 1e-3});
  EXPECT_GT(result.per_sample, 1U);  // an addition of 1024 words takes microseconds
}

TEST_F(OperationTiming, LeavesNoBuffersBehind) {
  (void)time_operation(on_,
                       {.operation = "rotate", .level = 2, .samples = 1, .per_sample = 1});  // makes tables
  const std::size_t before = on_.ctx().runtime().statistics().live_bytes;
  (void)time_operation(on_,
                       {.operation = "rotate", .level = 2, .samples = 1, .per_sample = 1, .graph = true});
  EXPECT_EQ(on_.ctx().runtime().statistics().live_bytes, before);
}

TEST_F(OperationTiming, RefusesWhatItCannotTime) {
  EXPECT_THROW((void)time_operation(on_, {.operation = "divide"}), invalid_argument);
  EXPECT_THROW((void)time_operation(on_, {.operation = "rescale", .level = 0}), invalid_argument);
  EXPECT_THROW((void)time_operation(on_, {.operation = "add", .level = 9}), invalid_argument);
  EXPECT_THROW((void)time_operation(on_, {.operation = "add", .samples = 0}), invalid_argument);
  EXPECT_THROW((void)time_operation(on_, {.operation = "add", .operand_sets = 0}), invalid_argument);
  engine without(params::preset("test-n10-d3"), {.threads = 1});
  EXPECT_THROW((void)time_operation(without, {.operation = "rotate", .level = 1}), missing_key);
}

}  // namespace
}  // namespace halocline::ckks
