// SPDX-License-Identifier: Apache-2.0
// Several ciphertexts in EvalMod at once: the same integers from fewer calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "halocline/circuits/bootstrap.hpp"
#include "halocline/circuits/mod1.hpp"
#include "halocline/core/error.hpp"
#include "support/circuit_fixture.hpp"
#include "support/residues.hpp"

namespace halocline::test {
namespace {

using circuits::bootstrap_options;
using circuits::bootstrap_order;
using circuits::bootstrapper;
using testing::HasSubstr;
using testing::ThrowsMessage;

using list = std::vector<ckks::ciphertext>;

constexpr const char* preset = "test-n11-boot64";

ckks_rig& rig() { return circuit_rig(preset); }

bootstrap_options options_of(std::uint32_t slots, bootstrap_order order, unsigned together) {
  bootstrap_options options;
  options.slots = slots;
  options.order = order;
  options.eval_mod.together = together;
  options.eval_mod.allow_failure = true;
  return options;
}

/// Values of a magnitude up to 0.7.
complex_vector values(std::uint32_t count, std::uint32_t seed, bool real) {
  complex_vector result = rig().random_values(count, seed);
  for (auto& each : result) each = real ? 0.7 * each.real() : 0.5 * each;
  return result;
}

std::vector<std::vector<std::uint64_t>> words(const list& results) {
  std::vector<std::vector<std::uint64_t>> all;
  for (const ckks::ciphertext& each : results) {
    for (const ring::poly& part : each.parts) all.push_back(words_of(*rig().ctx, part.chain()));
  }
  return all;
}

/// Operations of a recorded run, in order.
std::vector<std::string> steps_of(const memory::trace& trace) {
  std::vector<std::string> steps;
  std::uint64_t last = 0;
  for (const memory::trace_event& event : trace.events) {
    const bool touches =
        event.action == memory::trace_action::read || event.action == memory::trace_action::write;
    if (!touches || (!steps.empty() && event.step == last)) continue;
    last = event.step;
    steps.push_back(trace.op(event));
  }
  return steps;
}

constexpr const char* key_product = "key_multiply_accumulate";

std::size_t count(const std::vector<std::string>& steps, const std::string& op) {
  return static_cast<std::size_t>(std::count(steps.begin(), steps.end(), op));
}

struct together_case {
  const char* name;
  std::uint32_t slots;
  bootstrap_order order;
  bool real;
};

class Together : public testing::TestWithParam<together_case> {
 protected:
  [[nodiscard]] bootstrap_options options(unsigned together) const {
    const auto [name, slots, order, real] = GetParam();
    bootstrap_options made = options_of(slots, order, together);
    made.real_only = real;
    return made;
  }
};

// Three ciphertexts; the last has another scale, hence other constants in EvalMod.
TEST_P(Together, ResultsAreTheSameIntegers) {
  const bootstrapper single(rig().eval, options(1));
  exact_keys keys(rig(), single.key_requests());
  const auto encrypt = [&](std::uint32_t seed, double drift) {
    const double scale = rig().parameters().level(single.input_level()).scale * drift;
    const auto plain =
        rig().encoder.encode(values(single.slots(), seed, GetParam().real), single.input_level(), scale);
    return rig().encryptor.encrypt(plain, rig().secret);
  };
  list inputs;
  inputs.push_back(encrypt(1, 1.0));
  inputs.push_back(encrypt(2, 1.0));
  inputs.push_back(encrypt(3, 1.25));
  const list wanted = single.bootstrap(keys.eval, ckks::pointers(inputs));
  EXPECT_GT(rig().precision(wanted[2], values(single.slots(), 3, GetParam().real)).worst_bits, 8);
  for (const unsigned together : {2U, 4U, 64U}) {
    const bootstrapper boots(rig().eval, options(together));
    const list found = boots.bootstrap(keys.eval, ckks::pointers(inputs));
    EXPECT_EQ(words(found), words(wanted)) << together;
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].scale, wanted[i].scale);
      EXPECT_EQ(found[i].level, wanted[i].level);
    }
  }
}

// The real and the imaginary part take the key switches of one; their last one is always joined.
TEST_P(Together, CallsAreJoined) {
  ghost_rig ghost(rig().parameters());
  const auto steps = [&](unsigned together) {
    const bootstrapper boots(ghost.eval, options(together));
    const ckks::ciphertext x = ghost.ghost_input(boots.input_level(), boots.slots());
    (void)boots.bootstrap(ghost.eval, x);  // makes the tables
    ghost.ctx->runtime().start_trace();
    (void)boots.bootstrap(ghost.eval, x);
    return steps_of(ghost.ctx->runtime().stop_trace());
  };
  const bootstrapper boots(ghost.eval, options(1));
  // Parts of sparse messages with CoeffToSlot first are packed in one ciphertext.
  const bool two =
      !GetParam().real && (boots.slots() == rig().slots() || GetParam().order == bootstrap_order::stc_first);
  const auto one_by_one = steps(1), joined = steps(2);
  const std::size_t saved = two ? boots.eval_mod().key_switches() - 1 : 0;
  EXPECT_EQ(count(one_by_one, key_product), count(joined, key_product) + saved);
  EXPECT_EQ(one_by_one.size() > joined.size(), two);
  EXPECT_EQ(steps(64), joined);
}

INSTANTIATE_TEST_SUITE_P(All, Together,
                         testing::Values(together_case{"full", 1024, bootstrap_order::cts_first, false},
                                         together_case{"full_stc", 1024, bootstrap_order::stc_first, false},
                                         together_case{"real", 1024, bootstrap_order::cts_first, true},
                                         together_case{"few", 8, bootstrap_order::cts_first, false},
                                         together_case{"few_stc", 8, bootstrap_order::stc_first, false},
                                         together_case{"few_real_stc", 8, bootstrap_order::stc_first, true}),
                         [](const auto& info) { return info.param.name; });

TEST(TogetherGhost, StepsAreThoseOfARealRun) {
  ghost_rig ghost(rig().parameters());
  const auto record = [](ckks::context& ctx, const auto& run) {
    ctx.runtime().start_trace();
    run();
    return steps_of(ctx.runtime().stop_trace());
  };
  const bootstrap_options options = options_of(8, bootstrap_order::stc_first, 3);
  const bootstrapper real(rig().eval, options), empty(ghost.eval, options);
  exact_keys keys(rig(), real.key_requests());
  list inputs, shapes;
  for (std::uint32_t i = 0; i < 3; ++i) {
    inputs.push_back(rig().encrypt(values(8, i, false), real.input_level()));
    shapes.push_back(ghost.ghost_input(real.input_level(), 8));
  }
  // Tables that are made at first use are there the second time.
  (void)real.bootstrap(keys.eval, ckks::pointers(inputs));
  (void)empty.bootstrap(ghost.eval, ckks::pointers(shapes));
  const auto wanted = record(*rig().ctx, [&] { (void)real.bootstrap(keys.eval, ckks::pointers(inputs)); });
  const auto found = record(*ghost.ctx, [&] { (void)empty.bootstrap(ghost.eval, ckks::pointers(shapes)); });
  EXPECT_EQ(found, wanted);
}

TEST(TogetherErrors, SayWhatIsExpected) {
  for (const unsigned together : {0U, 65U}) {
    EXPECT_THAT(
        [&] { (void)bootstrapper(rig().eval, options_of(8, bootstrap_order::cts_first, together)); },
        ThrowsMessage<invalid_argument>(HasSubstr("bootstrap: " + std::to_string(together) +
                                                  " ciphertexts in EvalMod together; expected 1 to 64")));
  }
  const circuits::mod1 mod;
  const std::vector<const ckks::ciphertext*> none;
  EXPECT_THAT([&] { (void)mod.evaluate(rig().eval, none); },
              ThrowsMessage<invalid_argument>(HasSubstr("mod1: no ciphertexts")));
  const unsigned top = rig().parameters().top_level();
  const ckks::ciphertext high = rig().encrypt(values(8, 1, true), top);
  const ckks::ciphertext low = rig().encrypt(values(8, 1, true), top - 1);
  const ckks::ciphertext* const mixed[] = {&high, &low};
  EXPECT_THAT([&] { (void)mod.evaluate(rig().eval, mixed); },
              ThrowsMessage<invalid_argument>(HasSubstr("add_constant: ciphertext 1 has level")));
}

}  // namespace
}  // namespace halocline::test
