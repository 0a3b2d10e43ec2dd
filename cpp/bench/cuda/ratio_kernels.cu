// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "backend/cuda/device/cuda_api.hpp"
#include "cuda/ratio_blocks.hpp"
#include "cuda/ratio_kernels.hpp"

namespace halocline::bench {
namespace {

constexpr unsigned threads = 256;
constexpr unsigned points = 8;
constexpr unsigned chunk_words = chunk_bytes / sizeof(float);

/// One block of threads for each pair.
__global__ void add_pairs(float* const* chunks) {
  float* const to = chunks[2 * std::size_t{blockIdx.x}];
  const float* const from = chunks[2 * std::size_t{blockIdx.x} + 1];
  for (unsigned i = threadIdx.x; i < chunk_words; i += threads) to[i] += from[i];
}

__device__ float2 plus(float2 a, float2 b) { return {a.x + b.x, a.y + b.y}; }
__device__ float2 minus(float2 a, float2 b) { return {a.x - b.x, a.y - b.y}; }
__device__ float2 times(float2 a, float2 b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }

/// Discrete Fourier transform of eight values, in three rounds of radix 2; the results are halved three
/// times, so that repeated use stays finite.
__device__ void butterfly(float2 (&x)[points]) {
  constexpr float h = 0.70710678F;
  const float2 twiddle[4] = {{1, 0}, {h, -h}, {0, -1}, {-h, -h}};
#pragma unroll
  for (unsigned half = 4; half > 0; half /= 2) {
#pragma unroll
    for (unsigned i = 0; i < points; ++i) {
      if ((i & half) != 0) continue;
      const float2 a = x[i], b = x[i + half];
      const float2 lower = times(minus(a, b), twiddle[(i & (half - 1)) * (4 / half)]);
      const float2 upper = plus(a, b);
      x[i] = {upper.x / 2, upper.y / 2};
      x[i + half] = {lower.x / 2, lower.y / 2};
    }
  }
}

/// One block of threads for eight chunks.
__global__ void transform_eights(float* const* chunks) {
  const std::size_t first = points * std::size_t{blockIdx.x};
  for (unsigned i = threadIdx.x; i < chunk_words / 2; i += threads) {
    float2 x[points];
#pragma unroll
    for (unsigned j = 0; j < points; ++j) x[j] = reinterpret_cast<const float2*>(chunks[first + j])[i];
    butterfly(x);
#pragma unroll
    for (unsigned j = 0; j < points; ++j) reinterpret_cast<float2*>(chunks[first + j])[i] = x[j];
  }
}

__global__ void touch_pages(std::uint32_t* data, std::size_t pages) {
  const std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x;
  if (i < pages) data[i * (chunk_bytes / sizeof(std::uint32_t))] = 1;
}

}  // namespace

void launch_addition(const chunk_list& on, cudaStream_t stream) {
  if (on.count < 2) return;
  add_pairs<<<static_cast<unsigned>(on.count / 2), threads, 0, stream>>>(on.chunks);
  backend::cuda::check(cudaGetLastError(), "ratio: addition");
}

void launch_butterfly(const chunk_list& on, cudaStream_t stream) {
  if (on.count < points) return;
  transform_eights<<<static_cast<unsigned>(on.count / points), threads, 0, stream>>>(on.chunks);
  backend::cuda::check(cudaGetLastError(), "ratio: butterfly");
}

void launch_touch(void* data, std::size_t bytes, cudaStream_t stream) {
  const std::size_t pages = std::max<std::size_t>(1, bytes / chunk_bytes);
  const auto grid = static_cast<unsigned>((pages + threads - 1) / threads);
  touch_pages<<<grid, threads, 0, stream>>>(static_cast<std::uint32_t*>(data), pages);
  backend::cuda::check(cudaGetLastError(), "ratio: touch");
}

}  // namespace halocline::bench
