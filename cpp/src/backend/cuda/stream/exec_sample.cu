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

template <typename WordT>
void encode_expand(const executor<WordT>& on, std::span<const encode_job> jobs) {
  plan_encode(on.resolve, jobs, [&](const encode_params<WordT>& params, std::uint32_t rows) {
    const launch_shape shape = shape_of(params.words / pack<WordT>::size, 1, encode_threads);
    on.launch("encode_expand", encode_kernel<WordT>, dim3(shape.blocks, rows), dim3(shape.threads), 0,
              params);
  });
}

template <typename WordT>
void sample_uniform(const executor<WordT>& on, std::span<const uniform_job> jobs) {
  plan_sample(on.resolve, jobs, [&](const sample_params<WordT>& params, std::uint32_t limbs) {
    const auto blocks = static_cast<std::uint32_t>(params.words / arith::words_per_block<WordT>);
    const auto kernel = params.rule == stream_rule::chacha8_spare
                            ? sample_kernel<WordT, stream_rule::chacha8_spare>
                            : sample_kernel<WordT, stream_rule::chacha20_retry>;
    on.launch("sample_uniform", kernel, dim3((blocks + stream_blocks - 1) / stream_blocks, limbs),
              dim3(stream_blocks), 0, params);
  });
}

}  // namespace

template <typename WordT>
op_table<executor<WordT>> stream_operations() {
  return op_table<executor<WordT>>{
      row<encode_expand<WordT>>(ops::encode_expand),
      row<sample_uniform<WordT>>(ops::sample_uniform),
  };
}

template op_table<executor<std::uint32_t>> stream_operations();
template op_table<executor<std::uint64_t>> stream_operations();

}  // namespace halocline::backend::cuda
