// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/engine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halocline/ckks/client.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/engine_keys.hpp"
#include "halocline/ckks/key_generator.hpp"
#include "halocline/ckks/precision.hpp"
#include "halocline/core/error.hpp"
#include "halocline/memory/identity.hpp"
#include "halocline/params/presets.hpp"

namespace halocline::ckks {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using complex_vector = std::vector<std::complex<double>>;

constexpr double worst_bits = 18.0;  // a product and a rotation below a fresh encryption's 30

class Engine : public testing::Test {
 protected:
  [[nodiscard]] static client_options single_client(std::uint8_t seed) {
    client_options options;
    options.threads = 1;
    options.seed = backend::seed_bytes{seed};
    return options;
  }
  [[nodiscard]] static client_options reproducible() { return single_client(5); }
  [[nodiscard]] engine_options single() const {
    engine_options options;
    options.threads = 1;
    return options;
  }
  /// rotate(x * x, 1)
  [[nodiscard]] static ciphertext program(engine& server, const ciphertext& x) {
    return server.evaluator().rotate(server.evaluator().multiply(x, x), 1);
  }

  const params::parameters parameters = params::preset("test-n10-d3");
  client owner{parameters, reproducible()};
};

TEST_F(Engine, EvaluatesForTheClientWithKeysOnly) {
  for (const bool keep_seeds : {false, true}) {
    engine_options options = single();
    options.keep_seeds = keep_seeds;
    engine server(parameters, options);
    key_selection selection;
    selection.rotations = {1};
    server.add_keys(owner.make_keys(selection));
    const complex_vector values{{0.5, 0.5}, {-1.0, 0.0}, {0.25, -0.5}, {0.0, 1.0}};
    const ciphertext y = program(server, server.load(owner.encrypt(values)));
    const complex_vector expected{values[1] * values[1], values[2] * values[2], values[3] * values[3],
                                  values[0] * values[0]};
    const complex_vector got = owner.decrypt(owner.receive(y));
    EXPECT_GE(measure_precision(got, expected).worst_bits, worst_bits) << "keep_seeds " << keep_seeds;
  }
}

TEST_F(Engine, GhostRunNamesExactlyTheNeededKeys) {
  engine_options options = single();
  options.device = "ghost";
  engine ghost(parameters, options);
  const unsigned top = parameters.max_level();
  const ciphertext shape = ghost.ghost_input(top, parameters.level(top).scale, 4);
  (void)program(ghost, shape);
  const std::vector<key_request> needed = ghost.needed_keys();
  const std::vector<key_request> expected{{relinearization_element, top},
                                          {parameters.galois_element(1), top - 1}};
  EXPECT_EQ(needed, expected);

  engine server(parameters, single());
  server.add_keys(owner.make_keys(needed));
  EXPECT_NO_THROW((void)program(server, server.load(owner.encrypt(complex_vector(4)))));
}

TEST_F(Engine, SecondGhostRunHasKeysOfTheRightSize) {
  engine_options options = single();
  options.device = "ghost";
  const std::vector<key_request> requests{{parameters.galois_element(1), 1}};
  engine ghost(parameters, options);
  ghost.prepare_keys(requests);
  const std::size_t prepared = ghost.context().runtime().statistics().live_bytes;
  const ciphertext shape = ghost.ghost_input(1, parameters.level(1).scale, 4);
  (void)ghost.evaluator().rotate(shape, 1);
  EXPECT_EQ(ghost.needed_keys(), requests);
  const auto& by_class = ghost.context().runtime().statistics().peak_by_class;
  const std::size_t keys = by_class[static_cast<std::size_t>(memory::object_class::evaluation_key)];
  EXPECT_LE(keys, prepared) << "no key was made during the run";
  EXPECT_EQ(keys, ghost.keys().get(parameters.galois_element(1), 1).bytes());
  EXPECT_EQ(ghost.keys().get(parameters.galois_element(1), 3).level, 3U) << "grows when asked for more";
}

TEST_F(Engine, MissingKeysAndPlaceholdersAreRefused) {
  engine server(parameters, single());
  const ciphertext x = server.load(owner.encrypt(complex_vector(4)));
  EXPECT_THAT([&] { (void)server.evaluator().rotate(x, 5); }, ThrowsMessage<missing_key>(HasSubstr("5")));
  EXPECT_THAT([&] { (void)server.ghost_input(1, 0x1p40, 4); },
              ThrowsMessage<invalid_argument>(HasSubstr("ghost")));
  EXPECT_THROW((void)server.needed_keys(), invalid_argument);
}

TEST_F(Engine, RefusesObjectsOfOtherParameters) {
  engine other(params::preset("test-n11-d8"), single());
  const ciphertext x = owner.encrypt(complex_vector(4));
  EXPECT_THROW((void)other.load(x), invalid_argument);
  EXPECT_THROW(other.add_keys(owner.make_keys(key_selection{})), invalid_argument);
}

TEST_F(Engine, BudgetNamesTheLargestObjects) {
  engine_options options = single();
  options.memory.budget_bytes = std::size_t{1} << 18;
  engine small(parameters, options);
  key_selection selection;
  selection.rotations = {1, 2, 3, 4, 5};
  EXPECT_THAT([&] { small.add_keys(owner.make_keys(selection)); },
              ThrowsMessage<out_of_memory>(HasSubstr("evaluation_key")));
  EXPECT_LE(small.context().runtime().statistics().peak_bytes, options.memory.budget_bytes);
}

TEST_F(Engine, ObjectsOutliveWhatMadeThem) {
  ciphertext input;
  memory_key_set keys(parameters);
  {
    client early(parameters, reproducible());
    input = early.encrypt(complex_vector{{0.5, 0.0}, {-1.0, 0.0}});
    keys = early.make_keys(key_selection{.rotations = {1}});
  }
  ciphertext result;
  {
    engine server(parameters, single());
    server.add_keys(keys);
    result = program(server, server.load(input));
    input = ciphertext{};  // frees the last bytes of the early client
  }
  engine other(parameters, single());
  const ciphertext again = other.load(result);
  result = other.load(owner.encrypt(complex_vector(2)));  // frees the last bytes of the first engine
  client late(parameters, reproducible());                // has the same secret key
  const complex_vector got = late.decrypt(late.receive(again));
  EXPECT_NEAR(got[0].real(), 1.0, 1e-5);
  EXPECT_NEAR(got[1].real(), 0.25, 1e-5);
}

TEST_F(Engine, MovesObjectsOnlyWhereTheyBelong) {
  engine server(parameters, single());
  server.add_keys(owner.make_keys(key_selection{}));
  const ciphertext result = server.load(owner.encrypt(complex_vector(4)));
  EXPECT_EQ(owner.receive(result).key, owner.id());
  client stranger(parameters, single_client(7));
  EXPECT_THAT([&] { (void)stranger.receive(result); }, ThrowsMessage<key_mismatch>(HasSubstr("receive")));
  client larger(params::preset("test-n11-d8"), reproducible());
  EXPECT_THROW((void)larger.receive(result), error);
  ciphertext moved_from = server.load(owner.encrypt(complex_vector(4)));
  const ciphertext taken = std::move(moved_from);
  EXPECT_THROW((void)owner.receive(moved_from), invalid_argument);
  EXPECT_THROW((void)server.load(ciphertext{}), invalid_argument);
  EXPECT_THAT([&] { server.add_key(evaluation_key{}); },
              ThrowsMessage<invalid_argument>(HasSubstr("without contents")));
}

TEST_F(Engine, NoThreadsAreRefused) {
  engine_options options;
  options.threads = 0;
  EXPECT_THAT([&] { engine refused(parameters, options); },
              ThrowsMessage<invalid_argument>(HasSubstr("0 threads")));
}

/// Keys of a bundle that is in memory.
class held_source final : public key_source {
 public:
  held_source(const memory_key_set& keys, context& ctx) : keys_(keys), ctx_(ctx) {}
  [[nodiscard]] const key_id& id() const noexcept override { return keys_.id(); }
  [[nodiscard]] std::vector<key_request> list() const override { return keys_.list(); }
  [[nodiscard]] evaluation_key load(std::uint64_t element) override {
    return transfer(keys_.keys().at(element), ctx_);
  }

 private:
  const memory_key_set& keys_;
  context& ctx_;
};

TEST_F(Engine, ExchangesTheKeysOfTwoUsers) {
  client other(parameters, single_client(6));
  engine server(parameters, single());
  key_selection selection;
  selection.rotations = {1};
  const memory_key_set first = owner.make_keys(selection), second = other.make_keys(selection);
  const auto a = server.make_keys(), b = server.make_keys();
  for (const auto& [set, keys] : {std::pair{a.get(), &first}, std::pair{b.get(), &second}}) {
    set->id() = keys->id();
    set->add_source(std::make_unique<held_source>(*keys, server.context()));
  }
  const complex_vector values{{0.5, 0.5}, {-1.0, 0.0}, {0.25, -0.5}, {0.0, 1.0}};
  b->load(relinearization_element);
  for (int turn = 0; turn < 2; ++turn) {
    for (const auto& [set, user] : {std::pair{a.get(), &owner}, std::pair{b.get(), &other}}) {
      server.exchange_keys(*set);
      EXPECT_EQ(server.id(), user->id());
      EXPECT_THROW((void)server.load((user == &owner ? other : owner).encrypt(values)), key_mismatch);
      const ciphertext y = program(server, server.load(user->encrypt(values)));
      const complex_vector expected{values[1] * values[1], values[2] * values[2], values[3] * values[3],
                                    values[0] * values[0]};
      EXPECT_GE(measure_precision(user->decrypt(user->receive(y)), expected).worst_bits, worst_bits);
      EXPECT_EQ(server.held_keys().size(), 2U);
      server.exchange_keys(*set);
      EXPECT_FALSE(server.id().is_known());
      EXPECT_TRUE(server.held_keys().empty());
      EXPECT_THROW((void)server.evaluator().rotate(y, 1), missing_key);
    }
  }
  EXPECT_THROW(server.exchange_keys(*engine(parameters, single()).make_keys()), invalid_argument);
}

TEST_F(Engine, PlansFindKeysInUseOnly) {
  engine_options options = single();
  options.memory.policy = "planned";
  options.memory.budget_bytes = std::size_t{64} << 20;
  engine server(parameters, options);
  const memory_key_set keys = owner.make_keys(key_selection{});
  const auto set = server.make_keys();
  set->add_source(std::make_unique<held_source>(keys, server.context()));
  const std::uint64_t name = memory::identity_of("evaluation_key.b", relinearization_element, 0);
  const auto is_found = [&] { return server.planning(options.memory.budget_bytes).resident.contains(name); };
  set->load(relinearization_element);
  EXPECT_FALSE(is_found());
  server.exchange_keys(*set);
  EXPECT_TRUE(is_found());
  server.exchange_keys(*set);
  EXPECT_FALSE(is_found());
}

}  // namespace
}  // namespace halocline::ckks
