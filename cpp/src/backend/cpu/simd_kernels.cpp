// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/simd_kernels.hpp"

namespace halocline::backend::cpu {

template <typename WordT>
kernel_set<WordT> simd_kernels() {
  kernel_set<WordT> kernels = scalar_kernels<WordT>();
  add_ntt_kernels(kernels);
  add_elementwise_kernels(kernels);
  add_rns_kernels(kernels);
  add_key_kernels(kernels);
  add_retrieval_kernels(kernels);
  return kernels;
}

template kernel_set<std::uint32_t> simd_kernels<std::uint32_t>();
template kernel_set<std::uint64_t> simd_kernels<std::uint64_t>();

}  // namespace halocline::backend::cpu
