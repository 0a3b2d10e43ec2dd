// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/kernel_set.hpp"
#include "backend/cpu/retrieval_kernels.hpp"
#include "backend/cpu/scalar_elementwise.hpp"
#include "backend/cpu/scalar_ntt.hpp"
#include "backend/cpu/scalar_rns.hpp"

namespace halocline::backend::cpu {

template <typename WordT>
const kernel_set<WordT>& scalar_kernels() {
  static const kernel_set<WordT> kernels{
      .target = "scalar",
      .ntt = scalar::ntt<WordT>,
      .intt = scalar::intt<WordT>,
      .ntt_linear_combine = scalar::ntt_linear_combine<WordT>,
      .ntt_reduced = scalar::ntt_reduced<WordT>,
      .add = scalar::add<WordT>,
      .sub = scalar::sub<WordT>,
      .negate = scalar::negate<WordT>,
      .multiply = scalar::multiply<WordT>,
      .multiply_add = scalar::multiply_add<WordT>,
      .scalar_multiply = scalar::scalar_multiply<WordT>,
      .scalar_add = scalar::scalar_add<WordT>,
      .linear_combine = scalar::linear_combine<WordT>,
      .dot = scalar::dot<WordT>,
      .tensor = scalar::tensor<WordT>,
      .automorphism = scalar::automorphism<WordT>,
      .base_convert = scalar::base_convert<WordT>,
      .key_multiply_accumulate = scalar::key_multiply_accumulate<WordT>,
      .encode_expand = scalar::encode_expand<WordT>,
      .sample_uniform = scalar::sample_uniform<WordT>,
      .retrieval = sizeof(WordT) == 4 ? &scalar_retrieval_kernels() : nullptr,
  };
  return kernels;
}

template const kernel_set<std::uint32_t>& scalar_kernels<std::uint32_t>();
template const kernel_set<std::uint64_t>& scalar_kernels<std::uint64_t>();

}  // namespace halocline::backend::cpu
