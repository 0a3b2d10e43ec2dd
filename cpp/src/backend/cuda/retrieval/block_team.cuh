// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "halocline/arith/arith.hpp"

/// How bodies of kernels whose threads work together are written, so that tests can run them on the host: as
/// pieces of work between barriers. A body gets a team; `each` runs a piece for every thread, and registers
/// that live from one piece to the next are in a `state`. On a device a team is the calling thread. On the
/// host (cpp/tests/unit/cuda_team.hpp) `each` is a loop over all threads of the block.
namespace halocline::backend::cuda {

/// The threads of a one-dimensional block, seen from one of them.
class block_team {
 public:
  /// What each thread keeps: `state[thread]`.
  template <typename T>
  class state {
   public:
    HALOCLINE_HOST_DEVICE explicit state(const block_team&) {}
    [[nodiscard]] HALOCLINE_HOST_DEVICE T& operator[](std::uint32_t) { return own_; }

   private:
    T own_;
  };

  /// Calls `work(thread)` for each thread of the block.
  template <typename WorkT>
  HALOCLINE_HOST_DEVICE void each([[maybe_unused]] const WorkT& work) const {
#if defined(__CUDA_ARCH__)
    work(threadIdx.x);
#endif
  }
  /// Ends a piece of work: what any thread wrote to shared memory can be read by all.
  HALOCLINE_HOST_DEVICE void barrier() const {
#if defined(__CUDA_ARCH__)
    __syncthreads();
#endif
  }
};

}  // namespace halocline::backend::cuda
