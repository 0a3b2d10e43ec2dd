// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>

#include "backend/cpu/client_kernels.hpp"
#include "backend/cpu/parallel.hpp"
#include "backend/cpu/resolve.hpp"

namespace halocline::backend::cpu {
namespace {

/// Coefficients that are lifted together; their digits stay in the first-level cache.
constexpr std::size_t batch = 256;

/// A resolved job.
template <typename WordT>
struct lifting {
  const lift_job* job;
  WordT* limbs;
  std::size_t n;
  std::size_t count;                    ///< limbs
  const arith::modulus<WordT>* moduli;  ///< of the first limb on
  const arith::elimination<WordT>* table;
  double* out;
};

/// Moves every `stride`-th coefficient of a limb to its front.
template <typename WordT>
void gather(WordT* limb, std::size_t count, std::size_t stride) {
  for (std::size_t c = 1; c < count; ++c) limb[c] = limb[c * stride];
}

/// Residues to digits in their place: coefficients [first, first + count) of gathered limbs, last prime
/// first.
template <typename WordT>
void make_digits(const lifting<WordT>& of, std::size_t first, std::size_t count) {
  const arith::elimination<WordT>* step = of.table;
  for (std::size_t i = 0; i < of.count; ++i) {
    const arith::modulus<WordT> q = of.moduli[of.count - 1 - i];
    WordT* const __restrict row = of.limbs + (of.count - 1 - i) * of.n + first;
    for (std::size_t j = 0; j < i; ++j, ++step) {
      const arith::elimination<WordT> by = *step;
      const WordT* const __restrict digit = of.limbs + (of.count - 1 - j) * of.n + first;
      for (std::size_t c = 0; c < count; ++c) row[c] = arith::eliminate(row[c], digit[c], by, q);
    }
    for (std::size_t c = 0; c < count; ++c) row[c] = arith::balanced_digit(row[c], q);
  }
}

/// Values of digits (Horner's rule), divided by the scale.
template <typename WordT>
void add_up(const lifting<WordT>& of, std::size_t first, std::size_t count) {
  double* const __restrict out = of.out + first;
  std::fill(out, out + count, 0.0);
  for (std::size_t i = of.count; i-- > 0;) {
    const WordT q = of.moduli[of.count - 1 - i].value;
    const WordT* const __restrict row = of.limbs + (of.count - 1 - i) * of.n + first;
    for (std::size_t c = 0; c < count; ++c) out[c] = arith::append_digit(out[c], row[c], q);
  }
  for (std::size_t c = 0; c < count; ++c) out[c] /= of.job->scale;
}

/// Coefficients [first, first + count). False when a top digit is not 0.
template <typename WordT>
bool lift_batch(const lifting<WordT>& of, std::size_t first, std::size_t count) {
  make_digits(of, first, count);
  add_up(of, first, count);
  const WordT* const top = of.limbs + first;
  return std::all_of(top, top + count, [](WordT digit) { return digit == 0; });
}

/// The definition.
template <typename WordT>
bool lift_each(const lifting<WordT>& of, std::size_t first, std::size_t count) {
  bool fits = true;
  for (std::size_t c = first; c < first + count; ++c) {
    WordT top = 0;
    of.out[c] = arith::lifted_coefficient(of.limbs + c * of.job->stride, of.n, of.count, of.moduli, of.table,
                                          of.job->scale, top);
    fits = fits && top == 0;
  }
  return fits;
}

}  // namespace

template <typename WordT>
void run_lift(const client_site& on, std::span<const lift_job> jobs) {
  const resolver<WordT> resolve(on.ring, on.at);
  for (const lift_job& job : jobs) {
    const lifting<WordT> of{
        &job,
        resolve.limb(job.src, 0),
        on.ring.n(),
        job.src.primes.count,
        &resolve.modulus(job.src.primes.first),
        job.table != nullptr ? resolve.template raw<arith::elimination<WordT>>(*job.table) : nullptr,
        reinterpret_cast<double*>(on.at.pointer(*job.dst))};
    if (!on.scalar && job.stride > 1) {
      parallel_for(on.pool, of.count, of.count * job.count,
                   [&](std::size_t i) { gather(of.limbs + i * of.n, job.count, job.stride); });
    }
    std::atomic<bool> fits = true;
    const std::size_t batches = (job.count + batch - 1) / batch;
    parallel_for(on.pool, batches, 8 * of.count * job.count, [&](std::size_t i) {
      const std::size_t first = i * batch;
      const std::size_t count = std::min<std::size_t>(batch, job.count - first);
      if (job.overflow != nullptr && !fits.load(std::memory_order_relaxed)) return;
      if (!(on.scalar ? lift_each(of, first, count) : lift_batch(of, first, count))) {
        fits.store(false, std::memory_order_relaxed);
      }
    });
    if (job.overflow != nullptr) {
      *reinterpret_cast<std::uint64_t*>(on.at.pointer(*job.overflow)) = fits ? 0 : 1;
    }
  }
}

template void run_lift<std::uint32_t>(const client_site&, std::span<const lift_job>);
template void run_lift<std::uint64_t>(const client_site&, std::span<const lift_job>);

}  // namespace halocline::backend::cpu
