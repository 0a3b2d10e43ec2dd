// SPDX-License-Identifier: Apache-2.0
#include <cooperative_groups.h>

#include <algorithm>

#include "backend/cuda/driver_calls.hpp"
#include "backend/cuda/move_down.hpp"

namespace halocline::backend::cuda {
namespace {

constexpr unsigned move_threads = 1024;
/// Words that a thread holds at a time: what all threads hold is read completely before any of it is written.
constexpr unsigned held_words = 4;

/// A wave writes below the end of what it has read itself, so the waves behind it find their words untouched.
__global__ void __launch_bounds__(move_threads, 1)
    move_kernel(uint4* to, const uint4* from, std::size_t words) {
  const std::size_t threads = std::size_t{gridDim.x} * move_threads;
  const std::size_t me = std::size_t{blockIdx.x} * move_threads + threadIdx.x;
  for (std::size_t wave = 0; wave < words; wave += held_words * threads) {
    uint4 held[held_words];
#pragma unroll
    for (unsigned i = 0; i < held_words; ++i) {
      const std::size_t at = wave + i * threads + me;
      if (at < words) held[i] = from[at];
    }
    cooperative_groups::this_grid().sync();
#pragma unroll
    for (unsigned i = 0; i < held_words; ++i) {
      const std::size_t at = wave + i * threads + me;
      if (at < words) to[at] = held[i];
    }
  }
}

}  // namespace

void move_down(const device_context& device, std::byte* to, const std::byte* from, std::size_t bytes) {
  if (to == from || bytes == 0) return;
  if (to + bytes <= from) {
    return check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, device.compute()),
                 "move within the device");
  }
  auto* target = reinterpret_cast<uint4*>(to);
  const auto* source = reinterpret_cast<const uint4*>(from);
  std::size_t words = bytes / sizeof(uint4);
  const std::size_t needed = (words + move_threads * held_words - 1) / (move_threads * held_words);
  // All blocks wait for each other, so all must have places at once: one on each multiprocessor.
  const auto blocks =
      static_cast<unsigned>(std::min<std::size_t>(needed, static_cast<unsigned>(device.multiprocessors())));
  void* arguments[] = {&target, &source, &words};
  check(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(move_kernel), dim3(blocks),
                                    dim3(move_threads), arguments, 0, device.compute()),
        "move within the device");
}

}  // namespace halocline::backend::cuda
