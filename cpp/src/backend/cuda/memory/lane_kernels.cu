// SPDX-License-Identifier: Apache-2.0
#include <cooperative_groups.h>

#include <algorithm>
#include <cstdint>

#include "backend/cuda/device/cuda_api.hpp"
#include "backend/cuda/memory/lane_kernels.hpp"

namespace halocline::backend::cuda {
namespace {

constexpr unsigned move_threads = 1024;
/// Words that a thread holds at a time: what all threads hold is read completely before any of it is written.
constexpr unsigned held_words = 8;
constexpr unsigned most_blocks = 256;

struct moved_block {
  uint4* to;
  const uint4* from;
};

/// Blocks of one launch, seen as one long row of words.
struct move_params {
  std::uint32_t count = 0;
  std::uint64_t end[most_blocks] = {};  ///< in the row
  moved_block blocks[most_blocks] = {};

  /// Number of the block that word `word` of the row belongs to.
  [[nodiscard]] __device__ std::uint32_t block_of(std::uint64_t word) const {
    std::uint32_t low = 0;
    for (std::uint32_t high = count - 1; low < high;) {
      const std::uint32_t middle = (low + high) / 2;
      if (word < end[middle]) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
};

/// In waves along the row. A wave writes below the end of what it has read itself, and what comes later in
/// the row lies higher, so the waves behind it find their words untouched.
__global__ void __launch_bounds__(move_threads, 1) move_kernel(const __grid_constant__ move_params p) {
  const std::uint64_t threads = std::uint64_t{gridDim.x} * move_threads;
  const std::uint64_t me = std::uint64_t{blockIdx.x} * move_threads + threadIdx.x;
  const std::uint64_t words = p.end[p.count - 1];
  for (std::uint64_t wave = 0; wave < words; wave += held_words * threads) {
    uint4 held[held_words];
    uint4* target[held_words];
#pragma unroll
    for (unsigned i = 0; i < held_words; ++i) {
      const std::uint64_t at = wave + i * threads + me;
      if (at >= words) continue;
      const std::uint32_t block = p.block_of(at);
      const std::uint64_t within = at - (block == 0 ? 0 : p.end[block - 1]);
      target[i] = p.blocks[block].to + within;
      held[i] = p.blocks[block].from[within];
    }
    cooperative_groups::this_grid().sync();
#pragma unroll
    for (unsigned i = 0; i < held_words; ++i) {
      if (wave + i * threads + me < words) *target[i] = held[i];
    }
  }
}

void launch(const device_context& device, move_params& p) {
  const std::uint64_t words = p.end[p.count - 1];
  const std::uint64_t wanted = (words + move_threads * held_words - 1) / (move_threads * held_words);
  // All thread blocks wait for each other, so all must have places at once: one on each multiprocessor.
  const auto grid =
      static_cast<unsigned>(std::min<std::uint64_t>(wanted, static_cast<unsigned>(device.multiprocessors())));
  void* arguments[] = {&p};
  check(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(move_kernel), dim3(grid),
                                    dim3(move_threads), arguments, 0, device.compute()),
        "move within the device");
}

__global__ void occupy_kernel(std::uint64_t nanoseconds) {
  std::uint64_t begin = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  std::uint64_t now = begin;
  while (now - begin < nanoseconds) {
    __nanosleep(1000);
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  }
}

}  // namespace

void occupy(const device_context& device, std::uint64_t nanoseconds) {
  void* arguments[] = {&nanoseconds};
  check(cudaLaunchKernel(reinterpret_cast<const void*>(occupy_kernel), dim3(1), dim3(1), arguments, 0,
                         device.compute()),
        "keep the device busy");
}

void move_down(const device_context& device, std::span<const memory::block_move> blocks) {
  while (!blocks.empty()) {
    move_params p;
    std::uint64_t end = 0;
    for (const memory::block_move& each : blocks.first(std::min<std::size_t>(blocks.size(), most_blocks))) {
      end += each.bytes / sizeof(uint4);
      p.end[p.count] = end;
      p.blocks[p.count++] = {reinterpret_cast<uint4*>(each.to), reinterpret_cast<const uint4*>(each.from)};
    }
    blocks = blocks.subspan(p.count);
    launch(device, p);
  }
}

}  // namespace halocline::backend::cuda
