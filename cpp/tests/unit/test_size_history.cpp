// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/policy/size_history.hpp"

#include <gtest/gtest.h>

namespace halocline::test {
namespace {

using memory::on_allocate;
using memory::on_free;
using counts = std::vector<std::uint64_t>;

TEST(SizeHistory, RecordsTheLiveCountAfterEachAllocation) {
  memory::size_history history;
  on_allocate(history, 10);
  on_allocate(history, 10);
  on_free(history);
  on_allocate(history, 10);
  on_allocate(history, 10);
  EXPECT_EQ(history.recent, (counts{1, 2, 2, 3}));
  EXPECT_EQ(history.live, 3U);
}

TEST(SizeHistory, KeepsTheLastCountsOnly) {
  memory::size_history history;
  for (int i = 0; i < 6; ++i) on_allocate(history, 4);
  EXPECT_EQ(history.recent, (counts{3, 4, 5, 6}));
  on_allocate(history, 2);  // a shorter length takes effect at once
  EXPECT_EQ(history.recent, (counts{6, 7}));
}

TEST(SizeHistory, FreesOfOlderBuffersDoNotCount) {
  memory::size_history history;
  on_free(history);
  EXPECT_EQ(history.live, 0U);
  on_allocate(history, 10);
  EXPECT_EQ(history.recent, (counts{1}));
}

}  // namespace
}  // namespace halocline::test
