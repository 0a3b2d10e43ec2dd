// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/kernel_tuning.hpp"

namespace halocline::backend::cuda {
namespace {

const kernel_tuning* overridden = nullptr;

constexpr map_hints stream_first{cache_hint::evict_first, cache_hint::keep_most, cache_hint::evict_first};

/// Compute capability 9.0.
constexpr kernel_tuning hopper() {
  kernel_tuning row;
  row.large = stream_first;
  row.large_tensor = {cache_hint::evict_first, cache_hint::evict_first, cache_hint::evict_last};
  return row;
}

}  // namespace

const kernel_tuning& tuning_of(int architecture) noexcept {
  static constexpr kernel_tuning table_90 = hopper(), other;
  if (overridden != nullptr) return *overridden;
  return architecture >= 90 ? table_90 : other;
}

void override_tuning(const kernel_tuning* tuning) noexcept { overridden = tuning; }

}  // namespace halocline::backend::cuda
