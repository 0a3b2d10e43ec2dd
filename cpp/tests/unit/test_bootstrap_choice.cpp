// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "circuits/bootstrap_choice.hpp"
#include "halocline/circuits/bootstrap.hpp"
#include "halocline/ckks/engine.hpp"
#include "halocline/params/presets.hpp"

namespace halocline::circuits {
namespace {

using detail::chain_shape;
using detail::choice_estimate;
using detail::transform_choice;

constexpr std::size_t GiB = std::size_t{1} << 30;

/// The transforms of n16-boot with full slots.
std::vector<chain_shape> full_slots(bool from_sparse = false) {
  const std::vector<unsigned> three{5, 5, 5}, four{4, 4, 4, 3};
  return {{dft_direction::coeff_to_slot, 32768, from_sparse ? four : three, 28, from_sparse},
          {dft_direction::slot_to_coeff, 32768, three, 17}};
}

TEST(BootstrapChoice, EstimatesAreWhatABootstrapperTakes) {
  const params::parameters parameters = params::preset("n16-boot");
  ckks::engine_options ghost;
  ghost.device = "ghost";
  for (const transform_choice& choice : {transform_choice{transform_mode::double_hoisted, 8, false},
                                         transform_choice{transform_mode::double_hoisted, 4, true},
                                         transform_choice{transform_mode::small_key, {}, false}}) {
    const bool from_sparse = choice.baby_count.has_value();
    ckks::engine engine(parameters, ghost);
    bootstrap_options options;
    options.transforms.from_sparse = from_sparse;
    options.transforms.cts_mode = options.transforms.stc_mode = choice.mode;
    options.transforms.baby_count = choice.baby_count;
    options.transforms.compact = choice.compact;
    const bootstrapper boots(engine.evaluator(), options);
    const choice_estimate found = detail::estimate(parameters, full_slots(from_sparse), {}, choice);
    EXPECT_NEAR(static_cast<double>(found.diagonal_bytes), static_cast<double>(boots.bytes()),
                0.05 * static_cast<double>(boots.bytes()));
    // The keys of the bootstrap are those of the transforms and three or four more.
    const choice_estimate all =
        detail::estimate(parameters, full_slots(from_sparse), boots.key_requests(), choice);
    EXPECT_GE(all.key_bytes, found.key_bytes);
    EXPECT_LT(all.key_bytes - found.key_bytes, GiB / 2);
  }
}

TEST(BootstrapChoice, LessMemoryTakesMoreWork) {
  const params::parameters parameters = params::preset("n16-boot");
  double least = 0;
  transform_mode last = transform_mode::double_hoisted;
  for (const double gigabytes : {16.0, 8.0, 5.0, 4.0, 3.0, 2.0, 1.0}) {
    const auto memory = static_cast<std::size_t>(gigabytes * GiB);
    const transform_choice choice = detail::choose_within(parameters, full_slots(), {}, memory);
    const choice_estimate found = detail::estimate(parameters, full_slots(), {}, choice);
    EXPECT_GE(found.work, least) << gigabytes;
    if (gigabytes >= 2.0) {
      EXPECT_LE(found.bytes(), memory) << gigabytes;
    }
    least = found.work;
    last = choice.mode;
  }
  EXPECT_EQ(last, transform_mode::small_key);
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

TEST(BootstrapChoice, BootstrapperFollowsIt) {
  const params::parameters parameters = params::preset("n16-boot");
  ckks::engine_options ghost;
  ghost.device = "ghost";
  ckks::engine engine(parameters, ghost);
  bootstrap_options options;
  options.transforms.memory_bytes = 1;
  EXPECT_EQ(bootstrapper(engine.evaluator(), options).options().transforms.cts_mode,
            transform_mode::small_key);
  options.transforms.memory_bytes = 4 * GiB;
  const bootstrapper boots(engine.evaluator(), options);
  EXPECT_EQ(boots.options().transforms.stc_mode, transform_mode::double_hoisted);
  EXPECT_GT(boots.options().transforms.baby_count, 0u);
}

}  // namespace
}  // namespace halocline::circuits
