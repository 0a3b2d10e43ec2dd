// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/cuda/ntt/ntt_words.cuh"
#include "backend/cuda/retrieval/cluster_params.hpp"

/// Shared memory of the other blocks of a cluster.
namespace halocline::backend::cuda {

/// Sixteen bytes of the shared memory of block `rank` of the cluster; `own` is their place in this block.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline chunk<std::uint32_t> cluster_read(
    [[maybe_unused]] const std::uint32_t* own, [[maybe_unused]] const std::uint32_t* const* of_blocks,
    [[maybe_unused]] std::uint32_t offset, std::uint32_t rank) {
  chunk<std::uint32_t> out{};
#if defined(__CUDA_ARCH__)
#if __CUDA_ARCH__ >= 900
  std::uint32_t at;
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(at)
      : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(own + offset))), "r"(rank));
  asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(out.word[0]), "=r"(out.word[1]), "=r"(out.word[2]), "=r"(out.word[3])
               : "r"(at)
               : "memory");
#endif
#else
  out = *reinterpret_cast<const chunk<std::uint32_t>*>(of_blocks[rank] + cluster_barrier_words + offset);
#endif
  return out;
}

}  // namespace halocline::backend::cuda
