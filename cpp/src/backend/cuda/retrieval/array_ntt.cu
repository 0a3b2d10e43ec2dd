// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "backend/cuda/device/grid_order.cuh"
#include "backend/cuda/ntt/ntt_jobs.hpp"
#include "backend/cuda/ntt/ntt_run.hpp"
#include "backend/cuda/retrieval/array_ntt.cuh"
#include "backend/cuda/retrieval/array_ntt_launch.hpp"
#include "backend/cuda/retrieval/retrieval_plan.hpp"
#include "backend/cuda/retrieval/retrieval_tuning.hpp"

namespace halocline::backend::cuda {
namespace {

extern __shared__ uint4 limb_area[];

/// 64 registers, which no size exceeds: 32 warps per multiprocessor.
template <unsigned k, bool inverse, bool near>
__global__ void __launch_bounds__(block_ntt<k>::threads, 1024 / block_ntt<k>::threads)
    array_ntt_kernel(const __grid_constant__ transform_params p) {
  let_next_begin();
  array_ntt_body<k, inverse, near>(p, block_team{}, blockIdx.x, blockIdx.y,
                                   reinterpret_cast<std::uint32_t*>(limb_area), [] { wait_for_previous(); });
}

template <unsigned k, bool inverse, bool near>
void launch_size(const launcher& launch, const transform_params& p, std::uint32_t blocks) {
  run_phase(launch, inverse ? "array_intt" : "array_ntt", array_ntt_kernel<k, inverse, near>,
            dim3(blocks, p.jobs), dim3(block_ntt<k>::threads),
            array_ntt_words<k, near>() * sizeof(std::uint32_t), p);
}

template <unsigned k, bool inverse>
void launch_size(const launcher& launch, bool near, const transform_params& p, std::uint32_t blocks) {
  near ? launch_size<k, inverse, true>(launch, p, blocks) : launch_size<k, inverse, false>(launch, p, blocks);
}

template <bool inverse>
void launch_transform(const launcher& launch, transform_params p, std::uint64_t most) {
  static_assert(least_block_ntt == 10 && most_block_ntt == 13);
  const retrieval_tuning& tuning = retrieval_tuning_of(launch.device().architecture());
  const auto units = static_cast<std::uint64_t>(launch.device().properties().multiProcessorCount);
  const std::uint64_t several = most * p.jobs * p.limbs / (units * tuning.transform_blocks);
  p.polys = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(several, 1, tuning.transform_polys));
  const std::uint32_t blocks = transform_blocks(p, most);
  if (p.log_n == 10) launch_size<10, inverse>(launch, tuning.near_twiddles, p, blocks);
  if (p.log_n == 11) launch_size<11, inverse>(launch, tuning.near_twiddles, p, blocks);
  if (p.log_n == 12) launch_size<12, inverse>(launch, tuning.near_twiddles, p, blocks);
  if (p.log_n == 13) launch_size<13, inverse>(launch, tuning.near_twiddles, p, blocks);
}

/// Rings of other sizes: the transforms of limbs.
std::vector<unary_job> polynomials_of(const executor<std::uint32_t>& on, std::span<const array_job> jobs) {
  const window all{0, static_cast<std::uint32_t>(on.resolve.ring().primes.size())};
  std::vector<unary_job> made;
  for (const array_job& job : jobs) {
    for (std::uint32_t i = 0; i < job.count; ++i) {
      const poly_array dst = job.dst.from(i), src = job.src.from(i);
      made.push_back({{dst.data, dst.first, all}, {src.data, src.first, all}});
    }
  }
  return made;
}

}  // namespace

void run_array_ntt(const executor<std::uint32_t>& on, std::span<const array_job> jobs, bool inverse) {
  if (on.resolve.log_n() < least_block_ntt || on.resolve.log_n() > most_block_ntt) {
    return transform_limbs(on, polynomials_of(on, jobs), inverse);
  }
  plan_array_ntt(on.resolve, jobs, [&](const transform_params& p, std::uint64_t most) {
    inverse ? launch_transform<true>(on.launch, p, most) : launch_transform<false>(on.launch, p, most);
  });
}

}  // namespace halocline::backend::cuda
