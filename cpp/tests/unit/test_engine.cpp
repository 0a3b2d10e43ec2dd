// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/engine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halocline/ckks/client.hpp"
#include "halocline/ckks/precision.hpp"
#include "halocline/core/error.hpp"
#include "halocline/params/presets.hpp"

namespace halocline::ckks {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using complex_vector = std::vector<std::complex<double>>;

constexpr double worst_bits = 18.0;  // a product and a rotation below a fresh encryption's 30

class Engine : public testing::Test {
 protected:
  [[nodiscard]] static client_options reproducible() {
    client_options options;
    options.threads = 1;
    options.seed = backend::seed_bytes{5};
    return options;
  }
  [[nodiscard]] engine_options single() const {
    engine_options options;
    options.threads = 1;
    return options;
  }
  /// rotate(x * x, 1)
  [[nodiscard]] static ciphertext program(engine& server, const ciphertext& x) {
    return server.evaluate().rotate(server.evaluate().multiply(x, x), 1);
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
    server.add_keys(owner.ctx(), owner.make_keys(selection));
    const complex_vector values{{0.5, 0.5}, {-1.0, 0.0}, {0.25, -0.5}, {0.0, 1.0}};
    const ciphertext y = program(server, server.load(owner.ctx(), owner.encrypt(values)));
    const complex_vector expected{values[1] * values[1], values[2] * values[2], values[3] * values[3],
                                  values[0] * values[0]};
    const complex_vector got = owner.decrypt(transfer(server.ctx(), y, owner.ctx()));
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
  server.add_keys(owner.ctx(), owner.make_keys(needed));
  EXPECT_NO_THROW((void)program(server, server.load(owner.ctx(), owner.encrypt(complex_vector(4)))));
}

TEST_F(Engine, SecondGhostRunHasKeysOfTheRightSize) {
  engine_options options = single();
  options.device = "ghost";
  const std::vector<key_request> requests{{parameters.galois_element(1), 1}};
  engine ghost(parameters, options);
  ghost.prepare_keys(requests);
  const std::size_t prepared = ghost.ctx().runtime().statistics().live_bytes;
  const ciphertext shape = ghost.ghost_input(1, parameters.level(1).scale, 4);
  (void)ghost.evaluate().rotate(shape, 1);
  EXPECT_EQ(ghost.needed_keys(), requests);
  const auto& by_class = ghost.ctx().runtime().statistics().peak_by_class;
  const std::size_t keys = by_class[static_cast<std::size_t>(memory::object_class::evaluation_key)];
  EXPECT_LE(keys, prepared) << "no key was made during the run";
  EXPECT_EQ(keys, ghost.keys().get(parameters.galois_element(1), 1).bytes());
  EXPECT_EQ(ghost.keys().get(parameters.galois_element(1), 3).level, 3U) << "grows when asked for more";
}

TEST_F(Engine, MissingKeysAndPlaceholdersAreRefused) {
  engine server(parameters, single());
  const ciphertext x = server.load(owner.ctx(), owner.encrypt(complex_vector(4)));
  EXPECT_THAT([&] { (void)server.evaluate().rotate(x, 5); }, ThrowsMessage<missing_key>(HasSubstr("5")));
  EXPECT_THAT([&] { (void)server.ghost_input(1, 0x1p40, 4); },
              ThrowsMessage<invalid_argument>(HasSubstr("ghost")));
  EXPECT_THROW((void)server.needed_keys(), invalid_argument);
}

TEST_F(Engine, RefusesObjectsOfOtherParameters) {
  engine other(params::preset("test-n11-d8"), single());
  const ciphertext x = owner.encrypt(complex_vector(4));
  EXPECT_THROW((void)other.load(owner.ctx(), x), invalid_argument);
  EXPECT_THROW(other.add_keys(owner.ctx(), owner.make_keys(key_selection{})), invalid_argument);
}

TEST_F(Engine, BudgetNamesTheLargestObjects) {
  engine_options options = single();
  options.budget_bytes = std::size_t{1} << 18;
  engine small(parameters, options);
  key_selection selection;
  selection.rotations = {1, 2, 3, 4, 5};
  EXPECT_THAT([&] { small.add_keys(owner.ctx(), owner.make_keys(selection)); },
              ThrowsMessage<out_of_memory>(HasSubstr("evaluation_key")));
  EXPECT_LE(small.ctx().runtime().statistics().peak_bytes, options.budget_bytes);
}

TEST_F(Engine, ResultsOutliveTheEngineThroughItsContext) {
  ciphertext result;
  std::shared_ptr<context> kept;
  {
    engine server(parameters, single());
    kept = server.ctx_handle();
    result = server.load(owner.ctx(), owner.encrypt(complex_vector{{0.75, 0.0}, {0.0, 0.0}}));
  }
  const complex_vector got = owner.decrypt(transfer(*kept, result, owner.ctx()));
  EXPECT_NEAR(got[0].real(), 0.75, 1e-6);
}

}  // namespace
}  // namespace halocline::ckks
