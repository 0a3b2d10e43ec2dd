// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/cpu/kernel_set.hpp"

/// Each function replaces the kernels of its family by those of the best instruction set of this machine;
/// where there are no vector kernels it changes nothing.
namespace halocline::backend::cpu {

void add_ntt_kernels(kernel_set<std::uint32_t>& kernels);
void add_ntt_kernels(kernel_set<std::uint64_t>& kernels);
void add_elementwise_kernels(kernel_set<std::uint32_t>& kernels);
void add_elementwise_kernels(kernel_set<std::uint64_t>& kernels);
void add_rns_kernels(kernel_set<std::uint32_t>& kernels);
void add_rns_kernels(kernel_set<std::uint64_t>& kernels);
/// Also names the instruction set.
void add_key_kernels(kernel_set<std::uint32_t>& kernels);
void add_key_kernels(kernel_set<std::uint64_t>& kernels);
/// Nothing for 64-bit words.
void add_retrieval_kernels(kernel_set<std::uint32_t>& kernels);
void add_retrieval_kernels(kernel_set<std::uint64_t>& kernels);

}  // namespace halocline::backend::cpu
