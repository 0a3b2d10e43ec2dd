// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/kernel_tuning.hpp"

namespace halocline::backend::cuda {
namespace {

const kernel_tuning* overridden = nullptr;

}  // namespace

const kernel_tuning& tuning_of(int) noexcept {
  static const kernel_tuning table;
  return overridden != nullptr ? *overridden : table;
}

void override_tuning(const kernel_tuning* tuning) noexcept { overridden = tuning; }

}  // namespace halocline::backend::cuda
