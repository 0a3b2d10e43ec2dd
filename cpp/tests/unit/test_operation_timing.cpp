// SPDX-License-Identifier: Apache-2.0
#include "operations/operation_timing.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "halocline/ckks/client.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/core/error.hpp"
#include "halocline/params/presets.hpp"

namespace halocline::bench {
namespace {

class OperationTiming : public testing::Test {
 protected:
  OperationTiming() : on_(params::preset("test-n10-d3")) {
    ckks::client who(params::preset("test-n10-d3"));
    ckks::key_selection wanted;
    wanted.rotations = {1};
    on_.add_keys(who.make_keys(wanted));
  }

  ckks::engine on_;
};

timing_request request(const std::string& operation, unsigned level, unsigned samples,
                       unsigned per_sample = 0, unsigned operand_sets = 1) {
  timing_request made;
  made.operation = operation;
  made.level = level;
  made.samples = samples;
  made.per_sample = per_sample;
  made.operand_sets = operand_sets;
  return made;
}

TEST_F(OperationTiming, EveryOperationHasAsManySamplesAsAskedFor) {
  for (const std::string& name : timed_operations()) {
    const timing_result result = time_operation(on_, request(name, 2, 3, 2, 2));
    EXPECT_EQ(result.seconds.size(), 3U) << name;
    // A call of ntt_batch counts as eight, and each set of operands takes its turn.
    EXPECT_EQ(result.per_sample, name == "ntt_batch" ? 16U : 2U) << name;
    EXPECT_GT(*std::min_element(result.seconds.begin(), result.seconds.end()), 0.0) << name;
  }
}

TEST_F(OperationTiming, DoublesTheNumberOfOperationsUntilTheyTakeLongEnough) {
  timing_request wanted = request("add", 0, 1);
  wanted.sample_seconds = 0;
  EXPECT_EQ(time_operation(on_, wanted).per_sample, 1U);
  wanted.sample_seconds = 1e9;  // never: the most that a sample may have
  EXPECT_EQ(time_operation(on_, wanted).per_sample, 4096U);
}

TEST_F(OperationTiming, LeavesNoBuffersBehind) {
  timing_request wanted = request("rotate", 2, 1, 1);
  (void)time_operation(on_, wanted);  // makes tables
  const std::size_t before = on_.context().runtime().statistics().live_bytes;
  wanted.graph = true;
  (void)time_operation(on_, wanted);
  EXPECT_EQ(on_.context().runtime().statistics().live_bytes, before);
}

TEST_F(OperationTiming, RefusesWhatItCannotTime) {
  EXPECT_THROW((void)time_operation(on_, request("divide", 1, 1)), invalid_argument);
  EXPECT_THROW((void)time_operation(on_, request("rescale", 0, 1)), invalid_argument);
  EXPECT_THROW((void)time_operation(on_, request("add", 9, 1)), invalid_argument);
  EXPECT_THROW((void)time_operation(on_, request("add", 1, 0)), invalid_argument);
  EXPECT_THROW((void)time_operation(on_, request("add", 1, 1, 1, 0)), invalid_argument);
  ckks::engine without(params::preset("test-n10-d3"));
  EXPECT_THROW((void)time_operation(without, request("rotate", 1, 1)), missing_key);
}

}  // namespace
}  // namespace halocline::bench
