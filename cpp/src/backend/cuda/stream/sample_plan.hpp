// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "backend/cuda/elementwise/elementwise_plan.hpp"
#include "backend/cuda/stream/sample.cuh"

namespace halocline::backend::cuda {

template <typename WordT, typename EmitT>
void plan_encode(const resolver<WordT>& resolve, std::span<const encode_job> jobs, const EmitT& emit) {
  using params = encode_params<WordT>;
  params empty;
  empty.moduli = resolve.moduli();
  empty.words = static_cast<std::uint32_t>(resolve.n());
  job_packer<params, EmitT> packer(empty, emit);
  for (const encode_job& each : jobs) {
    const std::uint32_t limbs = each.dst.primes.count;
    packer.add({resolve.limb(each.dst), resolve.template raw<std::uint64_t>(*each.coefficients),
                each.dst.primes.first, limbs, each.words, each.log_stride},
               (limbs + encode_limbs - 1) / encode_limbs);
  }
  packer.flush();
}

/// Plans uniform residues. Jobs of different rules are in separate launches.
template <typename WordT, typename EmitT>
void plan_sample(const resolver<WordT>& resolve, std::span<const uniform_job> jobs, const EmitT& emit) {
  using params = sample_params<WordT>;
  params empty;
  empty.moduli = resolve.moduli();
  empty.words = static_cast<std::uint32_t>(resolve.n());
  job_packer<params, EmitT> packer(empty, emit);
  for (const uniform_job& each : jobs) {
    if (packer.params().rule != each.source.rule || packer.params().jobs.jobs == sample_jobs) packer.flush();
    packer.params().rule = each.source.rule;
    packer.add({resolve.limb(each.dst), arith::make_chacha_key(each.source.seed.data()), each.source.stream,
                each.dst.primes.first},
               each.dst.primes.count);
  }
  packer.flush();
}

}  // namespace halocline::backend::cuda
