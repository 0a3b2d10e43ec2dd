// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "backend/cpu/kernel_set.hpp"
#include "backend/cpu/parallel.hpp"
#include "backend/cpu/resolve.hpp"
#include "halocline/backend/key_jobs.hpp"

/// Batches to kernels: flattens every batch into independent items (a limb, or a chunk of one), resolves
/// pointers up front and runs the items in one parallel loop.
namespace halocline::backend::cpu {

/// Words of a limb that one item of an elementwise batch covers: small enough to share a few limbs evenly
/// among threads, large enough that an item costs microseconds.
inline constexpr std::size_t chunk_words = std::size_t{1} << 13;

/// Runs batches of one word type on one kernel table.
template <typename WordT>
class executor {
 public:
  executor(const kernel_set<WordT>& kernels, worker_pool& pool, const ring_tables& ring,
           const memory::access& at)
      : kernels_(kernels), pool_(pool), resolve_(ring, at) {}

  using transform = void (*)(WordT*, const WordT*, const prime_tables<WordT>&);
  using binary = void (*)(WordT*, const WordT*, const WordT*, std::size_t, const arith::modulus<WordT>&);
  using scalar = void (*)(WordT*, const WordT*, WordT, std::size_t, const arith::modulus<WordT>&);

  void run_transform(transform kernel, std::span<const unary_job> jobs) const;
  void run_binary(binary kernel, std::span<const binary_job> jobs) const;
  void run_negate(std::span<const unary_job> jobs) const;
  void run_copy(std::span<const unary_job> jobs) const;
  void run_zero(std::span<const limb_view> views) const;
  /// `half_kernel` runs once per half of each limb with that half's constant.
  void run_scalar(scalar half_kernel, std::span<const scalar_job> jobs) const;
  void run_linear_combine(std::span<const linear_job> jobs) const;
  void run_ntt_linear_combine(std::span<const linear_job> jobs) const;
  void run_dot(std::span<const dot_job> jobs) const;
  void run_tensor(std::span<const tensor_job> jobs) const;
  void run_automorphism(std::span<const automorphism_job> jobs) const;
  void run_base_convert(std::span<const convert_job> jobs) const;
  void run_key_multiply_accumulate(std::span<const key_job> jobs) const;
  [[nodiscard]] key_addend<WordT> addend_of(const key_job& job, std::uint32_t limb,
                                            std::uint32_t prime) const;
  void run_encode_expand(std::span<const encode_job> jobs) const;
  void encode_range(WordT* limb, const encode_job& job, word_range range,
                    const arith::modulus<WordT>& q) const;
  void run_sample_uniform(std::span<const uniform_job> jobs) const;

 private:
  /// A conversion of limbs, with pointers.
  struct resolved_conversion {
    conversion<WordT> constants;
    std::vector<const arith::modulus<WordT>*> moduli;  // of the sources, then of the targets
    std::vector<const WordT*> src;
    std::vector<WordT*> dst;
  };
  /// To `dst`, the targets of the table from number `first` on.
  [[nodiscard]] resolved_conversion resolve_conversion(const conversion_table& table,
                                                       std::span<const limb_view> src,
                                                       std::span<const limb_view> dst,
                                                       std::uint32_t first) const;
  void run_conversions(std::span<const resolved_conversion> work) const;
  void keep_repeated(const unary_job& job, std::uint32_t limb, word_range range) const;
  /// One limb of one job.
  template <typename JobT>
  struct item {
    const JobT* job;
    std::uint32_t limb;   ///< number within the view
    std::uint32_t prime;  ///< index in the ring
  };
  template <typename JobT, typename ViewT>
  [[nodiscard]] static std::vector<item<JobT>> flatten(std::span<const JobT> jobs, ViewT JobT::*view);
  template <typename JobT, typename BodyT>
  void for_each_limb(std::span<const JobT> jobs, limb_view JobT::*view, std::size_t weight,
                     const BodyT& body) const;
  template <typename JobT, typename BodyT>
  void for_each_chunk(std::span<const JobT> jobs, limb_view JobT::*view, std::size_t weight,
                      const BodyT& body) const;

  const kernel_set<WordT>& kernels_;
  worker_pool& pool_;
  resolver<WordT> resolve_;
};

extern template class executor<std::uint32_t>;
extern template class executor<std::uint64_t>;

}  // namespace halocline::backend::cpu
