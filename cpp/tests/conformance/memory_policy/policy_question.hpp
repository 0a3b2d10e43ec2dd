// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

#include "halocline/memory/policy/policy.hpp"

namespace halocline::test {

/// Options that a case runs with.
template <typename PolicyT>
[[nodiscard]] memory::policy_options options_of() {
  if constexpr (requires { PolicyT::options(); }) {
    return PolicyT::options();
  } else {
    return {};
  }
}

/// A request and what the policy sees, as random as the contract allows.
struct policy_question {
  memory::policy_state state;
  memory::allocation_request request;
  memory::size_history history;
};

/// Calls `ask(policy, question)` for 2000 random questions; `state.history` points into the question.
template <typename PolicyT, typename AskT>
void ask_random_questions(std::size_t budget, AskT&& ask) {
  const auto policy = memory::make_policy(PolicyT::name, options_of<PolicyT>());
  std::mt19937_64 random(7);
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  for (int i = 0; i < 2000; ++i) {
    policy_question q;
    q.state.budget_bytes = budget;
    q.state.pool_bytes = below(budget == 0 ? 1 << 20 : budget + 1);
    q.state.counters.live_bytes = q.state.pool_bytes + (policy.traits().moves() ? below(1 << 20) : 0);
    const auto cls = static_cast<memory::object_class>(below(memory::object_class_count));
    q.request = {1 + below(1 << 20), cls, "x", below(100)};
    for (std::uint64_t n = below(12); n > 0; --n) q.history.recent.push_back(below(8));
    q.state.history = below(4) == 0 ? nullptr : &q.history;
    ask(policy, q);
  }
}

}  // namespace halocline::test
