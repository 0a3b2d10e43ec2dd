// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/device/arith.cuh"
#include "backend/cuda/retrieval/fused_params.hpp"

/// In front of loops with long bodies.
#if defined(__CUDA_ARCH__)
#define HALOCLINE_NO_UNROLL _Pragma("unroll 1")
#else
#define HALOCLINE_NO_UNROLL
#endif

/// The block of a fused kernel: where it is, and its shared memory.
///
/// Code between two barriers is a function of a thread and its registers; a *team* calls it for all threads
/// of the block. On a device a thread calls it for itself; a test on the host calls it for one thread after
/// the other. `each` ends with a barrier, `each_alone` does not: what follows must not touch shared memory
/// that other threads still use.
namespace halocline::backend::cuda {

/// Registers of a thread. Sums are those of the chunks that the thread moves (`ntt_thread::moved_chunk`).
template <typename ShapeT>
struct fused_state {
  std::uint32_t x[ShapeT::size];
  std::uint64_t sum[2][ShapeT::size];
};

/// A limb and its prime, in registers: what is read from memory is read again behind every barrier.
struct fused_limb {
  std::uint32_t number;
  modulus<std::uint32_t> q;
};

/// A block and what it works on.
template <typename ShapeT>
struct fused_block {
  using chunk_type = chunk<std::uint32_t>;
  using state = fused_state<ShapeT>;

  const fused_params& p;
  const fused_job& job;
  std::uint32_t node;          ///< of the job
  std::uint32_t first_target;  ///< limb
  std::int32_t* coefficients;  ///< [component][limb][word of the thread][thread]
  std::uint32_t* exchange;     ///< words of transforms, padded
  std::uint32_t* results;      ///< transformed words
  std::uint32_t* twiddles;     ///< quotients of the target's twiddles (see `quotients_suffice`)
  std::uint32_t* rows;         ///< both components of a row, for the target
  std::uint32_t* inner;        ///< a ciphertext of a subtree (`fused_params::inner`)

  [[nodiscard]] HALOCLINE_HOST_DEVICE unsigned log_n() const { return ShapeT::k != 0 ? ShapeT::k : p.log_n; }
  [[nodiscard]] HALOCLINE_HOST_DEVICE std::uint32_t threads() const { return 1U << (log_n() - ShapeT::e); }
  /// Words before limb `limb` of component `component` of a ciphertext.
  [[nodiscard]] HALOCLINE_HOST_DEVICE std::size_t offset(std::uint32_t component, std::uint32_t limb) const {
    return static_cast<std::size_t>(component * p.limbs + limb) << log_n();
  }
  [[nodiscard]] HALOCLINE_HOST_DEVICE fused_limb limb(std::uint32_t number) const {
    return {number, p.moduli[number]};
  }
  /// Table of a prime in device memory.
  template <bool inverse>
  [[nodiscard]] HALOCLINE_HOST_DEVICE twiddle_table<std::uint32_t> table(const fused_limb& of) const {
    const std::uint32_t* const roots =
        p.roots + ((static_cast<std::size_t>(of.number) * 4 + (inverse ? 2 : 0)) << log_n());
    return {roots, roots + (std::size_t{1} << log_n()), of.q.value, lazy_bound(of.q.value)};
  }
  /// Whether exchanges are swizzled, for which sizes must be known.
  static constexpr bool swizzled = ShapeT::e == 3 && ShapeT::k >= 8;
  /// Thread of an inverse transform whose words pass through `shared`.
  [[nodiscard]] HALOCLINE_HOST_DEVICE ntt_thread<std::uint32_t, ShapeT::e, ShapeT::k, false, swizzled>
  inverse(std::uint32_t thread, const fused_limb& of, std::uint32_t* shared) const {
    return {table<true>(of), nullptr, nullptr, shared, 1, thread, log_n(), 0, 0};
  }
  /// Thread of a forward transform modulo the prime whose twiddles are there.
  [[nodiscard]] HALOCLINE_HOST_DEVICE
      ntt_thread<std::uint32_t, ShapeT::e, ShapeT::k, ShapeT::staged, swizzled>
      forward(std::uint32_t thread, const fused_limb& of, std::uint32_t* shared) const {
    if constexpr (ShapeT::staged) {
      const std::uint32_t q = of.q.value;
      return {{nullptr, twiddles, q, lazy_bound(q)}, nullptr, nullptr, shared, 1, thread, log_n(), 0, 0};
    } else {
      return {table<false>(of), nullptr, nullptr, shared, 1, thread, log_n(), 0, 0};
    }
  }
  /// Number of the i-th chunk of a limb that a thread moves.
  [[nodiscard]] HALOCLINE_HOST_DEVICE std::uint32_t moved_chunk(std::uint32_t thread, unsigned i) const {
    return (i << (log_n() - ShapeT::e)) | thread;
  }
  /// A thread's coefficients of a limb: word i is `threads()` after word i - 1.
  [[nodiscard]] HALOCLINE_HOST_DEVICE std::int32_t* coefficients_of(std::uint32_t thread,
                                                                    std::uint32_t component,
                                                                    std::uint32_t limb) const {
    return coefficients + offset(component, limb) + thread;
  }
};

/// The block with number `block` of a launch, whose shared memory begins at `shared`.
template <typename ShapeT>
[[nodiscard]] HALOCLINE_HOST_DEVICE inline fused_block<ShapeT> fused_find(const fused_params& p,
                                                                          std::uint32_t block,
                                                                          std::uint32_t* shared) {
  const unsigned log_n = ShapeT::k != 0 ? ShapeT::k : p.log_n;
  const std::uint32_t parts = p.limbs / p.targets, node = block / parts;
  const fused_job& job = p.job[p.find(node)];
  std::uint32_t* const exchange = shared + fused_coefficient_words(ShapeT::components, p.limbs, log_n);
  std::uint32_t* const results = exchange + exchange_words(log_n, ShapeT::e);
  return {p,
          job,
          node - job.begin,
          block % parts * p.targets,
          reinterpret_cast<std::int32_t*>(shared),
          exchange,
          results,
          results + (1U << log_n),
          results + (2U << log_n),
          results + ((ShapeT::staged ? 4U : 1U) << log_n)};
}

}  // namespace halocline::backend::cuda
