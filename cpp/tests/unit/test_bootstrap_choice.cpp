// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "circuits/bootstrap_choice.hpp"
#include "halocline/circuits/bootstrap.hpp"
#include "halocline/circuits/dft.hpp"
#include "halocline/ckks/engine.hpp"
#include "halocline/params/presets.hpp"

namespace halocline::circuits {
namespace {

using detail::chain_shape;
using detail::choice_estimate;
using detail::choice_limits;
using detail::sum_choice;
using detail::transform_choice;

constexpr std::size_t GiB = std::size_t{1} << 30;

/// The transforms of n16-boot with full slots.
std::vector<chain_shape> full_slots(bool from_sparse = false) {
  const std::vector<unsigned> three{5, 5, 5}, four{4, 4, 4, 3};
  return {{dft_direction::coeff_to_slot, 32768, from_sparse ? four : three, 28, from_sparse},
          {dft_direction::slot_to_coeff, 32768, three, 17}};
}

/// All matrices alike.
transform_choice uniform(const std::vector<chain_shape>& chains, const transform_way& way) {
  transform_choice made;
  for (const chain_shape& chain : chains) made.ways.emplace_back(chain.stages.size(), way);
  return made;
}

/// In the memory of an engine that loads what does not fit, unless `fits`.
transform_choice chosen_within(double gigabytes, bool fits = false, std::optional<bool> seeded = {}) {
  choice_limits limits{static_cast<std::size_t>(gigabytes * GiB), {}};
  limits.room.loads = !fits;
  limits.room.seeded = seeded;
  return *detail::choose_within(params::preset("n16-boot"), full_slots(), {}, limits);
}

choice_estimate taken_by(const transform_choice& choice) {
  return detail::estimate(params::preset("n16-boot"), full_slots(), {}, choice);
}

TEST(BootstrapChoice, EstimatesAreWhatABootstrapperTakes) {
  const params::parameters parameters = params::preset("n16-boot");
  ckks::engine_options ghost;
  ghost.device = "ghost";
  for (const transform_way& way : {transform_way{transform_mode::double_hoisted, 8, false},
                                   transform_way{transform_mode::double_hoisted, 4, true},
                                   transform_way{transform_mode::small_key, {}, false}}) {
    const bool from_sparse = way.baby_count.has_value();
    ckks::engine engine(parameters, ghost);
    bootstrap_options options;
    options.transforms.from_sparse = from_sparse;
    options.transforms.cts_mode = options.transforms.stc_mode = way.mode;
    options.transforms.baby_count = way.baby_count;
    options.transforms.compact = way.compact;
    const bootstrapper boots(engine.evaluator(), options);
    const std::vector<chain_shape> chains = full_slots(from_sparse);
    const choice_estimate found = detail::estimate(parameters, chains, {}, uniform(chains, way));
    EXPECT_NEAR(static_cast<double>(found.diagonal_bytes), static_cast<double>(boots.bytes()),
                0.05 * static_cast<double>(boots.bytes()));
    // The keys of the bootstrap are those of the transforms and three or four more.
    const choice_estimate all =
        detail::estimate(parameters, chains, sum_choice{2, boots.key_requests(), 0}, uniform(chains, way));
    EXPECT_GE(all.key_bytes, found.key_bytes);
    EXPECT_LT(all.key_bytes - found.key_bytes, GiB / 2);
  }
}

TEST(BootstrapChoice, SeededKeysTakeHalfAndMoreWork) {
  const std::vector<chain_shape> chains = full_slots();
  transform_choice choice = uniform(chains, {transform_mode::double_hoisted, 8, false});
  const choice_estimate expanded = taken_by(choice);
  for (const ckks::key_request& each :
       rotation_requests(params::preset("n16-boot"), std::vector<std::int64_t>{1024, 2048}, 28)) {
    choice.seeded.push_back(each.galois_element);
  }
  const choice_estimate seeded = taken_by(choice);
  const std::size_t one = detail::key_bytes(params::preset("n16-boot"), {choice.seeded.front(), 28});
  EXPECT_EQ(expanded.key_bytes - seeded.key_bytes, one);  // halves of two
  EXPECT_GT(seeded.work, expanded.work);
}

TEST(BootstrapChoice, LessMemoryTakesMoreWork) {
  double least = 0;
  for (const double gigabytes : {16.0, 8.0, 5.0, 4.0, 3.0, 2.0}) {
    const transform_choice choice = chosen_within(gigabytes, true);
    const choice_estimate found = taken_by(choice);
    EXPECT_GE(found.work, least) << gigabytes;
    EXPECT_LE(found.bytes(), static_cast<std::size_t>(gigabytes * GiB)) << gigabytes;
    least = found.work;
  }
}

TEST(BootstrapChoice, WithRoomForEverythingNothingIsSeeded) {
  const transform_choice choice = chosen_within(16.0);
  EXPECT_TRUE(choice.seeded.empty());
  EXPECT_EQ(chosen_within(16.0, false, true).seeded.size(), chosen_within(16.0, true, true).seeded.size());
  EXPECT_FALSE(chosen_within(16.0, false, true).seeded.empty());
  EXPECT_TRUE(chosen_within(1.0, false, false).seeded.empty());
}

TEST(BootstrapChoice, MoreMemoryIsNeverSlower) {
  const params::parameters parameters = params::preset("n16-boot");
  double slowest = std::numeric_limits<double>::infinity();
  for (double gigabytes = 0.5; gigabytes < 9.0; gigabytes *= 1.3) {
    const transform_choice choice = chosen_within(gigabytes);
    const double time =
        detail::loading_time(parameters, taken_by(choice), static_cast<std::size_t>(gigabytes * GiB));
    EXPECT_LE(time, slowest) << gigabytes;
    slowest = time;
  }
  EXPECT_EQ(chosen_within(2.0).ways, chosen_within(2.0).ways);
  EXPECT_EQ(chosen_within(2.0).seeded, chosen_within(2.0).seeded);
}

TEST(BootstrapChoice, ItUsesTheKeysThatThereAre) {
  const params::parameters parameters = params::preset("n16-boot");
  ckks::engine_options ghost;
  ghost.device = "ghost";
  ckks::engine engine(parameters, ghost);
  const auto sets = [](const std::vector<ckks::key_request>& keys) {
    std::map<std::uint64_t, unsigned> levels;
    for (const ckks::key_request& each : keys) levels[each.galois_element] = each.level;
    return levels;
  };
  const std::vector<ckks::key_request> all = bootstrapper(engine.evaluator()).key_requests();
  for (const std::size_t memory : {GiB, 3 * GiB}) {
    bootstrap_options options;
    options.transforms.memory_bytes = memory;
    options.transforms.room.keys = all;
    const bootstrapper boots(engine.evaluator(), options);
    EXPECT_LT(boots.key_requests().size(), all.size());
    const auto there = sets(all);
    for (const ckks::key_request& each : boots.key_requests()) {
      ASSERT_TRUE(there.contains(each.galois_element));
      EXPECT_GE(there.at(each.galois_element), each.level);
    }
    EXPECT_FALSE(boots.seeded_keys().empty());
  }
  bootstrap_options options;
  options.transforms.memory_bytes = GiB;
  options.transforms.room.keys.emplace();
  EXPECT_EQ(bootstrapper(engine.evaluator(), options).key_requests(), all);  // as without memory
}

// Whatever is bootstrapped, a choice asks for no keys but those that it was given, and needs all of its own.
TEST(BootstrapChoice, KeysOfAChoiceAreThoseOfTheBootstrapper) {
  const params::parameters parameters = params::preset("test-n12-boot");
  ckks::engine_options ghost;
  ghost.device = "ghost";
  ckks::engine engine(parameters, ghost);
  for (const std::uint32_t slots : {4U, 64U, 1024U, 2048U}) {
    for (const auto order : {bootstrap_order::cts_first, bootstrap_order::stc_first}) {
      for (const bool real : {false, true}) {
        bootstrap_options options;
        options.slots = slots;
        options.order = order;
        options.real_only = real;
        const auto all = bootstrapper(engine.evaluator(), options).key_requests();
        options.transforms.memory_bytes = std::size_t{40} << 20;
        options.transforms.room.keys = all;
        for (const ckks::key_request& each : bootstrapper(engine.evaluator(), options).key_requests()) {
          const bool there = std::ranges::any_of(all, [&](const ckks::key_request& one) {
            return one.galois_element == each.galois_element && one.level >= each.level;
          });
          EXPECT_TRUE(there) << slots << ' ' << real;
        }
      }
    }
  }
}

TEST(BootstrapChoice, MatricesMayDiffer) {
  const params::parameters parameters = params::preset("n16-boot");
  ckks::engine_options ghost;
  ghost.device = "ghost";
  ckks::engine engine(parameters, ghost);
  bootstrap_options options;
  options.transforms.cts_ways = {{transform_mode::double_hoisted, 4, true},
                                 {transform_mode::small_key, {}, false},
                                 {transform_mode::double_hoisted, 8, false}};
  const bootstrapper boots(engine.evaluator(), options);
  const auto transforms = boots.coeff_to_slot().transforms();
  EXPECT_EQ(transforms[0].plan().full_usage().babies.front().size(), 4U);
  EXPECT_EQ(transforms[1].plan().mode(), transform_mode::small_key);
  EXPECT_EQ(transforms[2].plan().full_usage().babies.front().size(), 8U);
  EXPECT_EQ(boots.slot_to_coeff().transforms()[0].plan().mode(), transform_mode::double_hoisted);
  options.transforms.cts_ways.pop_back();
  EXPECT_THROW(bootstrapper(engine.evaluator(), options), invalid_argument);
}

// Eight slots: keys of the sum are most of the keys, so that less memory takes a smaller radix.
TEST(BootstrapChoice, LessMemoryTakesASmallerRadix) {
  const params::parameters parameters = params::preset("n16-boot");
  ckks::engine_options ghost;
  ghost.device = "ghost";
  ckks::engine engine(parameters, ghost);
  const auto radix = [&](std::size_t memory, bool from_sparse) {
    bootstrap_options options;
    options.slots = 8;
    options.transforms.memory_bytes = memory;
    options.transforms.from_sparse = from_sparse;
    return bootstrapper(engine.evaluator(), options).options().transforms.sum_radix;
  };
  for (const bool from_sparse : {false, true}) {
    EXPECT_EQ(radix(8 * GiB, from_sparse), 4U) << from_sparse;
    EXPECT_EQ(radix(GiB, from_sparse), 2U) << from_sparse;
  }
}

TEST(BootstrapChoice, GiantStepsGoOneWay) {
  const params::parameters parameters = params::preset("n16-boot");
  ckks::engine_options ghost;
  ghost.device = "ghost";
  ckks::engine engine(parameters, ghost);
  const bootstrapper boots(engine.evaluator());
  for (const dft_chain* chain : {&boots.coeff_to_slot(), &boots.slot_to_coeff()}) {
    for (const linear_transform& each : chain->transforms()) {
      const transform_usage usage = each.plan().full_usage();
      EXPECT_GE(usage.giants.front().front(), 0);
      // One key for each baby step but 0, and one for the giant steps.
      EXPECT_EQ(each.required_rotations().size(), usage.babies.front().size());
    }
  }
}

TEST(BootstrapChoice, BootstrapperFollowsIt) {
  const params::parameters parameters = params::preset("n16-boot");
  ckks::engine_options ghost;
  ghost.device = "ghost";
  ckks::engine engine(parameters, ghost);
  bootstrap_options options;
  options.transforms.memory_bytes = 2 * GiB;
  const bootstrapper boots(engine.evaluator(), options);
  EXPECT_EQ(boots.options().transforms.cts_ways, boots.coeff_to_slot().options().ways);
  EXPECT_EQ(boots.options().transforms.stc_ways, boots.slot_to_coeff().options().ways);
  EXPECT_FALSE(boots.options().transforms.cts_ways.empty());
  EXPECT_LT(boots.key_requests().size(), bootstrapper(engine.evaluator()).key_requests().size());
}

}  // namespace
}  // namespace halocline::circuits
