// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/device/grid_order.cuh"
#include "backend/cuda/executor.hpp"
#include "backend/cuda/stream/sample_plan.hpp"

namespace halocline::backend::cuda {
namespace {

constexpr std::uint32_t encode_threads = 256;

template <typename WordT>
__global__ void __launch_bounds__(encode_threads)
    encode_kernel(const __grid_constant__ encode_params<WordT> p) {
  wait_for_previous();
  encode_body(p, here());
}

template <typename WordT, stream_rule Rule>
__global__ void __launch_bounds__(stream_blocks, 6)
    sample_kernel(const __grid_constant__ sample_params<WordT> p) {
  wait_for_previous();
  __shared__ stream_tile<WordT, Rule> tile;
  stream_fill(tile, [&](std::uint32_t j) { return sample_source(p, here(), j); });
  let_next_begin();  // not earlier: see convert_mma_kernel
  sample_store(p, here(), tile);
}

}  // namespace

template <typename WordT>
void executor<WordT>::encode_expand(std::span<const encode_job> jobs) const {
  plan_encode(resolve_, jobs, [&](const encode_params<WordT>& params, std::uint32_t rows) {
    const launch_shape shape = shape_of(params.words / pack<WordT>::size, 1, encode_threads);
    launch_("encode_expand", encode_kernel<WordT>, dim3(shape.blocks, rows), dim3(shape.threads), 0, params);
  });
}

template <typename WordT>
void executor<WordT>::sample_uniform(std::span<const uniform_job> jobs) const {
  plan_sample(resolve_, jobs, [&](const sample_params<WordT>& params, std::uint32_t limbs) {
    const auto blocks = static_cast<std::uint32_t>(params.words / arith::words_per_block<WordT>);
    const auto kernel = params.rule == stream_rule::chacha8_spare
                            ? sample_kernel<WordT, stream_rule::chacha8_spare>
                            : sample_kernel<WordT, stream_rule::chacha20_retry>;
    launch_("sample_uniform", kernel, dim3((blocks + stream_blocks - 1) / stream_blocks, limbs),
            dim3(stream_blocks), 0, params);
  });
}

template void executor<std::uint32_t>::encode_expand(std::span<const encode_job>) const;
template void executor<std::uint64_t>::encode_expand(std::span<const encode_job>) const;
template void executor<std::uint32_t>::sample_uniform(std::span<const uniform_job>) const;
template void executor<std::uint64_t>::sample_uniform(std::span<const uniform_job>) const;

}  // namespace halocline::backend::cuda
