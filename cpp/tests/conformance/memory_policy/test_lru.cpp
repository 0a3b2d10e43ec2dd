// SPDX-License-Identifier: Apache-2.0
#include "memory_policy/policy_conformance.hpp"

namespace halocline::test {
namespace {

struct lru_case {
  static constexpr const char* name = "lru";
};
INSTANTIATE_TYPED_TEST_SUITE_P(Lru, PolicyConformance, lru_case);

TEST(LruPolicy, PagesEverythingButScratch) {
  const memory::policy policy = memory::make_policy("lru");
  EXPECT_EQ(policy.traits().order, memory::eviction::least_recent_use);
  memory::policy_state state;
  state.budget_bytes = 1000;
  state.pool_bytes = 400;
  state.counters.live_bytes = 5000;  // paged bytes can be evicted
  const auto where = [&](memory::object_class cls, std::size_t bytes) {
    return policy.decide(state, {bytes, cls, "x", 0}).where;
  };
  EXPECT_EQ(where(memory::object_class::evaluation_key, 5000), memory::placement::paged);
  EXPECT_EQ(where(memory::object_class::table, 1), memory::placement::paged);
  EXPECT_EQ(where(memory::object_class::scratch, 600), memory::placement::pool);
  EXPECT_EQ(where(memory::object_class::scratch, 601), memory::placement::refuse);
}

}  // namespace
}  // namespace halocline::test
