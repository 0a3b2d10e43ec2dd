// SPDX-License-Identifier: Apache-2.0
// Strategies of residency by themselves: what they do with buffers, steps and budgets, without a runtime.
#include "memory/residency/residency.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "halocline/core/error.hpp"
#include "halocline/memory/plan/program.hpp"
#include "halocline/memory/tier/memory_store.hpp"
#include "memory/buffer_state.hpp"
#include "memory/residency/plan_follower.hpp"
#include "memory/step_use.hpp"
#include "support/fake_card.hpp"

namespace halocline::test {
namespace {

using memory::buffer_state;
using memory::object_class;
using memory::pinned_step;
using memory::placement;
using memory::placing;
using memory::residency;
using memory::runtime_options;
using memory::step_use;

memory::policy_options with_decisions() {
  memory::policy_options constants;
  constants.decisions = std::make_shared<const std::vector<std::uint8_t>>();
  return constants;
}

/// A strategy and what it shares with a runtime.
struct rig {
  rig(const char* policy, std::size_t budget_bytes, std::shared_ptr<fake_card> with_card = nullptr,
      bool ghost = false)
      : card(std::move(with_card)), budget(std::make_shared<memory::memory_budget>(budget_bytes)) {
    options.policy = policy;
    options.ghost = ghost;
    options.budget_bytes = budget_bytes;
    options.device = card;
    options.pinned_bytes = 64 * page;
    options.slow = memory::make_memory_store();
    const memory::policy_traits traits = memory::make_policy(policy, with_decisions()).traits();
    strategy = memory::make_residency({options, traits, budget, live, moved, mutex});
  }

  /// A buffer that was not placed yet.
  std::unique_ptr<buffer_state> make(std::size_t pages, placement where = placement::pool,
                                     object_class cls = object_class::ciphertext) {
    auto state = std::make_unique<buffer_state>();
    state->bytes = pages * page;
    state->where = where;
    state->cls = cls;
    state->tag = "test";
    return state;
  }
  placing bring(std::vector<buffer_state*> states, std::unique_ptr<pinned_step>& pinned, bool writes = true) {
    std::vector<step_use> uses;
    for (buffer_state* each : states) uses.push_back({each, each->bytes, !writes, writes, writes});
    return strategy->bring(uses, "work", 0, pinned);
  }
  /// A step that writes one buffer.
  placing write(buffer_state& state) {
    std::unique_ptr<pinned_step> pinned;
    const placing ended = bring({&state}, pinned);
    if (pinned) strategy->unpin(*pinned);
    return ended;
  }
  memory::stats report() {
    memory::stats result;
    strategy->report(result);
    result.moved = moved;
    return result;
  }

  std::shared_ptr<fake_card> card;
  runtime_options options;
  std::shared_ptr<memory::memory_budget> budget;
  std::vector<buffer_state*> live;
  memory::movement moved;
  std::recursive_mutex mutex;
  std::unique_ptr<residency> strategy;
};

TEST(Residency, OneFunctionChoosesTheStrategy) {
  struct row {
    const char* policy;
    bool moves_on_host, moves_on_card, follows_plans;
  };
  const row rows[] = {
      {"resident", false, false, false}, {"async", false, false, false}, {"cached", false, false, false},
      {"managed", true, false, false},   {"static", true, false, false}, {"profiled", true, false, false},
      {"dynamic", true, false, false},   {"lru", true, true, false},     {"planned", true, true, true}};
  for (const row& each : rows) {
    SCOPED_TRACE(each.policy);
    const rig ghost(each.policy, 0, nullptr, true), host(each.policy, 0);
    const rig device(each.policy, 0, std::make_shared<fake_card>(1, 0));
    EXPECT_FALSE(ghost.strategy->moves());
    EXPECT_EQ(host.strategy->moves(), each.moves_on_host);
    EXPECT_EQ(device.strategy->moves(), each.moves_on_card);
    EXPECT_EQ(ghost.strategy->plans(), nullptr);
    EXPECT_EQ(host.strategy->plans() != nullptr, each.follows_plans);
    EXPECT_EQ(device.strategy->plans() != nullptr, each.follows_plans);
    EXPECT_EQ(ghost.strategy->why_it_stays(), nullptr);
    EXPECT_EQ(host.strategy->why_it_stays() != nullptr, each.moves_on_host);
    EXPECT_STREQ(device.strategy->why_it_stays(), memory::stays_with_driver);
  }
}

TEST(GhostResidency, HasNoBytes) {
  const auto at = std::make_unique<rig>("planned", page, nullptr, true);
  const auto huge = at->make(std::size_t{1} << 40, placement::paged);
  EXPECT_EQ(at->strategy->budget_left(123), 0U);
  EXPECT_EQ(at->strategy->place(*huge), placing::done);
  std::unique_ptr<pinned_step> pinned;
  EXPECT_EQ(at->bring({huge.get()}, pinned), placing::done);
  EXPECT_EQ(pinned, nullptr);
  EXPECT_EQ(huge->data, nullptr);
  EXPECT_FALSE(at->strategy->is_timed("work"));
  EXPECT_EQ(at->report().fast_bytes, 0U);
  EXPECT_EQ(at->budget->used(), 0U);
  at->strategy->set_budget(1);
  at->strategy->trim();
  at->strategy->free(*huge);
  EXPECT_EQ(at->strategy->slow_statistics().slots, 0U);
}

TEST(FixedResidency, BlocksStayWithinTheBudget) {
  for (const bool on_card : {false, true}) {
    SCOPED_TRACE(on_card ? "card" : "host");
    rig at("async", 4 * page, on_card ? std::make_shared<fake_card>(1, 0) : nullptr);
    const auto a = at.make(3), b = at.make(2);
    ASSERT_EQ(at.strategy->place(*a), placing::done);
    EXPECT_NE(a->data, nullptr);
    EXPECT_EQ(at.strategy->held_bytes(*a), 3 * page);
    EXPECT_EQ(at.strategy->place(*b), placing::no_room);
    EXPECT_EQ(b->data, nullptr);
    EXPECT_EQ(at.budget->used(), 3 * page) << "a refused request changes nothing";
    std::byte* const address = a->data;
    std::unique_ptr<pinned_step> pinned;
    EXPECT_EQ(at.bring({a.get()}, pinned), placing::done);
    EXPECT_EQ(pinned, nullptr);
    EXPECT_EQ(a->data, address);
    at.strategy->free(*a);
    EXPECT_EQ(at.strategy->place(*b), placing::done);
    at.strategy->free(*b);
    EXPECT_EQ(at.budget->used(), 0U);
    at.strategy->trim();
    EXPECT_EQ(at.report().cached_bytes, 0U);
  }
}

TEST(FixedResidency, BudgetLeftIsWhatOthersDoNotHold) {
  rig at("async", 10 * page);
  const auto a = at.make(3);
  ASSERT_EQ(at.strategy->place(*a), placing::done);
  ASSERT_TRUE(at.budget->take(2 * page));  // another account
  EXPECT_EQ(at.strategy->budget_left(3 * page), 8 * page);
  at.budget->give(2 * page);
  at.strategy->free(*a);
  EXPECT_EQ(rig("async", 0).strategy->budget_left(3 * page), 0U);
}

TEST(FixedResidency, SetBudgetAndTrimGiveCachedBlocksBack) {
  rig at("async", 0);
  const auto a = at.make(3);
  for (const bool trims : {false, true}) {
    ASSERT_EQ(at.strategy->place(*a), placing::done);
    at.strategy->free(*a);
    EXPECT_EQ(at.report().cached_bytes, 3 * page);
    trims ? at.strategy->trim() : at.strategy->set_budget(8 * page);
    EXPECT_EQ(at.report().cached_bytes, 0U);
  }
}

TEST(FixedResidency, RefusalsSayWhoRefused) {
  const auto card = std::make_shared<fake_card>(1, 0);
  card->set_capacity(2 * page);
  rig at("async", 0, card);
  const auto a = at.make(3);
  EXPECT_EQ(at.strategy->place(*a), placing::refused_by_system);
  EXPECT_EQ(at.budget->used(), 0U);
  // The smallest block that fits is far too large for what is left of the budget.
  rig cached("cached", 12 * page);
  const auto large = cached.make(10), tiny = cached.make(1), more = cached.make(5);
  ASSERT_EQ(cached.strategy->place(*large), placing::done);
  cached.strategy->free(*large);
  ASSERT_EQ(cached.strategy->place(*tiny), placing::done);
  EXPECT_EQ(cached.strategy->place(*more), placing::over_budget);
  EXPECT_EQ(cached.budget->used(), page);
  cached.strategy->free(*tiny);
  ASSERT_EQ(cached.strategy->place(*more), placing::done);
  cached.strategy->free(*more);
}

TEST(FixedResidency, SecretsAreZeroedInTheOrderOfTheWork) {
  for (const char* const policy : {"async", "cached"}) {
    SCOPED_TRACE(policy);
    const auto card = std::make_shared<fake_card>(1, 100);
    rig at(policy, 0, card);
    const auto secret = at.make(1);
    secret->wipe = true;
    ASSERT_EQ(at.strategy->place(*secret), placing::done);
    std::byte* const data = secret->data;
    std::byte seen{1};
    card->enqueue(memory::lane::compute, [=] { std::memset(data, 0xAB, page); });
    card->enqueue(memory::lane::compute, [=, &seen] { seen = data[7]; });
    at.strategy->forsake(*secret);  // a forked child has no copy of it
    at.strategy->free(*secret);
    if (std::string(policy) == "cached") {  // the block is kept, so its bytes can be looked at
      card->finish();
      EXPECT_EQ(std::count(data, data + page, std::byte{0}), static_cast<std::ptrdiff_t>(page));
    }
    card->finish();
    EXPECT_EQ(seen, std::byte{0xAB}) << "zeroed before the operation was done";
  }
  rig host("async", 0);
  const auto secret = host.make(1);
  secret->wipe = true;
  ASSERT_EQ(host.strategy->place(*secret), placing::done);
  std::memset(secret->data, 0xAB, page);
  host.strategy->forsake(*secret);
  EXPECT_EQ(std::count(secret->data, secret->data + page, std::byte{0}), static_cast<std::ptrdiff_t>(page));
  host.strategy->free(*secret);
}

/// Paging in host memory and on a card.
class PagedResidency : public testing::TestWithParam<bool> {
 protected:
  [[nodiscard]] static std::unique_ptr<rig> make(const char* policy, std::size_t budget) {
    return std::make_unique<rig>(policy, budget, GetParam() ? std::make_shared<fake_card>(1, 50) : nullptr);
  }
};
INSTANTIATE_TEST_SUITE_P(HostAndCard, PagedResidency, testing::Bool(),
                         [](const auto& on_card) { return on_card.param ? "card" : "host"; });

TEST_P(PagedResidency, FramesComeWithTheFirstStep) {
  const auto at = make("lru", 4 * page);
  const auto a = at->make(3, placement::paged), large = at->make(5, placement::paged);
  EXPECT_EQ(at->strategy->budget_left(99 * page), 4 * page);
  EXPECT_EQ(at->strategy->place(*large), placing::over_budget);
  ASSERT_EQ(at->strategy->place(*a), placing::done);
  EXPECT_EQ(a->data, nullptr);
  EXPECT_EQ(at->strategy->held_bytes(*a), 0U);
  std::unique_ptr<pinned_step> pinned;
  ASSERT_EQ(at->bring({a.get()}, pinned), placing::done);
  ASSERT_NE(pinned, nullptr);
  EXPECT_NE(a->data, nullptr);
  EXPECT_EQ(a->pins, 1U);
  EXPECT_EQ(at->strategy->held_bytes(*a), 3 * page);
  EXPECT_EQ(at->report().peak_fast_bytes, at->report().fast_bytes);
  at->strategy->unpin(*pinned);
  EXPECT_EQ(a->pins, 0U);
  at->strategy->free(*a);
  at->strategy->trim();
  EXPECT_EQ(at->report().fast_bytes, 0U);
  EXPECT_EQ(at->budget->used(), 0U);
}

TEST_P(PagedResidency, OthersGiveWayAndPinnedOnesDoNot) {
  const auto at = make("lru", 4 * page);
  const auto a = at->make(2, placement::paged), b = at->make(2, placement::paged);
  const auto c = at->make(2, placement::paged);
  for (const auto* each : {&a, &b, &c}) ASSERT_EQ(at->strategy->place(**each), placing::done);
  ASSERT_EQ(at->write(*a), placing::done);
  ASSERT_EQ(at->write(*b), placing::done);
  ASSERT_EQ(at->write(*c), placing::done);
  EXPECT_FALSE(a->resident()) << "the least recently used one";
  EXPECT_EQ(at->moved.evictions, 1U);
  EXPECT_EQ(at->moved.written_bytes, 2 * page);
  std::unique_ptr<pinned_step> held, failed;
  ASSERT_EQ(at->bring({b.get(), c.get()}, held), placing::done);
  EXPECT_EQ(at->bring({a.get()}, failed, false), placing::no_room);
  ASSERT_NE(failed, nullptr) << "so that what was pinned can be unpinned";
  at->strategy->unpin(*failed);
  EXPECT_EQ(a->pins, 0U);
  at->strategy->unpin(*held);
  ASSERT_EQ(at->bring({a.get()}, failed, false), placing::done);
  at->strategy->unpin(*failed);
  EXPECT_EQ(at->moved.loads, 1U);
  for (const auto* each : {&a, &b, &c}) at->strategy->free(**each);
  EXPECT_EQ(at->strategy->slow_statistics().slots, 0U);
}

TEST_P(PagedResidency, ASmallerBudgetEvictsAndIsRefusedWhereItCannot) {
  const auto at = make("lru", 8 * page);
  const auto a = at->make(3, placement::paged), scratch = at->make(4, placement::pool, object_class::scratch);
  ASSERT_EQ(at->write(*a), placing::done);
  ASSERT_EQ(at->write(*scratch), placing::done);
  EXPECT_THROW(at->strategy->set_budget(3 * page), out_of_memory);
  EXPECT_TRUE(scratch->resident());
  at->strategy->set_budget(4 * page);
  EXPECT_FALSE(a->resident());
  EXPECT_LE(at->report().fast_bytes, 4 * page);
  at->strategy->reset_peak();
  EXPECT_EQ(at->report().peak_fast_bytes, at->report().fast_bytes);
  at->strategy->set_budget(0);  // unlimited: nothing to do
  EXPECT_TRUE(scratch->resident());
  at->strategy->free(*a);
  at->strategy->free(*scratch);
}

TEST_P(PagedResidency, MeasuresStepsAndLinks) {
  const auto at = make("lru", 0);
  const auto a = at->make(1, placement::paged);
  ASSERT_TRUE(at->strategy->is_timed("work"));
  std::vector<step_use> uses{{a.get(), page, false, true, true}};
  for (int i = 0; i < 3; ++i) {
    std::unique_ptr<pinned_step> pinned;
    ASSERT_EQ(at->strategy->bring(uses, "work", page, pinned), placing::done);
    at->strategy->unpin(*pinned);
  }
  const memory::plan::cost_model costs = at->strategy->measured_costs({});
  EXPECT_TRUE(costs.operations.contains("work"));
  EXPECT_GT(costs.load.ns_per_byte, 0);
  at->strategy->forget_costs();
  EXPECT_TRUE(at->strategy->measured_costs({}).operations.empty());
  EXPECT_EQ(at->strategy->resizes(), !GetParam());
  at->strategy->free(*a);
}

TEST_P(PagedResidency, APlanIsFollowedUntilTheProgramLeavesIt) {
  const auto at = make("planned", 8 * page);
  auto plan = std::make_shared<memory::plan::plan>();
  plan->capacity_bytes = 8 * page;
  plan->objects.resize(1);
  plan->objects[0].bytes = page;
  plan->objects[0].cls = object_class::ciphertext;
  memory::plan::step_hash hash("work");
  hash.add(object_class::ciphertext, page, true, memory::plan::which_object(plan->objects[0], 0));
  plan->hashes = {hash.value(), hash.value()};
  memory::plan_follower& plans = *at->strategy->plans();
  const auto a = at->make(1, placement::paged);
  at->live = {a.get()};
  const std::vector<step_use> uses{{a.get(), page, false, true, true}};

  plans.begin(plan);
  EXPECT_TRUE(plans.is_following());
  plans.allocated(*a);
  plans.next_step(uses, "work");
  plans.next_step(uses, "work");
  memory::plan_outcome outcome = plans.end();
  EXPECT_EQ(outcome.steps_followed, 2U);
  EXPECT_FALSE(outcome.diverged) << outcome.reason;

  plans.begin(plan);
  plans.allocated(*a);
  plans.next_step(uses, "other work");
  EXPECT_FALSE(plans.is_following());
  outcome = plans.end();
  EXPECT_TRUE(outcome.diverged);
  EXPECT_EQ(outcome.reason, "step 0 of the program is other work on other operands than in the plan");
  EXPECT_EQ(at->moved.divergences, 1U);

  plans.begin(plan);
  at->strategy->set_budget(4 * page);
  EXPECT_EQ(plans.end().reason, "the budget became smaller than the plan's");
  at->strategy->free(*a);
}

/// Weights of equal contents have one identity; another object of their size has none and comes later.
TEST_P(PagedResidency, APlanTellsObjectsOfOneIdentityApart) {
  const auto at = make("planned", 8 * page);
  auto plan = std::make_shared<memory::plan::plan>();
  plan->capacity_bytes = 8 * page;
  plan->objects.resize(3);
  for (std::size_t i = 0; i < 3; ++i) {
    memory::plan::object& each = plan->objects[i];
    each.id = i + 1;
    each.bytes = page;
    each.cls = object_class::plaintext;
    each.preexisting = true;
    each.identity = i < 2 ? 7 : 0;
  }
  const memory::plan::object_index order[] = {1, 0, 1, 2, 0};
  for (const auto index : order) {
    memory::plan::step_hash hash("work");
    hash.add(object_class::plaintext, page, false, memory::plan::which_object(plan->objects[index], index));
    plan->hashes.push_back(hash.value());
  }
  std::vector<std::unique_ptr<memory::buffer_state>> buffers;
  for (std::size_t i = 0; i < 3; ++i) {
    buffers.push_back(at->make(1, placement::paged));
    buffers[i]->id = i + 1;
    buffers[i]->cls = object_class::plaintext;
    buffers[i]->identity = plan->objects[i].identity;
  }
  at->live = {buffers[1].get(), buffers[2].get(), buffers[0].get()};
  memory::plan_follower& plans = *at->strategy->plans();
  plans.begin(plan);
  for (const auto index : order) {
    const std::vector<step_use> uses{{buffers[index].get(), page, true, false, false}};
    plans.next_step(uses, "work");
  }
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(buffers[i]->plan_object, i);
  const memory::plan_outcome outcome = plans.end();
  EXPECT_EQ(outcome.steps_followed, 5U);
  EXPECT_FALSE(outcome.diverged) << outcome.reason;
  for (const auto& each : buffers) at->strategy->free(*each);
}

/// A buffer that is freed leaves its object to the next one of that identity. Objects of other sizes, of
/// which a forged plan may have many, take no part.
TEST_P(PagedResidency, APlanReusesObjectsOfFreedBuffersOfOneIdentity) {
  const auto at = make("planned", 8 * page);
  constexpr std::size_t others = 1 << 16;
  auto plan = std::make_shared<memory::plan::plan>();
  plan->capacity_bytes = 8 * page;
  plan->objects.resize(others + 2);
  for (std::size_t i = 0; i < plan->objects.size(); ++i) {
    memory::plan::object& each = plan->objects[i];
    each.id = i + 1;
    each.bytes = i < others ? 2 * page : page;
    each.cls = object_class::plaintext;
    each.preexisting = true;
    each.identity = 7;
  }
  const auto add_step = [&](memory::plan::object_index index) {
    memory::plan::step_hash hash("work");
    hash.add(object_class::plaintext, page, false, memory::plan::which_object(plan->objects[index], index));
    plan->hashes.push_back(hash.value());
  };
  const auto named = [&](std::uint64_t id) {
    auto made = at->make(1, placement::paged);
    made->id = id;
    made->cls = object_class::plaintext;
    made->identity = 7;
    return made;
  };
  add_step(others);
  add_step(others + 1);
  add_step(others);
  const auto a = named(1), b = named(2), c = named(3);
  at->live = {b.get(), a.get()};
  memory::plan_follower& plans = *at->strategy->plans();
  plans.begin(plan);
  EXPECT_EQ(a->plan_object, others);
  EXPECT_EQ(b->plan_object, others + 1);
  const auto use = [&](memory::buffer_state& state) {
    const std::vector<step_use> uses{{&state, page, true, false, false}};
    plans.next_step(uses, "work");
  };
  use(*a);
  use(*b);
  at->strategy->free(*a);
  at->live = {b.get(), c.get()};
  use(*c);
  EXPECT_EQ(c->plan_object, others);
  const memory::plan_outcome outcome = plans.end();
  EXPECT_EQ(outcome.steps_followed, 3U);
  EXPECT_FALSE(outcome.diverged) << outcome.reason;
  for (memory::buffer_state* const each : {b.get(), c.get()}) at->strategy->free(*each);
}

TEST(UnifiedResidency, BlocksMoveAndThePoolStays) {
  const auto card = std::make_shared<fake_card>(1, 0);
  rig at("static", 4 * page, card);
  const auto a = at.make(2, placement::managed), b = at.make(2, placement::managed);
  const auto scratch = at.make(2, placement::pool, object_class::scratch);
  ASSERT_EQ(at.strategy->place(*a), placing::done);
  ASSERT_EQ(at.strategy->place(*b), placing::done);
  EXPECT_EQ(at.report().fast_bytes, 0U) << "on the host at first";
  ASSERT_EQ(at.write(*a), placing::done);
  ASSERT_EQ(at.write(*b), placing::done);
  EXPECT_EQ(at.report().fast_bytes, 4 * page);
  ASSERT_EQ(at.strategy->place(*scratch), placing::done);
  EXPECT_EQ(at.moved.evictions, 1U) << "a block was pushed out for it";
  EXPECT_EQ(at.report().fast_bytes, 4 * page);
  EXPECT_EQ(at.report().peak_fast_bytes, 4 * page);
  std::unique_ptr<pinned_step> pinned;
  EXPECT_EQ(at.bring({a.get(), b.get()}, pinned), placing::no_room);
  EXPECT_EQ(pinned, nullptr);
  at.strategy->free(*scratch);
  EXPECT_EQ(at.bring({a.get(), b.get()}, pinned), placing::done);
  at.strategy->set_budget(2 * page);
  EXPECT_LE(at.report().fast_bytes, 2 * page);
  at.strategy->reset_peak();
  EXPECT_LE(at.report().peak_fast_bytes, 2 * page);
  EXPECT_FALSE(at.strategy->resizes());
  EXPECT_FALSE(at.strategy->moves());
  at.strategy->free(*a);
  at.strategy->free(*b);
  EXPECT_EQ(card->managed_frees(), 0U) << "kept for re-use";
  at.strategy->trim();
  EXPECT_EQ(card->managed_frees(), 2U);
  EXPECT_EQ(at.budget->used(), 0U);
}

}  // namespace
}  // namespace halocline::test
