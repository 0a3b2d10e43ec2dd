// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace halocline::bench {

/// Chunks of 4 KiB, in any order, by address; the array is on the device.
struct chunk_list {
  float* const* chunks = nullptr;
  std::size_t count = 0;
};

/// chunk[2 i] += chunk[2 i + 1], word by word.
void launch_addition(const chunk_list& on, cudaStream_t stream);
/// 8-point butterflies across chunk[8 i] ... chunk[8 i + 7], which hold complex numbers.
void launch_butterfly(const chunk_list& on, cudaStream_t stream);
/// Writes a word into each page of 4 KiB: brings memory to the device.
void launch_touch(void* data, std::size_t bytes, cudaStream_t stream);

}  // namespace halocline::bench
