// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "halocline/arith/arith.hpp"

/// How batches of limbs travel inside the parameter blocks of kernels.
namespace halocline::backend::cuda {

/// Jobs of one launch. A job covers consecutive limbs of every operand; `begin` is the number of its first
/// limb in the launch, so that a block finds its job by its limb number (blockIdx.y or .z).
template <typename JobT, unsigned capacity>
struct batch {
  static constexpr unsigned max_jobs = capacity;
  std::uint32_t jobs = 0;
  std::uint32_t limbs = 0;
  std::uint32_t begin[capacity] = {};
  JobT items[capacity] = {};

  /// Number of the job that limb `limb` of the launch belongs to. The same for all threads of a block.
  [[nodiscard]] HALOCLINE_HOST_DEVICE std::uint32_t find(std::uint32_t limb) const {
    std::uint32_t job = 0;
    for (std::uint32_t end = jobs; end - job > 1;) {
      const std::uint32_t middle = (job + end) / 2;
      (limb >= begin[middle] ? job : end) = middle;
    }
    return job;
  }
  /// Adds a job of `count` limbs. False when the batch is full: launch it, and begin a new one.
  bool add(const JobT& job, std::uint32_t count) {
    if (jobs == capacity) return false;
    begin[jobs] = limbs;
    items[jobs++] = job;
    limbs += count;
    return true;
  }
};

}  // namespace halocline::backend::cuda
