// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/retrieval/block_ntt.cuh"
#include "backend/cuda/retrieval/retrieval_params.hpp"

/// Body of the kernels that transform arrays of polynomials: a block transforms limbs modulo one prime, one
/// after the other.
namespace halocline::backend::cuda {

/// Words of shared memory of a block.
template <unsigned k, bool near>
[[nodiscard]] HALOCLINE_HOST_DEVICE constexpr std::uint32_t array_ntt_words() {
  return block_ntt<k, near>::exchange + (near ? block_ntt<k, near>::n : 0);
}

/// Blocks along x where the largest job has `most` polynomials.
[[nodiscard]] inline std::uint32_t transform_blocks(const transform_params& p, std::uint64_t most) {
  return static_cast<std::uint32_t>((most + p.polys - 1) / p.polys) * p.limbs;
}

/// Transforms a limb from `src` to `dst`, which may be the same. `again`: `on.shared` has been used before.
template <bool inverse, typename NttT, typename TeamT, typename StateT>
HALOCLINE_HOST_DEVICE inline void transform_limb(const NttT& on, const TeamT& team, const std::uint32_t* src,
                                                 std::uint32_t* dst, StateT& x, bool again) {
  if constexpr (inverse) {
    if (again) team.barrier();
    on.load_neighbours(team, src, x);
    team.barrier();
    on.inverse(team, x);
    team.each([&](std::uint32_t t) { on.store_strided(dst, t, x[t]); });
  } else {
    team.each([&](std::uint32_t t) { on.load_strided(src, t, x[t]); });
    if (again) team.barrier();
    on.forward(team, x);
    team.barrier();
    on.store_neighbours(team, dst, x, [&](std::uint32_t, const chunk<std::uint32_t>& got) {
      return reduce_chunk(got, on.far);
    });
  }
}

/// Block `block` of job `number`. `wait` returns when the kernel before has ended; only tables are read
/// before.
template <unsigned k, bool inverse, bool near, typename TeamT, typename WaitT>
HALOCLINE_HOST_DEVICE inline void array_ntt_body(const transform_params& p, const TeamT& team,
                                                 std::uint32_t block, std::uint32_t number,
                                                 std::uint32_t* shared, const WaitT& wait) {
  using ntt = block_ntt<k, near>;
  const transform_item& job = p.items[number];
  const std::uint32_t group = block / p.limbs, prime = block - group * p.limbs;
  const std::uint32_t first = group * p.polys;
  const std::uint32_t last = first + p.polys < job.count ? first + p.polys : job.count;
  const auto far = twiddles_of<inverse>(p.roots, prime, p.moduli[prime].value, k);
  if constexpr (near) {
    if (first < last) fetch_quotients<k>(team, shared + ntt::exchange, far, ntt::threads);
  }
  wait();
  if (first >= last) return;
  const auto on = [&] {
    if constexpr (near) {
      team.each([](std::uint32_t) { wait_async(); });
      team.barrier();
      return near_block_ntt<k>(far, shared + ntt::exchange, shared);
    } else {
      return far_block_ntt<k>(far, shared);
    }
  }();
  typename TeamT::template state<typename ntt::words> x(team);
  const std::size_t limb = std::size_t{prime} << k;
  for (std::uint32_t i = first; i < last; ++i) {
    transform_limb<inverse>(on, team, job.src.at(i) + limb, job.dst.at(i) + limb, x, i != first);
  }
}

}  // namespace halocline::backend::cuda
