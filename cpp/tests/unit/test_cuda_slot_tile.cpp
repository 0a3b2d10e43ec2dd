// SPDX-License-Identifier: Apache-2.0
// Runs the thread blocks of the CUDA slot transform one by one on the host.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "backend/cpu/client_kernels.hpp"
#include "backend/cuda/client/slot_tile.hpp"
#include "ckks/encoder_fft.hpp"

namespace halocline::backend::cuda {
namespace {

class CudaSlotTile : public ::testing::TestWithParam<unsigned> {
 protected:
  unsigned log_slots = GetParam();
  std::size_t n = std::size_t{1} << log_slots;
  std::vector<std::byte> table = ckks::make_slot_table(static_cast<std::uint32_t>(n), 5);
  const arith::fft_factors* factors = reinterpret_cast<const arith::fft_factors*>(table.data());

  [[nodiscard]] std::vector<slot_group> groups() const {
    std::vector<slot_group> result;
    for (unsigned end = log_slots; end > 0; end = result.front().depth) {
      result.insert(result.begin(), slot_group_before(log_slots, end));
    }
    return result;
  }

  void run_passes(const slot_group& group, bool forward, std::size_t tile, double* re, double* im) const {
    const unsigned first = group.begins_odd() ? 1 : 0;
    const auto radix2 = [&] {
      for (std::size_t w = 0; first != 0 && w < slot_items(group, true); ++w) {
        slot_pair(group, forward, w, re, im);
      }
    };
    if (forward) radix2();
    for (unsigned i = 0; i < group.levels / 2; ++i) {
      const unsigned done = forward ? first + 2 * i : group.levels - 2 - 2 * i;
      for (std::size_t w = 0; w < slot_items(group, false); ++w) {
        slot_quad(group, forward, tile, done, w, factors, re, im);
      }
    }
    if (!forward) radix2();
  }

  void run(bool forward, std::vector<double>& values) const {
    std::vector<slot_group> order = groups();
    if (!forward) std::reverse(order.begin(), order.end());
    for (const slot_group& group : order) {
      for (std::size_t tile = 0; tile < group.tiles(); ++tile) {
        std::vector<double> re(group.tile_points()), im(group.tile_points());
        for (std::size_t e = 0; e < re.size(); ++e) {
          re[e] = values[group.address(tile, e)];
          im[e] = values[n + group.address(tile, e)];
        }
        run_passes(group, forward, tile, re.data(), im.data());
        for (std::size_t e = 0; e < re.size(); ++e) {
          values[group.address(tile, e)] = re[e];
          values[n + group.address(tile, e)] = im[e];
        }
      }
    }
  }

  [[nodiscard]] std::vector<double> random_values() const {
    std::mt19937_64 random(log_slots);
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    std::vector<double> values(2 * n);
    for (double& value : values) value = uniform(random);
    return values;
  }
};

TEST_P(CudaSlotTile, TilesOfAGroupCoverTheArrayOnce) {
  for (const slot_group& group : groups()) {
    EXPECT_LE(group.tile_points(), std::size_t{1} << slot_tile_log);
    std::vector<int> seen(n);
    for (std::size_t tile = 0; tile < group.tiles(); ++tile) {
      for (std::size_t e = 0; e < group.tile_points(); ++e) ++seen[group.address(tile, e)];
    }
    EXPECT_EQ(seen, std::vector<int>(n, 1)) << group.depth;
  }
}

TEST_P(CudaSlotTile, GivesTheBitsOfTheCpuInBothDirections) {
  std::vector<double> tiled = random_values();
  std::vector<double> plain = tiled;
  run(true, tiled);
  cpu::slots_forward(plain.data(), plain.data() + n, factors, log_slots);
  EXPECT_EQ(tiled, plain);
  run(false, tiled);
  cpu::slots_inverse(plain.data(), plain.data() + n, factors, log_slots);
  EXPECT_EQ(tiled, plain);
}

INSTANTIATE_TEST_SUITE_P(cuda, CudaSlotTile, ::testing::Range(0U, 18U));

}  // namespace
}  // namespace halocline::backend::cuda
