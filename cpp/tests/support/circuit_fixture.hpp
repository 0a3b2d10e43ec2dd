// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halocline/circuits/linear_transform.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/key_plan.hpp"
#include "support/ckks_fixture.hpp"

namespace halocline::test {

/// One rig for each preset, made at first use and shared by all tests of a program. Keys come by `provide`.
inline ckks_rig& circuit_rig(const std::string& preset) {
  static std::map<std::string, std::unique_ptr<ckks_rig>> rigs;
  auto& rig = rigs[preset];
  if (!rig) rig = std::make_unique<ckks_rig>(preset);
  rig->eval.set_mode(ckks::maintenance::automatic);
  return *rig;
}

/// Exactly the keys of `requests` and nothing else, each limited to its level: a circuit that needs more, or
/// needs one at a higher level than it says, throws missing_key.
class exact_keys {
 public:
  exact_keys(ckks_rig& rig, std::span<const ckks::key_request> requests, bool seeded = false)
      : keys_(rig.parameters()), eval(*rig.ctx, keys_) {
    for (const ckks::key_request& each : requests)
      keys_.add(rig.generator.make_evaluation_key(rig.secret, each, seeded));
  }

 private:
  ckks::memory_key_set keys_;

 public:
  ckks::evaluator eval;
};

/// Context, keys and evaluator that execute shapes only, and record which keys were requested.
struct ghost_rig {
  explicit ghost_rig(const std::string& preset) : ghost_rig(params::preset(preset)) {}
  explicit ghost_rig(const params::parameters& parameters)
      : ctx(ckks::make_context(parameters, backend::make_backend("ghost"))), keys(*ctx), eval(*ctx, keys) {}

  /// A canonical ciphertext without contents.
  [[nodiscard]] ckks::ciphertext ghost_input(unsigned level, std::uint32_t slots) const {
    const params::level_info& info = ctx->parameters().level(level);
    ckks::ciphertext result;
    for (int i = 0; i < 2; ++i) {
      result.parts.push_back(
          ring::make_poly(ctx->ring(), info.q, memory::object_class::ciphertext, "ciphertext"));
    }
    result.level = level;
    result.scale = info.scale;
    result.slots = slots;
    return result;
  }

  std::shared_ptr<ckks::context> ctx;
  ckks::recording_key_set keys;
  ckks::evaluator eval;
};

/// Calls of one operation in a trace.
inline std::size_t count_calls(const memory::trace& trace, std::string_view operation) {
  std::set<std::uint64_t> steps;
  for (const memory::trace_event& event : trace.events) {
    if (trace.op(event) == operation) steps.insert(event.step);
  }
  return steps.size();
}

/// Products with a key in a trace without joined calls: one in a step, and in weighted sums one for each
/// automorphism that they read.
inline std::size_t count_key_switches(const memory::trace& trace) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> turns;
  for (const memory::trace_event& event : trace.events) {
    const bool reads = event.action == memory::trace_action::read && trace.tag(event) == "ring.permutation";
    if (reads && trace.op(event) == "key_dot") turns.emplace(event.step, event.object);
  }
  return count_calls(trace, "key_multiply_accumulate") + turns.size();
}

/// `values` rotated to the left by k.
inline complex_vector rotated_left(const complex_vector& values, std::int64_t k) {
  const auto n = static_cast<std::int64_t>(values.size());
  complex_vector result(values.size());
  for (std::int64_t i = 0; i < n; ++i) {
    result[static_cast<std::size_t>(i)] = values[static_cast<std::size_t>((((i + k) % n) + n) % n)];
  }
  return result;
}

/// Options of a linear transform.
[[nodiscard]] inline circuits::transform_options options_for(circuits::transform_mode mode, unsigned level,
                                                             std::optional<std::uint32_t> slots = {}) {
  circuits::transform_options options;
  options.mode = mode;
  options.level = level;
  options.slots = slots;
  return options;
}

}  // namespace halocline::test
