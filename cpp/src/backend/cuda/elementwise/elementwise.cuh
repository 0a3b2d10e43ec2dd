// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "backend/cuda/device/arith.cuh"
#include "backend/cuda/device/batch.hpp"
#include "backend/cuda/elementwise/elementwise_access.cuh"

/// Elementwise operations that write one limb per limb read: parameter blocks and bodies of the kernels.
/// A thread computes one pack of one limb; blockIdx.y is the limb of the launch.
namespace halocline::backend::cuda {

/// Jobs of one launch of an elementwise kernel.
inline constexpr unsigned map_jobs = 64;
/// Limbs of one launch of a kernel that takes constants per limb.
inline constexpr unsigned map_constant_limbs = 160;

/// Cache hints of operands and result.
struct map_hints {
  cache_hint load = cache_hint::normal;    ///< first operand
  cache_hint second = cache_hint::normal;  ///< further operands
  cache_hint store = cache_hint::normal;
};

/// Up to four constants of one limb.
template <typename WordT>
struct limb_constants {
  WordT value[4];
};

/// Parameters of an elementwise operation with `sources` operands; `limit` is the number of limbs that may
/// have constants.
template <typename WordT, unsigned source_count, unsigned limit>
struct map_params {
  using word = WordT;
  static constexpr unsigned sources = source_count;
  static constexpr unsigned constant_limbs = limit;
  struct job {
    WordT* dst;
    const WordT* src[sources == 0 ? 1 : sources];
    std::uint32_t first_prime;
  };
  batch<job, map_jobs> jobs;
  const modulus<WordT>* moduli = nullptr;
  std::uint32_t words = 0;  ///< of a limb
  map_hints hints;
  std::array<limb_constants<WordT>, limit == 0 ? 1 : limit> constants{};  ///< by limb of the launch
};

/// What an operation may need besides its operands.
template <typename WordT>
struct map_context {
  const modulus<WordT>& q;
  const limb_constants<WordT>& constants;
  bool high;  ///< second half of the limb
};

// Operations: `apply` gets one word of each operand.
struct add_op {
  template <typename WordT>
  HALOCLINE_HOST_DEVICE static WordT apply(const WordT* x, const map_context<WordT>& c) {
    return subtract_once<WordT>(x[0] + x[1], c.q.value);
  }
};
struct sub_op {
  template <typename WordT>
  HALOCLINE_HOST_DEVICE static WordT apply(const WordT* x, const map_context<WordT>& c) {
    return arith::sub_mod(x[0], x[1], c.q);
  }
};
struct multiply_op {
  template <typename WordT>
  HALOCLINE_HOST_DEVICE static WordT apply(const WordT* x, const map_context<WordT>& c) {
    return arith::mul_mod(x[0], x[1], c.q);
  }
};
struct multiply_add_op {
  template <typename WordT>
  HALOCLINE_HOST_DEVICE static WordT apply(const WordT* x, const map_context<WordT>& c) {
    const auto product = static_cast<double_word<WordT>>(x[0]) * x[1];
    return arith::reduce<WordT>(product + x[2], c.q);  // below q^2
  }
};
struct negate_op {
  template <typename WordT>
  HALOCLINE_HOST_DEVICE static WordT apply(const WordT* x, const map_context<WordT>& c) {
    return arith::negate_mod(x[0], c.q);
  }
};
struct copy_op {
  template <typename WordT>
  HALOCLINE_HOST_DEVICE static WordT apply(const WordT* x, const map_context<WordT>&) {
    return x[0];
  }
};
struct zero_op {
  template <typename WordT>
  HALOCLINE_HOST_DEVICE static WordT apply(const WordT*, const map_context<WordT>&) {
    return 0;
  }
};
/// Constants: low, high.
struct scalar_add_op {
  template <typename WordT>
  HALOCLINE_HOST_DEVICE static WordT apply(const WordT* x, const map_context<WordT>& c) {
    return subtract_once<WordT>(x[0] + c.constants.value[c.high ? 1 : 0], c.q.value);
  }
};
/// Constants: low, high, and their Shoup quotients.
struct scalar_multiply_op {
  template <typename WordT>
  HALOCLINE_HOST_DEVICE static WordT apply(const WordT* x, const map_context<WordT>& c) {
    const unsigned i = c.high ? 1 : 0;
    return arith::mul_shoup(x[0], c.constants.value[i], c.constants.value[2 + i], c.q);
  }
};
/// Constants: factor of a, factor of b, and their Shoup quotients.
struct linear_op {
  template <typename WordT>
  HALOCLINE_HOST_DEVICE static WordT apply(const WordT* x, const map_context<WordT>& c) {
    const WordT a = arith::mul_shoup_lazy(x[0], c.constants.value[0], c.constants.value[2], c.q);
    const WordT b = arith::mul_shoup_lazy(x[1], c.constants.value[1], c.constants.value[3], c.q);
    return subtract_once<WordT>(subtract_once<WordT>(a + b, 2 * c.q.value), c.q.value);
  }
};

/// Body of every elementwise kernel: one pack of one limb per thread. `wait()` returns when operands may be
/// read; what comes before it needs parameters and tables only.
template <typename OpT, typename ParamsT, typename WaitT>
HALOCLINE_HOST_DEVICE inline void map_body(const ParamsT& p, const coordinates& at, const WaitT& wait) {
  using word = typename ParamsT::word;
  const std::uint32_t limb = at.block_y;
  const std::uint32_t number = p.jobs.find(limb);
  const auto& job = p.jobs.items[number];
  const std::uint32_t local = limb - p.jobs.begin[number];
  const modulus<word> q = p.moduli[job.first_prime + local];
  const cache_policy first_policy = make_policy(p.hints.load), second_policy = make_policy(p.hints.second);
  const cache_policy store_policy = make_policy(p.hints.store);
  const std::uint32_t index = (at.block_x * at.threads + at.thread) * pack<word>::size;
  const std::size_t offset = static_cast<std::size_t>(local) * p.words + index;
  wait();
  if (index >= p.words) return;
  pack<word> x[ParamsT::sources == 0 ? 1 : ParamsT::sources];
  for (unsigned s = 0; s != ParamsT::sources; ++s) {
    x[s] = load<word>(job.src[s] + offset, s == 0 ? first_policy : second_policy);
  }
  const auto& constants = p.constants[ParamsT::constant_limbs == 0 ? 0 : limb];
  const map_context<word> context{q, constants, index >= p.words / 2};
  pack<word> result;
  for (unsigned i = 0; i < pack<word>::size; ++i) {
    word in[ParamsT::sources == 0 ? 1 : ParamsT::sources];
    for (unsigned s = 0; s != ParamsT::sources; ++s) in[s] = x[s].word[i];
    result.word[i] = OpT::template apply<word>(in, context);
  }
  store<word>(job.dst + offset, result, store_policy);
}

}  // namespace halocline::backend::cuda
