// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "backend/cuda/device/resolve.hpp"
#include "backend/cuda/elementwise/elementwise.cuh"
#include "backend/cuda/elementwise/elementwise_products.cuh"

/// From batches of jobs to parameter blocks of elementwise kernels. `emit(params, limbs)` launches one block
/// of parameters; `limbs` is the second dimension of the grid.
namespace halocline::backend::cuda {

/// Grid of a kernel whose threads handle `units` units of `per_thread` each.
struct launch_shape {
  std::uint32_t blocks;
  std::uint32_t threads;
};
[[nodiscard]] inline launch_shape shape_of(std::uint32_t units, std::uint32_t per_thread,
                                           std::uint32_t max_threads) {
  const std::uint32_t needed = (units + per_thread - 1) / per_thread;
  const std::uint32_t threads = std::min(max_threads, (needed + 31) / 32 * 32);
  return {(needed + threads - 1) / threads, threads};
}

/// Collects jobs into parameter blocks and emits each block that is full.
template <typename ParamsT, typename EmitT>
class job_packer {
 public:
  job_packer(const ParamsT& empty, const EmitT& emit) : empty_(empty), params_(empty), emit_(emit) {}

  /// Adds a job of `rows` rows of the grid, after emitting what is there when the block is full.
  void add(const typename ParamsT::job& job, std::uint32_t rows) {
    if (params_.jobs.add(job, rows)) return;
    flush();
    params_.jobs.add(job, rows);
  }
  /// The block that the next job joins.
  [[nodiscard]] ParamsT& params() noexcept { return params_; }
  void flush() {
    if (params_.jobs.jobs == 0) return;
    emit_(params_, params_.jobs.limbs);
    params_ = empty_;
  }

 private:
  ParamsT empty_;
  ParamsT params_;
  const EmitT& emit_;
};

/// Plans an operation without constants: `sources_of(job, source)` is the view of an operand.
template <typename ParamsT, typename JobT, typename DstT, typename SourceT, typename EmitT>
void plan_map(const resolver<typename ParamsT::word>& resolve, map_hints hints, std::span<const JobT> jobs,
              const DstT& dst_of, const SourceT& source_of, const EmitT& emit) {
  ParamsT empty;
  empty.moduli = resolve.moduli();
  empty.words = static_cast<std::uint32_t>(resolve.n());
  empty.hints = hints;
  job_packer<ParamsT, EmitT> packer(empty, emit);
  for (const JobT& each : jobs) {
    const limb_view& dst = dst_of(each);
    typename ParamsT::job job{resolve.limb(dst), {}, dst.primes.first};
    for (unsigned s = 0; s != ParamsT::sources; ++s) job.src[s] = resolve.limb(source_of(each, s));
    packer.add(job, dst.primes.count);
  }
  packer.flush();
}

/// Plans an operation with constants: `constants_of(job, limb, prime)`. Long jobs are cut.
template <typename ParamsT, typename JobT, typename SourceT, typename ConstantsT, typename EmitT>
void plan_map_constants(const resolver<typename ParamsT::word>& resolve, map_hints hints,
                        std::span<const JobT> jobs, const SourceT& source_of, const ConstantsT& constants_of,
                        const EmitT& emit) {
  ParamsT empty;
  empty.moduli = resolve.moduli();
  empty.words = static_cast<std::uint32_t>(resolve.n());
  empty.hints = hints;
  job_packer<ParamsT, EmitT> packer(empty, emit);
  for (const JobT& each : jobs) {
    for (std::uint32_t done = 0; done < each.dst.primes.count;) {
      if (packer.params().jobs.limbs == map_constant_limbs || packer.params().jobs.jobs == map_jobs)
        packer.flush();
      const std::uint32_t begin = packer.params().jobs.limbs;
      const std::uint32_t count = std::min(map_constant_limbs - begin, each.dst.primes.count - done);
      typename ParamsT::job job{resolve.limb(each.dst, done), {}, each.dst.primes.first + done};
      for (unsigned s = 0; s != ParamsT::sources; ++s) job.src[s] = resolve.limb(source_of(each, s), done);
      packer.add(job, count);
      for (std::uint32_t i = 0; i < count; ++i) {
        packer.params().constants[begin + i] =
            constants_of(each, done + i, resolve.ring().primes[each.dst.primes.first + done + i]);
      }
      done += count;
    }
  }
  packer.flush();
}

/// floor(factor * 2^wordbits / q), on the host.
template <typename WordT>
[[nodiscard]] WordT quotient_of(std::uint64_t factor, std::uint64_t q) {
  return static_cast<WordT>((static_cast<double_word<WordT>>(factor) << (8 * sizeof(WordT))) / q);
}

template <typename WordT, typename EmitT>
void plan_tensor(const resolver<WordT>& resolve, map_hints hints, std::span<const tensor_job> jobs,
                 const EmitT& emit) {
  using params = tensor_params<WordT>;
  params empty;
  empty.moduli = resolve.moduli();
  empty.words = static_cast<std::uint32_t>(resolve.n());
  empty.hints = hints;
  job_packer<params, EmitT> packer(empty, emit);
  for (const tensor_job& each : jobs) {
    packer.add({{resolve.limb(each.d0), resolve.limb(each.d1), resolve.limb(each.d2)},
                {resolve.limb(each.a0), resolve.limb(each.a1), resolve.limb(each.b0), resolve.limb(each.b1)},
                each.d0.primes.first},
               each.d0.primes.count);
  }
  packer.flush();
}

/// Plans copies to repeated views; the others are left to `run_unary`.
template <typename WordT, typename EmitT>
void plan_keep(const resolver<WordT>& resolve, std::span<const unary_job> jobs, const EmitT& emit) {
  keep_params<WordT> empty;
  empty.words = static_cast<std::uint32_t>(resolve.n());
  job_packer<keep_params<WordT>, EmitT> packer(empty, emit);
  for (const unary_job& each : jobs) {
    if (each.dst.log_repeat == 0) continue;
    packer.add({resolve.limb(each.dst), resolve.limb(each.src), each.dst.log_repeat}, each.dst.primes.count);
  }
  packer.flush();
}

template <typename WordT, typename EmitT>
void plan_automorphism(const resolver<WordT>& resolve, map_hints hints,
                       std::span<const automorphism_job> jobs, const EmitT& emit) {
  using params = automorphism_params<WordT>;
  params empty;
  empty.words = static_cast<std::uint32_t>(resolve.n());
  empty.hints = hints;
  job_packer<params, EmitT> packer(empty, emit);
  for (const automorphism_job& each : jobs) {
    const std::uint32_t limbs = each.dst.primes.count;
    packer.add({resolve.limb(each.dst), resolve.limb(each.src),
                resolve.template raw<std::uint32_t>(*each.permutation), limbs},
               (limbs + automorphism_limbs - 1) / automorphism_limbs);
  }
  packer.flush();
}

template <typename WordT, typename EmitT>
void plan_shift(const resolver<WordT>& resolve, std::span<const shift_job> jobs, const EmitT& emit) {
  shift_params<WordT> empty;
  empty.moduli = resolve.moduli();
  empty.words = static_cast<std::uint32_t>(resolve.n());
  job_packer<shift_params<WordT>, EmitT> packer(empty, emit);
  for (const shift_job& each : jobs) {
    const window primes = each.dst.primes;
    packer.add({resolve.limb(each.dst), resolve.limb(each.src), each.exponent, primes.count, primes.first},
               (primes.count + automorphism_limbs - 1) / automorphism_limbs);
  }
  packer.flush();
}

}  // namespace halocline::backend::cuda
