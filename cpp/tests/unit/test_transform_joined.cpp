// SPDX-License-Identifier: Apache-2.0
// Linear transforms whose babies are not written (keys in memory), against those that write them (seeds).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "halocline/circuits/linear_transform.hpp"
#include "halocline/circuits/raised_transform.hpp"
#include "halocline/ckks/key_dot.hpp"
#include "halocline/ckks/key_generator.hpp"
#include "halocline/core/error.hpp"
#include "support/circuit_fixture.hpp"
#include "support/residues.hpp"

namespace halocline::test {
namespace {

using circuits::diagonal_map;
using circuits::linear_transform;
using circuits::raised_transform;
using circuits::transform_grid;
using circuits::transform_options;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// Seeded keys, which can be expanded where they are.
class changing_keys final : public ckks::key_set {
 public:
  changing_keys(ckks_rig& rig, std::span<const ckks::key_request> requests) : rig_(rig) {
    for (const ckks::key_request& each : requests) {
      keys_.emplace(each.galois_element, rig.generator.make_evaluation_key(rig.secret, each, true));
    }
  }
  void expand() {
    for (auto& [element, key] : keys_) ckks::expand(*rig_.ctx, key);
  }
  [[nodiscard]] const ckks::evaluation_key& get(std::uint64_t element, unsigned) override {
    return keys_.at(element);
  }
  [[nodiscard]] bool contains(std::uint64_t element, unsigned) const override {
    return keys_.contains(element);
  }
  [[nodiscard]] std::vector<ckks::key_request> list() const override { return {}; }

 private:
  ckks_rig& rig_;
  std::map<std::uint64_t, ckks::evaluation_key> keys_;
};

std::vector<std::uint64_t> all_words(ckks_rig& rig, const std::vector<ckks::ciphertext>& values) {
  std::vector<std::uint64_t> result;
  for (const ckks::ciphertext& value : values) {
    for (const ring::poly& part : value.parts) {
      const auto own = words_of(*rig.ctx, part.chain());
      result.insert(result.end(), own.begin(), own.end());
    }
  }
  return result;
}

/// Steps of an operation that `run` takes.
template <typename RunT>
std::uint64_t calls_of(ckks_rig& rig, const char* operation, const RunT& run) {
  rig.ctx->device().start_profile();
  run();
  std::uint64_t calls = 0;
  for (const backend::profile_row& row : rig.ctx->device().stop_profile().rows) {
    if (row.op == operation) calls += row.calls;
  }
  return calls;
}

diagonal_map random_map(ckks_rig& rig, int first, int count, std::uint32_t seed) {
  diagonal_map map;
  for (int d = first; d < first + count; ++d) {
    map[d] = rig.random_values(rig.slots(), seed + static_cast<std::uint32_t>(d - first));
  }
  return map;
}

class TransformJoined : public testing::TestWithParam<const char*> {
 protected:
  ckks_rig& rig = circuit_rig(GetParam());
};

/// Two inputs and two outputs, so that sums are added to; one cell has few babies. With compact diagonals,
/// too.
TEST_P(TransformJoined, EqualsWrittenBabies) {
  for (const bool compact : {false, true}) {
    std::vector<std::vector<diagonal_map>> cells(2);
    cells[0].push_back(random_map(rig, -5, 12, 1));
    cells[0].push_back(random_map(rig, 3, 2, 100));
    cells[1].push_back(random_map(rig, 0, 9, 200));
    cells[1].emplace_back();
    transform_options options;
    options.level = 2;
    options.slots = rig.slots();
    options.compact = compact;
    const transform_grid grid(rig.eval, cells, options);
    changing_keys keys(rig, grid.key_requests());
    ckks::evaluator eval(*rig.ctx, keys);
    const ckks::ciphertext x = rig.encrypt(rig.random_values(rig.slots(), 5), 2);
    const ckks::ciphertext y = rig.encrypt(rig.random_values(rig.slots(), 6), 3);
    const ckks::ciphertext* const inputs[] = {&x, &y};
    std::vector<ckks::ciphertext> written, joined;
    EXPECT_EQ(calls_of(rig, "key_dot", [&] { written = grid.apply(eval, inputs); }), 0u);
    keys.expand();
    EXPECT_EQ(calls_of(rig, "key_dot", [&] { joined = grid.apply(eval, inputs); }), 2u);
    EXPECT_EQ(all_words(rig, joined), all_words(rig, written)) << compact;
  }
}

TEST_P(TransformJoined, RefusesSeededKeys) {
  const diagonal_map map = random_map(rig, 0, 4, 1);
  transform_options options;
  options.level = 2;
  options.slots = rig.slots();
  const linear_transform transform(rig.eval, map, options);
  changing_keys keys(rig, transform.key_requests());
  const ckks::key_request first = transform.key_requests().front();
  const ckks::evaluation_key& key = keys.get(first.galois_element, first.level);
  EXPECT_FALSE(ckks::takes_key(key));
  const ckks::ciphertext x = rig.encrypt(rig.random_values(rig.slots(), 5), 2);
  const ckks::dot_source source{nullptr, x.parts[0].chain(), x.parts[1].chain()};
  const ckks::dot_term terms[] = {{&key, first.galois_element}};
  EXPECT_THAT([&] { ckks::key_dot(*rig.ctx, source, terms, {}); },
              ThrowsMessage<invalid_argument>(HasSubstr("no digits")));
  keys.expand();
  EXPECT_TRUE(ckks::takes_key(key));
}

INSTANTIATE_TEST_SUITE_P(Words, TransformJoined, testing::Values("test-n10-d3", "test-n10-d3-w64"));

TEST(RaisedTransformJoined, EqualsWrittenRotations) {
  ckks_rig& rig = circuit_rig("test-n11-boot");
  const unsigned top = rig.parameters().top_level();
  for (const bool compact : {false, true}) {
    const raised_transform transform(rig.eval, random_map(rig, -3, 7, 40), top, compact);
    std::vector<ckks::key_request> requests = transform.key_requests();
    requests.insert(requests.begin(), {ckks::encapsulation_element, top});
    changing_keys keys(rig, requests);
    ckks::evaluator eval(*rig.ctx, keys);
    const ckks::ciphertext low = rig.encrypt(rig.random_values(rig.slots(), 7), 0);
    const ckks::ciphertext* const one[] = {&low};
    const std::vector<ckks::raised_ciphertext> raised = eval.raise_sparse(one, top);
    const std::vector<ckks::ciphertext> written = transform.apply(eval, raised);
    keys.expand();
    std::vector<ckks::ciphertext> joined;
    EXPECT_EQ(calls_of(rig, "key_dot", [&] { joined = transform.apply(eval, raised); }), 1u);
    EXPECT_EQ(all_words(rig, joined), all_words(rig, written)) << compact;
  }
}

}  // namespace
}  // namespace halocline::test
