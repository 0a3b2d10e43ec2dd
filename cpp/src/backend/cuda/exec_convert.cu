// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/convert_plan.hpp"
#include "backend/cuda/executor.hpp"
#include "backend/cuda/kernel_tuning.hpp"

namespace halocline::backend::cuda {
namespace {

template <typename WordT>
__global__ void __launch_bounds__(convert_threads)
    convert_kernel(const __grid_constant__ convert_params<WordT> p) {
  extern __shared__ uint4 shared[];
  WordT* const y = reinterpret_cast<WordT*>(shared);
  convert_scale_sources(p, here(), y);
  __syncthreads();
  convert_round(p, here(), y);
  __syncthreads();
  convert_sum(p, here(), y);
}

}  // namespace

template <typename WordT>
void executor<WordT>::base_convert(std::span<const convert_job> jobs) const {
  plan_convert(resolve_, cache_hint::normal, jobs, [&](const convert_params<WordT>& p, std::uint32_t rows) {
    std::uint32_t sources = 0;
    for (std::uint32_t j = 0; j < p.jobs.jobs; ++j) sources = std::max(sources, p.jobs.items[j].sources);
    launch_("base_convert", convert_kernel<WordT>, dim3(p.words / p.tile, rows), dim3(convert_threads),
            (sources + 1) * p.tile * sizeof(WordT), p);
  });
}

template void executor<std::uint32_t>::base_convert(std::span<const convert_job>) const;
template void executor<std::uint64_t>::base_convert(std::span<const convert_job>) const;

}  // namespace halocline::backend::cuda
