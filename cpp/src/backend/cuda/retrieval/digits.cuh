// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/retrieval/array_maps.cuh"

/// Body of the kernel that splits residues into digits.
namespace halocline::backend::cuda {

/// The digits of residues, taken from the least significant one on.
struct digit_walk {
  std::int32_t left[words4::size];

  HALOCLINE_HOST_DEVICE digit_walk(const words4& x, std::uint32_t q) {
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < words4::size; ++i)
      left[i] = static_cast<std::int32_t>(x.word[i] > q / 2 ? x.word[i] - q : x.word[i]);
  }
  /// The next digit of each residue; the last one is what is left.
  HALOCLINE_HOST_DEVICE void next(std::int32_t (&digit)[words4::size], std::uint32_t bits, bool last) {
    const auto half = static_cast<std::int32_t>(1U << (bits - 1));
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < words4::size; ++i) {
      digit[i] = last ? left[i] : ((left[i] + half) & (2 * half - 1)) - half;
      left[i] = (left[i] - digit[i]) >> bits;
    }
  }
};

/// A thread splits four residues modulo one prime and writes all their digits modulo all primes.
HALOCLINE_HOST_DEVICE inline void split_body(const split_params& p, const coordinates& at) {
  const split_item& job = p.items[at.block_y];
  const array_place place(at, p.log_n, p.limbs);
  if (place.entry >= job.count) return;
  digit_walk walk(load4(job.src.at(place.entry) + place.offset(p.log_n)), p.primes[place.limb]);
  const std::uint64_t first = (std::uint64_t{place.entry} * p.limbs + place.limb) * job.digits;
  for (std::uint32_t k = 0; k < job.digits; ++k) {
    std::int32_t digit[words4::size];
    walk.next(digit, job.base_bits, k + 1 == job.digits);
    std::uint32_t* const dst = job.dst.at(first + k);
    for (std::uint32_t t = 0; t < p.limbs; ++t) {
      words4 result;
      HALOCLINE_UNROLL
      for (unsigned i = 0; i < words4::size; ++i) {
        // A negative digit is a large word, to which adding q makes it a small one.
        result.word[i] = reduce_once(static_cast<std::uint32_t>(digit[i]), 0U - p.primes[t]);
      }
      store4(dst + place.offset(p.log_n, t), result);
    }
  }
}

}  // namespace halocline::backend::cuda
