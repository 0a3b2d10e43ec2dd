// SPDX-License-Identifier: Apache-2.0
#include <type_traits>

#include "backend/cuda/device/grid_order.cuh"
#include "backend/cuda/executor.hpp"
#include "backend/cuda/retrieval/answers.cuh"
#include "backend/cuda/retrieval/array_ntt_launch.hpp"
#include "backend/cuda/retrieval/digit_product.cuh"
#include "backend/cuda/retrieval/digits.cuh"
#include "backend/cuda/retrieval/points.cuh"
#include "backend/cuda/retrieval/retrieval_plan.hpp"
#include "backend/cuda/retrieval/retrieval_tuning.hpp"
#include "backend/cuda/retrieval/row_select_launch.hpp"
#include "backend/cuda/retrieval/row_select_mma.hpp"
#include "backend/cuda/retrieval/row_select_point_major.hpp"

namespace halocline::backend::cuda {
namespace {

using site = executor<std::uint32_t>;

/// Every thread computes what `body` does at its place.
template <typename ParamsT, void (*body)(const ParamsT&, const coordinates&)>
__global__ void __launch_bounds__(256) retrieval_kernel(const __grid_constant__ ParamsT p) {
  begin_kernel();
  body(p, here());
}

/// Two blocks of a product per multiprocessor hold 256 threads each with what two ciphertexts need.
__global__ void __launch_bounds__(256, 2) product_kernel(const __grid_constant__ product_params p) {
  begin_kernel();
  product_body(p, here());
}

/// Launches of kernels whose threads take four words each of `units` limbs.
template <typename ParamsT, void (*body)(const ParamsT&, const coordinates&)>
auto limbs_launch(const site& on, const char* name) {
  return [&on, name](const ParamsT& p, std::uint64_t units) {
    const std::uint32_t threads = retrieval_tuning_of(on.launch.device().architecture()).threads;
    on.launch(name, retrieval_kernel<ParamsT, body>, dim3(blocks_of_limbs(units, p.log_n, threads), p.jobs),
              dim3(threads), 0, p);
  };
}

void array_ntt(const site& on, std::span<const array_job> jobs) { run_array_ntt(on, jobs, false); }
void array_intt(const site& on, std::span<const array_job> jobs) { run_array_ntt(on, jobs, true); }

void array_sub(const site& on, std::span<const array_sub_job> jobs) {
  plan_array_sub(on.resolve, jobs, limbs_launch<array_sub_params, array_sub_body>(on, "array_sub"));
}

void array_scale(const site& on, std::span<const array_scale_job> jobs) {
  plan_array_scale(on.resolve, jobs, limbs_launch<array_scale_params, array_scale_body>(on, "array_scale"));
}

void split_digits(const site& on, std::span<const split_job> jobs) {
  plan_split(on.resolve, jobs, limbs_launch<split_params, split_body>(on, "split_digits"));
}

void digit_product(const site& on, std::span<const digit_product_job> jobs) {
  plan_product(on.resolve, jobs, [&](const product_params& p, std::uint64_t entries) {
    on.launch("digit_product", product_kernel, dim3(product_blocks(p, entries), p.jobs),
              dim3(32 * product_warps), 0, p);
  });
}

void expand_children(const site& on, std::span<const children_job> jobs) {
  plan_children(on.resolve, jobs, limbs_launch<children_params, children_body>(on, "expand_children"));
}

__global__ void __launch_bounds__(turn_threads)
    turn_point_major_kernel(const __grid_constant__ turn_params p) {
  begin_kernel();
  __shared__ std::uint32_t tile[turn_tile_words];
  turn_point_major_body(p, block_team{}, blockIdx.x, blockIdx.y, tile);
}

/// Jobs whose matrices have equal blocks.
void turn_equal(const site& on, std::span<const turn_job> jobs) {
  plan_turn(on.resolve, jobs, [&](const turn_params& p, std::uint64_t polynomials) {
    if (jobs.front().dst.block == 1) {
      on.launch("turn_points", turn_point_major_kernel, dim3(point_major_tiles(p, polynomials), p.jobs),
                dim3(turn_threads), 0, p);
      return;
    }
    on.launch("turn_points", retrieval_kernel<turn_params, turn_body>,
              dim3(turn_tiles(p, polynomials), p.jobs), dim3(turn_threads), 0, p);
  });
}

void turn_points(const site& on, std::span<const turn_job> jobs) {
  while (!jobs.empty()) {
    std::size_t count = 1;
    while (count < jobs.size() && jobs[count].dst.block == jobs.front().dst.block) ++count;
    turn_equal(on, jobs.first(count));
    jobs = jobs.subspan(count);
  }
}

void row_select(const site& on, std::span<const row_select_job> jobs) {
  const int architecture = on.launch.device().architecture();
  for (const row_select_job& job : jobs) {
    if (job.database.block == 1) {
      warpgroups_select(architecture, job.rows) ? row_select_warpgroup(on, job) : row_select_dots(on, job);
      continue;
    }
    const auto queries = static_cast<std::uint32_t>(job.queries.size());
    const row_select_kernel kernel = choose_row_select(architecture, job.columns, job.rows, queries);
    if (kernel == row_select_kernel::integer) {
      run_row_select(on, std::span(&job, 1));
    } else {
      row_select_mma(on, kernel, job);
    }
  }
}

void round_answer(const site& on, std::span<const round_answer_job> jobs) {
  plan_round(on.resolve, jobs, limbs_launch<round_params, round_body>(on, "round_answer"));
}

void unpack_plain(const site& on, std::span<const unpack_job> jobs) {
  plan_unpack(on.resolve, jobs, limbs_launch<unpack_params, unpack_body>(on, "unpack_plain"));
}

}  // namespace

template <typename WordT>
op_table<executor<WordT>> retrieval_operations() {
  if constexpr (std::is_same_v<WordT, std::uint32_t>) {
    return op_table<site>{
        row<array_ntt>(ops::array_ntt),
        row<array_intt>(ops::array_intt),
        row<array_sub>(ops::array_sub),
        row<array_scale>(ops::array_scale),
        row<split_digits>(ops::split_digits),
        row<digit_product>(ops::digit_product),
        row<expand_children>(ops::expand_children),
        row<turn_points>(ops::turn_points),
        row<row_select>(ops::row_select),
        row<round_answer>(ops::round_answer),
        row<unpack_plain>(ops::unpack_plain),
    };
  } else {
    return op_table<executor<WordT>>{};
  }
}

template op_table<executor<std::uint32_t>> retrieval_operations();
template op_table<executor<std::uint64_t>> retrieval_operations();

}  // namespace halocline::backend::cuda
