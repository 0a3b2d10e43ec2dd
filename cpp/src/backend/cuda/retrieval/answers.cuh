// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cuda/retrieval/array_maps.cuh"

/// Bodies of the kernels between polynomials and bytes: rounding of answers, plaintexts from records.
namespace halocline::backend::cuda {

/// floor(y 2^64 / q) for y = x * inverse mod q: with 2^64 = whole q + rest that is y whole + floor(y rest /
/// q).
[[nodiscard]] HALOCLINE_HOST_DEVICE inline std::uint64_t fraction_of(std::uint32_t x, const round_prime& of) {
  const std::uint32_t y = reduce_once(mul_lazy(x, of.inverse, of.inverse_quotient, of.q), of.q);
  const std::uint32_t estimate = mul_high(y, of.rest_quotient);  // exact, or one too small
  const std::uint32_t left = y * of.rest - estimate * of.q;
  return y * of.whole + estimate + (left >= of.q ? 1 : 0);
}

/// A thread rounds four coefficients of one component.
HALOCLINE_HOST_DEVICE inline void round_body(const round_params& p, const coordinates& at) {
  const round_item& job = p.items[at.block_y];
  const array_place place(at, p.log_n, 2);  // the "limb" is the component
  if (place.entry >= job.count) return;
  const std::uint32_t bits = job.bits[place.limb];
  const std::uint32_t* src = job.src.at(place.entry) + place.offset(p.log_n, place.limb * p.limbs);
  std::uint64_t sum[words4::size];
  HALOCLINE_UNROLL
  for (auto& each : sum) each = std::uint64_t{1} << (63 - bits);
  for (std::uint32_t l = 0; l < p.limbs; ++l) {
    const words4 x = load4(src + (static_cast<std::size_t>(l) << p.log_n));
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < words4::size; ++i) sum[i] += fraction_of(x.word[i], p.primes[l]);
  }
  std::uint64_t* const dst = job.dst + ((std::size_t{2} * place.entry + place.limb) << p.log_n) + place.word;
  HALOCLINE_UNROLL
  for (unsigned i = 0; i < words4::size; i += 2) {
    const pack<std::uint64_t> pair = {{sum[i] >> (64 - bits), sum[i + 1] >> (64 - bits)}};
    store<std::uint64_t>(dst + i, pair, make_policy(cache_hint::normal));
  }
}

/// Bytes [begin, end) of memory as little-endian words of 32 bits at aligned addresses; bytes outside are 0.
struct byte_range {
  const std::uint8_t* begin;
  const std::uint8_t* end;

  [[nodiscard]] HALOCLINE_HOST_DEVICE std::uint32_t word(const std::uint8_t* at) const {
    if (at >= begin && at + 4 <= end) return *reinterpret_cast<const std::uint32_t*>(at);
    std::uint32_t value = 0;
    for (unsigned i = 0; i < 4; ++i) {
      if (at + i >= begin && at + i < end) value |= std::uint32_t{at[i]} << (8 * i);
    }
    return value;
  }
};

/// Four values of `bits` bits from value number `first` on.
[[nodiscard]] HALOCLINE_HOST_DEVICE inline words4 unpack_values(const byte_range& bytes, std::uint32_t first,
                                                                std::uint32_t bits) {
  // 32-bit words of memory from the one that holds the first byte on.
  const auto skew = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(bytes.begin) & 3);
  const std::uint8_t* const base = bytes.begin - skew;
  words4 values;
  HALOCLINE_UNROLL
  for (unsigned i = 0; i < words4::size; ++i) {
    const std::uint64_t bit = std::uint64_t{first + i} * bits + 8 * skew;
    const std::uint8_t* const at = base + bit / 32 * 4;
    const auto shift = static_cast<unsigned>(bit % 32);
    std::uint64_t window = bytes.word(at);
    if (shift + bits > 32) window |= std::uint64_t{bytes.word(at + 4)} << 32;
    values.word[i] = static_cast<std::uint32_t>((window >> shift) & ((std::uint64_t{1} << bits) - 1));
  }
  return values;
}

/// A thread makes four coefficients modulo all primes.
HALOCLINE_HOST_DEVICE inline void unpack_body(const unpack_params& p, const coordinates& at) {
  const unpack_item& job = p.items[at.block_y];
  const array_place place(at, p.log_n, 1);
  if (place.entry >= job.count) return;
  const std::uint8_t* const src = job.src + place.entry * job.stride;
  const words4 value = unpack_values({src, src + job.bytes}, place.word, job.bits);
  const std::uint32_t half = 1U << (job.bits - 1);
  std::uint32_t* const dst = job.dst.at(place.entry);
  for (std::uint32_t l = 0; l < p.limbs; ++l) {
    const array_factor factor = p.factors[job.factors + l];
    const std::uint32_t q = p.moduli[l].value;
    words4 result;
    HALOCLINE_UNROLL
    for (unsigned i = 0; i < words4::size; ++i) {
      const std::uint32_t product = reduce_once(mul_lazy(value.word[i], factor.value, factor.quotient, q), q);
      // From `half` on values stand for themselves less 2^bits.
      const std::uint32_t below = value.word[i] >= half ? q - factor.offset : 0;
      result.word[i] = reduce_once(product + below, q);
    }
    store4(dst + place.offset(p.log_n, l), result);
  }
}

}  // namespace halocline::backend::cuda
