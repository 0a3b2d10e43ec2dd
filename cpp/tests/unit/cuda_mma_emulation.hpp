// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>

#include "backend/cuda/convert/convert_plan.hpp"

/// The conversion kernel with matrix instructions, a warp at a time on the host.
namespace halocline::test {

/// Runs `body(coordinates)` for every thread of a block of a conversion.
template <typename BodyT>
void for_each_in_block(std::uint32_t x, std::uint32_t y, const BodyT& body) {
  const std::uint32_t threads = backend::cuda::convert_threads;
  for (std::uint32_t t = 0; t < threads; ++t) body(backend::cuda::coordinates{x, y, t, threads});
}

/// Registers of the 32 threads of a warp.
template <std::size_t count>
using warp_registers = std::array<std::array<std::uint32_t, count>, 32>;

/// Sanitizers would multiply the time of the loops of `emulate_mma` by 100 and check nothing of the kernels.
#ifdef __clang__
#define HALOCLINE_TEST_UNSANITIZED __attribute__((no_sanitize("address", "undefined")))
#else
#define HALOCLINE_TEST_UNSANITIZED
#endif

/// mma.m16n8k32.row.col.s32.u8.u8.s32 as the PTX manual lays its operands out over a warp.
HALOCLINE_TEST_UNSANITIZED inline void emulate_mma(warp_registers<4>& sum, const warp_registers<4>& left,
                                                   const warp_registers<2>& right) {
  std::uint8_t a[16][32], b[32][8];
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned group = lane / 4, member = lane % 4;
    for (unsigned i = 0; i < 16; ++i) {  // entry i is byte i % 4 of register i / 4
      const unsigned row = (i < 4 || (i >= 8 && i < 12)) ? group : group + 8;
      const unsigned column = member * 4 + i % 4 + (i < 8 ? 0 : 16);
      a[row][column] = static_cast<std::uint8_t>(left[lane][i / 4] >> (8 * (i % 4)));
    }
    for (unsigned i = 0; i < 8; ++i) {
      b[member * 4 + i % 4 + (i < 4 ? 0 : 16)][group] =
          static_cast<std::uint8_t>(right[lane][i / 4] >> (8 * (i % 4)));
    }
  }
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = lane / 4 + (i < 2 ? 0 : 8), column = lane % 4 * 2 + i % 2;
      std::uint32_t products = 0;
      for (unsigned k = 0; k < 32; ++k) products += std::uint32_t{a[row][k]} * b[k][column];
      sum[lane][i] += products;
    }
  }
}

/// All targets of a block for the 32 coefficients from `base` on.
template <unsigned steps>
void emulate_warp(const backend::cuda::mma_shared<steps>& shared, std::uint32_t sources, std::uint32_t groups,
                  std::size_t base) {
  std::array<backend::cuda::mma_left<steps>, 32> left;
  std::uint64_t fraction[8][4] = {};  // summed over the four threads of a coefficient
  for (unsigned lane = 0; lane < 32; ++lane) {
    backend::cuda::pack<std::uint32_t> x[2 * steps];
    mma_load<steps>(shared, backend::cuda::mma_memory_lane(lane), base, x);
    mma_scale<steps>(shared, lane, x, left[lane], fraction[lane / 4]);
  }
  for (unsigned lane = 0; lane < 32; ++lane) {
    backend::cuda::mma_round<steps>(sources, lane, fraction[lane / 4], left[lane]);
  }
  for (std::uint32_t g = 0; g < groups; ++g) {
    warp_registers<4> sums[2][2] = {};
    for (unsigned s = 0; s < steps; ++s) {
      for (unsigned m = 0; m < 2; ++m) {
        warp_registers<4> a{};
        warp_registers<2> b[2] = {};
        for (unsigned lane = 0; lane < 32; ++lane) {
          const auto& y = left[lane].y[s];
          a[lane] = {y[0][2 * m], y[0][2 * m + 1], y[1][2 * m], y[1][2 * m + 1]};
          const auto& right = shared.right[g][s][lane];
          b[0][lane] = {right[0], right[1]};
          b[1][lane] = {right[2], right[3]};
        }
        for (unsigned h = 0; h < 2; ++h) emulate_mma(sums[m][h], a, b[h]);
      }
    }
    for (unsigned memory = 0; memory < 32; ++memory) {
      const unsigned lane = backend::cuda::mma_matrix_lane(memory);
      const auto& target = shared.targets[4 * g + lane % 4];
      ASSERT_EQ(lane % 4, memory / 8);
      backend::cuda::mma_sums own;
      for (unsigned i = 0; i < 16; ++i) own[i / 8][i / 4 % 2][i % 4] = sums[i / 8][i / 4 % 2][lane][i % 4];
      const auto result = backend::cuda::mma_reduce(own, target.q, target.neg_inv);
      if (target.data != nullptr) backend::cuda::store(target.data + base + memory % 8 * 4, result, 0);
    }
  }
}

/// One launch.
template <unsigned steps>
void emulate_conversion(const backend::cuda::convert_params<std::uint32_t>& p, std::uint32_t rows) {
  using namespace backend::cuda;
  const auto shared = std::make_unique<mma_shared<steps>>();
  for (std::uint32_t row = 0; row < rows; ++row) {
    const auto& job = p.jobs.items[row];
    for (std::uint32_t first = 0; first < job.targets; first += mma_targets) {
      const std::uint32_t groups = (std::min(job.targets - first, mma_targets) + 3) / 4;
      for (std::uint32_t x = 0; x < p.words / p.tile; ++x) {
        for_each_in_block(x, row, [&](const coordinates& at) { mma_fill<steps>(p, at, first, *shared); });
        for (std::uint32_t base = x * p.tile; base < (x + 1) * p.tile; base += mma_coefficients) {
          emulate_warp<steps>(*shared, job.sources, groups, base);
        }
      }
    }
  }
}

}  // namespace halocline::test
