// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/device/arith.cuh"
#include "backend/cuda/elementwise/elementwise_access.cuh"
#include "backend/cuda/ntt/ntt_words.cuh"
#include "backend/cuda/retrieval/retrieval_params.hpp"

/// Bodies of kernels that compute each word of an array from words of other arrays with the same number. A
/// thread computes four words.
namespace halocline::backend::cuda {

/// Four words of 32 bits.
using words4 = pack<std::uint32_t>;

/// Blocks of `threads` threads along x that cover `units` limbs.
[[nodiscard]] inline std::uint32_t blocks_of_limbs(std::uint64_t units, std::uint32_t log_n,
                                                   std::uint32_t threads) {
  const std::uint64_t packs = (units << log_n) / words4::size;
  return static_cast<std::uint32_t>((packs + threads - 1) / threads);
}

/// Place of a thread's four words in an array whose entries have `limbs` limbs.
struct array_place {
  std::uint32_t entry;
  std::uint32_t limb;  ///< of the entry
  std::uint32_t word;  ///< of the limb

  HALOCLINE_HOST_DEVICE array_place(const coordinates& at, std::uint32_t log_n, std::uint32_t limbs) {
    const std::uint32_t number = at.block_x * at.threads + at.thread;
    const std::uint32_t all = number >> (log_n - 2);
    entry = all / limbs;
    limb = all - entry * limbs;
    word = (number & ((1U << (log_n - 2)) - 1)) * words4::size;
  }
  /// In an entry: limb `number`, or that of the place.
  [[nodiscard]] HALOCLINE_HOST_DEVICE std::size_t offset(std::uint32_t log_n, std::uint32_t number) const {
    return (static_cast<std::size_t>(number) << log_n) + word;
  }
  [[nodiscard]] HALOCLINE_HOST_DEVICE std::size_t offset(std::uint32_t log_n) const {
    return offset(log_n, limb);
  }
  /// Prime of a limb of a ciphertext.
  [[nodiscard]] HALOCLINE_HOST_DEVICE std::uint32_t prime(std::uint32_t limbs) const {
    return limb < limbs ? limb : limb - limbs;
  }
};

/// Reads and writes that ask for nothing of the second-level cache.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline words4 load4(const std::uint32_t* from) {
  return load<std::uint32_t>(from, make_policy(cache_hint::normal));
}
HALOCLINE_HOST_DEVICE inline void store4(std::uint32_t* to, const words4& value) {
  store<std::uint32_t>(to, value, make_policy(cache_hint::normal));
}

HALOCLINE_HOST_DEVICE inline void array_sub_body(const array_sub_params& p, const coordinates& at) {
  const sub_item& job = p.items[at.block_y];
  const array_place place(at, p.log_n, 2 * p.limbs);
  if (place.entry >= job.count) return;
  const std::size_t offset = place.offset(p.log_n);
  const words4 a = load4(job.a.at(place.entry) + offset), b = load4(job.b.at(place.entry) + offset);
  const std::uint32_t q = p.moduli[place.prime(p.limbs)].value;
  words4 result;
  HALOCLINE_UNROLL
  for (unsigned i = 0; i < words4::size; ++i) result.word[i] = reduce_once(a.word[i] + q - b.word[i], q);
  store4(job.dst.at(place.entry) + offset, result);
}

HALOCLINE_HOST_DEVICE inline void array_scale_body(const array_scale_params& p, const coordinates& at) {
  const scale_item& job = p.items[at.block_y];
  const array_place place(at, p.log_n, 2 * p.limbs);
  if (place.entry >= job.count) return;
  const std::size_t offset = place.offset(p.log_n);
  words4 x = load4(job.src.at(place.entry) + offset);
  const std::uint32_t prime = place.prime(p.limbs), q = p.moduli[prime].value;
  const array_factor factor = p.factors[job.factors + prime];
  HALOCLINE_UNROLL
  for (unsigned i = 0; i < words4::size; ++i)
    x.word[i] = reduce_once(mul_lazy(x.word[i], factor.value, factor.quotient, q), q);
  store4(job.dst.at(place.entry) + offset, x);
}

HALOCLINE_HOST_DEVICE inline void children_body(const children_params& p, const coordinates& at) {
  const children_item& job = p.items[at.block_y];
  const array_place place(at, p.log_n, 2 * p.limbs);
  const std::uint32_t even = 2 * place.entry;
  if (place.entry > (job.children - 1) / 2) return;
  const std::size_t offset = place.offset(p.log_n);
  const std::uint32_t prime = place.prime(p.limbs);
  const words4 src = load4(job.src.at(place.entry) + offset);
  const words4 turned = load4(job.turned.at(place.entry) + offset);
  const modulus<std::uint32_t> q = p.moduli[prime];
  words4 result;
  HALOCLINE_UNROLL
  for (unsigned i = 0; i < words4::size; ++i)
    result.word[i] = reduce_once(src.word[i] + turned.word[i], q.value);
  store4(job.dst.at(even) + offset, result);
  if (even + 1 >= job.children) return;
  const words4 monomial = load4(job.monomial + place.offset(p.log_n, prime));
  HALOCLINE_UNROLL
  for (unsigned i = 0; i < words4::size; ++i) {
    // Below 2q times a residue: below q 2^32.
    const std::uint64_t product = std::uint64_t{src.word[i] + q.value - turned.word[i]} * monomial.word[i];
    result.word[i] = arith::montgomery_reduce<std::uint32_t>(product, q);
  }
  store4(job.dst.at(even + 1) + offset, result);
}

}  // namespace halocline::backend::cuda
