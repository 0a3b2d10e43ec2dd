// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/kernel_set.hpp"

namespace halocline::backend::cpu {

template <typename WordT>
kernel_set<WordT> simd_kernels() {
  return scalar_kernels<WordT>();
}

template kernel_set<std::uint32_t> simd_kernels<std::uint32_t>();
template kernel_set<std::uint64_t> simd_kernels<std::uint64_t>();

}  // namespace halocline::backend::cpu
