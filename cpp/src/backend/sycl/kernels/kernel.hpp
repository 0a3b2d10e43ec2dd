// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sycl/sycl.hpp>

// Before the headers that use it.
#include "wide_word.hpp"
//
#include "parameters.hpp"

/// Device source, compiled at run time once for each word (-DHALOCLINE_SYCL_WORD). Kernels are free functions
/// of one pointer to their parameters.
#define HALOCLINE_KERNEL(NAME, PARAMETER)                                                                  \
  extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<1>)) void \
  NAME(const PARAMETER* p)

namespace halocline::sycl_kernels {

using word = HALOCLINE_SYCL_WORD;
using modulus = arith::modulus<word>;
using wide = arith::double_word<word>;

/// Number of the work item, of its group, and within its group.
inline std::size_t global_id() {
  return sycl::ext::oneapi::this_work_item::get_nd_item<1>().get_global_linear_id();
}
inline std::size_t group_id() {
  return sycl::ext::oneapi::this_work_item::get_nd_item<1>().get_group_linear_id();
}
inline std::size_t local_id() {
  return sycl::ext::oneapi::this_work_item::get_nd_item<1>().get_local_linear_id();
}
inline std::size_t group_size() {
  return sycl::ext::oneapi::this_work_item::get_nd_item<1>().get_local_range(0);
}
inline void barrier() { sycl::group_barrier(sycl::ext::oneapi::this_work_item::get_work_group<1>()); }

/// Memory that a group of work items shares. (The compiler of 2026.2 crashes on the older
/// group_local_memory.)
template <typename T>
using local_memory = sycl::ext::oneapi::experimental::work_group_static<T>;

/// The word that a work item has of a batch of limbs.
template <typename ItemT>
struct position {
  const ItemT& item;
  std::size_t j;
  explicit position(const batch<ItemT>& of)
      : item(of.items[global_id() >> of.log_n]), j(global_id() & ((std::size_t{1} << of.log_n) - 1)) {}
};

/// Terms of a sum of products that one reduction takes: four products of residues stay below q 2^w.
inline constexpr std::uint32_t terms_per_reduction = 4;

/// sum mod q for a sum of at most `terms_per_reduction` products of residues.
inline word reduce_sum(wide sum, const modulus& q) {
  const word once = arith::montgomery_reduce<word>(sum, q);
  return arith::montgomery_reduce<word>(static_cast<wide>(once) * q.r2, q);
}

}  // namespace halocline::sycl_kernels
