// SPDX-License-Identifier: Apache-2.0
#include "backend/sycl/executor.hpp"

namespace halocline::backend::sycl {
namespace {

using sycl_kernels::dot_item;
using sycl_kernels::dot_term;
using sycl_kernels::element_item;
using sycl_kernels::tensor_item;

/// Kernels of single operations, as template arguments.
enum class kernel : std::uint8_t { add, sub, multiply, multiply_add, scalar_multiply, scalar_add };

constexpr std::string_view name_of(kernel of) {
  constexpr std::string_view names[] = {"add",       "sub", "multiply", "multiply_add", "scalar_multiply",
                                        "scalar_add"};
  return names[static_cast<std::size_t>(of)];
}

/// An item for limb `limb` of a job with a destination and one source.
template <typename WordT, typename JobT>
element_item<WordT> unary_item(const executor<WordT>& on, const JobT& job, std::uint32_t limb) {
  element_item<WordT> made{};
  made.dst = on.limb(job.dst, limb);
  made.a = on.limb(job.src, limb);
  made.q = on.modulus(job.dst.primes.first + limb);
  return made;
}

/// Items for all limbs of all jobs.
template <typename ItemT, typename JobT, typename MakeT>
std::vector<ItemT> items_of(std::span<const JobT> jobs, limb_view JobT::*view, const MakeT& make) {
  std::vector<ItemT> items;
  for (const JobT& job : jobs) {
    for (std::uint32_t limb = 0; limb < (job.*view).primes.count; ++limb) items.push_back(make(job, limb));
  }
  return items;
}

template <typename WordT, kernel Kernel>
void binary(const executor<WordT>& on, std::span<const binary_job> jobs) {
  const auto make = [&](const binary_job& job, std::uint32_t limb) {
    element_item<WordT> made{};
    made.dst = on.limb(job.dst, limb);
    made.a = on.limb(job.a, limb);
    made.b = on.limb(job.b, limb);
    made.q = on.modulus(job.dst.primes.first + limb);
    return made;
  };
  on.launch_words(name_of(Kernel), items_of<element_item<WordT>>(jobs, &binary_job::dst, make), on.log_n());
}

template <typename WordT>
void negate(const executor<WordT>& on, std::span<const unary_job> jobs) {
  const auto make = [&](const unary_job& job, std::uint32_t limb) { return unary_item(on, job, limb); };
  on.launch_words("negate", items_of<element_item<WordT>>(jobs, &unary_job::dst, make), on.log_n());
}

template <typename WordT>
void copy(const executor<WordT>& on, std::span<const unary_job> jobs) {
  const auto make = [&](const unary_job& job, std::uint32_t limb) {
    element_item<WordT> made{};
    made.dst = on.limb(job.dst, limb);
    made.a = on.limb(job.src, limb);
    made.place = job.dst.log_repeat;
    return made;
  };
  on.launch_words("copy", items_of<element_item<WordT>>(jobs, &unary_job::dst, make), on.log_n());
}

template <typename WordT>
void set_zero(const executor<WordT>& on, std::span<const limb_view> views) {
  std::vector<element_item<WordT>> items;
  for (const limb_view& view : views) {
    for (std::uint32_t limb = 0; limb < view.primes.count; ++limb) {
      element_item<WordT> made{};
      made.dst = on.limb(view, limb);
      items.push_back(made);
    }
  }
  on.launch_words("set_zero", items, on.log_n());
}

template <typename WordT, kernel Kernel>
void scalar(const executor<WordT>& on, std::span<const scalar_job> jobs) {
  const auto make = [&](const scalar_job& job, std::uint32_t limb) {
    element_item<WordT> made = unary_item(on, job, limb);
    made.low = static_cast<WordT>(job.scalars[limb].low);
    made.high = static_cast<WordT>(job.scalars[limb].high);
    return made;
  };
  on.launch_words(name_of(Kernel), items_of<element_item<WordT>>(jobs, &scalar_job::dst, make), on.log_n());
}

template <typename WordT>
void dot(const executor<WordT>& on, std::span<const dot_job> jobs) {
  const auto make = [&](const dot_job& job, std::uint32_t limb) {
    std::vector<dot_term<WordT>> terms;
    for (std::size_t t = 0; t < job.a.size(); ++t) {
      terms.push_back({on.limb(job.a[t], limb), on.limb(job.b[t], limb), job.b[t].log_repeat});
    }
    return dot_item<WordT>{on.limb(job.dst, limb), on.put(terms), on.modulus(job.dst.primes.first + limb),
                           static_cast<std::uint32_t>(terms.size()), job.accumulate ? 1U : 0U};
  };
  on.launch_words("dot", items_of<dot_item<WordT>>(jobs, &dot_job::dst, make), on.log_n());
}

template <typename WordT>
void tensor(const executor<WordT>& on, std::span<const tensor_job> jobs) {
  const auto make = [&](const tensor_job& job, std::uint32_t limb) {
    return tensor_item<WordT>{{on.limb(job.d0, limb), on.limb(job.d1, limb), on.limb(job.d2, limb)},
                              {on.limb(job.a0, limb), on.limb(job.a1, limb)},
                              {on.limb(job.b0, limb), on.limb(job.b1, limb)},
                              on.modulus(job.d0.primes.first + limb)};
  };
  on.launch_words("tensor", items_of<tensor_item<WordT>>(jobs, &tensor_job::d0, make), on.log_n());
}

template <typename WordT>
void automorphism(const executor<WordT>& on, std::span<const automorphism_job> jobs) {
  const auto make = [&](const automorphism_job& job, std::uint32_t limb) {
    element_item<WordT> made{};
    made.dst = on.limb(job.dst, limb);
    made.a = on.limb(job.src, limb);
    made.permutation = on.template raw<std::uint32_t>(*job.permutation);
    return made;
  };
  on.launch_words("automorphism", items_of<element_item<WordT>>(jobs, &automorphism_job::dst, make),
                  on.log_n());
}

template <typename WordT>
void negacyclic_shift(const executor<WordT>& on, std::span<const shift_job> jobs) {
  const auto make = [&](const shift_job& job, std::uint32_t limb) {
    element_item<WordT> made = unary_item(on, job, limb);
    made.place = job.exponent;
    return made;
  };
  on.launch_words("negacyclic_shift", items_of<element_item<WordT>>(jobs, &shift_job::dst, make), on.log_n());
}

}  // namespace

template <typename WordT>
void run_linear_combine(const executor<WordT>& on, std::span<const linear_job> jobs) {
  const auto make = [&](const linear_job& job, std::uint32_t limb) {
    element_item<WordT> made{};
    made.dst = on.limb(job.dst, limb);
    made.a = on.limb(job.a, limb);
    made.b = on.limb(job.b, limb);
    made.q = on.modulus(job.dst.primes.first + limb);
    made.low = static_cast<WordT>(job.factor_a[limb]);
    made.high = static_cast<WordT>(job.factor_b[limb]);
    return made;
  };
  on.launch_words("linear_combine", items_of<element_item<WordT>>(jobs, &linear_job::dst, make), on.log_n());
}

template <typename WordT>
op_table<executor<WordT>> elementwise_operations() {
  return op_table<executor<WordT>>{
      row<binary<WordT, kernel::add>>(ops::add),
      row<binary<WordT, kernel::sub>>(ops::sub),
      row<negate<WordT>>(ops::negate),
      row<binary<WordT, kernel::multiply>>(ops::multiply),
      row<binary<WordT, kernel::multiply_add>>(ops::multiply_add),
      row<dot<WordT>>(ops::dot),
      row<tensor<WordT>>(ops::tensor),
      row<scalar<WordT, kernel::scalar_multiply>>(ops::scalar_multiply),
      row<scalar<WordT, kernel::scalar_add>>(ops::scalar_add),
      row<run_linear_combine<WordT>>(ops::linear_combine),
      row<automorphism<WordT>>(ops::automorphism),
      row<negacyclic_shift<WordT>>(ops::negacyclic_shift),
      row<copy<WordT>>(ops::copy),
      row<set_zero<WordT>>(ops::set_zero),
  };
}

template op_table<executor<std::uint32_t>> elementwise_operations();
template op_table<executor<std::uint64_t>> elementwise_operations();
template void run_linear_combine(const executor<std::uint32_t>&, std::span<const linear_job>);
template void run_linear_combine(const executor<std::uint64_t>&, std::span<const linear_job>);

}  // namespace halocline::backend::sycl
