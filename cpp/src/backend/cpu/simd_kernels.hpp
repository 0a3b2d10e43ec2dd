// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/cpu/kernel_set.hpp"

namespace halocline::backend::cpu {

/// Each function replaces the kernels of its family by those of the best instruction set of this machine.
void add_ntt_kernels(kernel_set<std::uint32_t>& kernels);
void add_ntt_kernels(kernel_set<std::uint64_t>& kernels);

}  // namespace halocline::backend::cpu
