// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/recipes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

#include "halocline/circuits/linear_transform.hpp"
#include "halocline/ckks/client.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/engine.hpp"
#include "halocline/memory/plan/planner.hpp"
#include "halocline/memory/tier/memory_store.hpp"
#include "halocline/params/presets.hpp"

namespace halocline::ckks {
namespace {

using memory::plan::verb;

engine_options moving() {
  engine_options options;
  options.threads = 1;
  options.memory.budget_bytes = std::size_t{64} << 20;
  options.memory.policy = "planned";
  options.memory.slow = memory::make_memory_store();
  options.memory.keep_sources = true;
  return options;
}

std::vector<std::byte> contents(engine& server, const memory::buffer& data, std::size_t bytes) {
  std::vector<std::byte> host(bytes);
  server.context().device().download(host, data, 0);
  return host;
}

/// A plan of one step, the download of a named buffer, before which `how` brings its first bytes back.
std::shared_ptr<memory::plan::plan> plan_of(const memory::buffer& data, std::uint64_t identity,
                                            std::size_t bytes, verb how) {
  auto plan = std::make_shared<memory::plan::plan>();
  memory::plan::object object;
  object.identity = identity;
  object.bytes = data.size();
  object.cls = data.cls();
  object.preexisting = true;
  plan->objects.push_back(object);
  memory::plan::step_hash hash("download");
  hash.add(data.cls(), data.size(), false, memory::plan::which_object(object, 0));
  plan->hashes.push_back(hash.value());
  plan->directives.push_back({0, 0, memory::plan::pages_of(bytes), how});
  return plan;
}

/// Takes all frames away and has a plan make the first bytes of a buffer again; they must be what they were.
void expect_made_again(engine& server, const memory::buffer& data, std::uint64_t identity, std::size_t bytes,
                       verb how) {
  memory::runtime& runtime = server.context().runtime();
  const std::vector<std::byte> before = contents(server, data, bytes);
  const std::size_t budget = runtime.budget_bytes();
  runtime.set_budget(4096);
  runtime.set_budget(budget);
  const memory::movement moved = runtime.statistics().moved;
  runtime.begin_plan(plan_of(data, identity, bytes, how));
  const std::vector<std::byte> after = contents(server, data, bytes);
  EXPECT_FALSE(runtime.end_plan().diverged);
  EXPECT_EQ(before, after);
  const memory::movement now = runtime.statistics().moved;
  const bool expands = how == verb::expand;
  EXPECT_GE(now.expanded_bytes - moved.expanded_bytes, expands ? bytes : 0);
  EXPECT_GE(now.encoded_bytes - moved.encoded_bytes, expands ? 0 : bytes);
}

TEST(Recipes, ExpandTheUniformHalfOfAKeyOrAPrefixOfIt) {
  const params::parameters parameters = params::preset("test-n10-d3");
  client owner(parameters, {});
  engine server(parameters, moving());
  const std::uint64_t element = parameters.galois_element(3);
  server.add_key(owner.make_key({element, 3}));
  const evaluation_key& key = server.keys().get(element, 3);
  ASSERT_FALSE(key.digits.empty());
  for (std::size_t j = 0; j < key.digits.size(); ++j) {
    const std::uint64_t identity = identity_of("evaluation_key.a", element, j);
    for (const std::size_t bytes : {key.digits[j].a.size(), parameters.limb_bytes()}) {
      expect_made_again(server, key.digits[j].a, identity, bytes, verb::expand);
    }
  }
}

TEST(Recipes, EncodeDiagonalsOfTransformsAgain) {
  const params::parameters parameters = params::preset("test-n10-d3");
  engine server(parameters, moving());
  std::vector<std::complex<double>> diagonal(parameters.slots(), {0.25, -0.5});
  diagonal.front() = 0.125;  // values that repeat themselves are small as they are
  for (const auto mode : {circuits::transform_mode::naive, circuits::transform_mode::double_hoisted}) {
    circuits::transform_options options;
    options.mode = mode;
    const circuits::linear_transform transform(server.evaluator(), {{0, diagonal}}, options);
    const memory::buffer& data = transform.weights().front().expanded.data();
    const std::uint64_t identity = identity_of("diagonal", hash_of(diagonal), transform.level());
    for (const std::size_t bytes : {data.size(), parameters.limb_bytes()}) {
      expect_made_again(server, data, identity, bytes, verb::encode);
    }
  }
}

// A forged plan may say so. Tables are made again as a whole, for which a frame of a page would be too small.
TEST(Recipes, PlansCannotHaveAPartOfATableMadeAgain) {
  constexpr std::uint64_t roots_identity = 0xc2b7e4950d38f61a;  // of ring/context.cpp
  constexpr std::size_t page = 4096;
  engine server(params::preset("test-n10-d3"), moving());
  memory::runtime& runtime = server.context().runtime();
  const memory::buffer& roots = server.context().tables().roots;
  ASSERT_GT(roots.size(), page);
  const std::vector<std::byte> all = contents(server, roots, roots.size());
  for (const verb how : {verb::expand, verb::encode, verb::load}) {
    const std::size_t budget = runtime.budget_bytes();
    runtime.set_budget(page);
    runtime.set_budget(budget);
    const memory::movement moved = runtime.statistics().moved;
    runtime.begin_plan(plan_of(roots, roots_identity, page, how));
    const std::vector<std::byte> first = contents(server, roots, page);
    EXPECT_FALSE(runtime.end_plan().diverged);
    EXPECT_TRUE(std::equal(first.begin(), first.end(), all.begin()));
    EXPECT_EQ(runtime.statistics().moved.loaded_bytes - moved.loaded_bytes, page);
    EXPECT_EQ(contents(server, roots, roots.size()), all);
  }
}

TEST(Recipes, TablesAndCompactDiagonalsHaveIdentities) {
  engine server(params::preset("test-n10-d3"), moving());
  std::vector<std::complex<double>> diagonal(server.parameters().slots(), {0.25, -0.5});
  diagonal.front() = 0.125;
  circuits::transform_options options;
  options.compact = true;
  const circuits::linear_transform transform(server.evaluator(), {{0, diagonal}}, options);
  const memory::buffer& compact = transform.weights().front().compact.coefficients;
  server.context().runtime().start_trace();
  (void)contents(server, compact, compact.size());
  (void)server.evaluator().encoder().expand(transform.weights().front().compact, 2);
  const memory::trace seen = server.context().runtime().stop_trace();
  std::set<std::string> named;
  for (const memory::trace_event& each : seen.events) {
    if (each.action != memory::trace_action::exists) continue;
    const std::string& tag = seen.tag(each);
    EXPECT_NE(tag.find('@'), std::string::npos) << tag;
    named.insert(tag.substr(0, tag.find('@')));
  }
  EXPECT_EQ(named, (std::set<std::string>{"compact_plaintext", "ring.moduli", "ring.roots"}));
}

TEST(Recipes, IdentitiesTellObjectsApart) {
  std::set<std::uint64_t> seen;
  for (const char* kind : {"evaluation_key.a", "evaluation_key.b", "input"}) {
    for (std::uint64_t i = 0; i < 50; ++i) {
      for (std::uint64_t j = 0; j < 20; ++j) seen.insert(identity_of(kind, i, j));
    }
  }
  EXPECT_EQ(seen.size(), 3000U);
  EXPECT_EQ(seen.count(0), 0U);
}

}  // namespace
}  // namespace halocline::ckks
