// SPDX-License-Identifier: Apache-2.0
// Specification of the operations of private retrieval.
#include <algorithm>

#include "backend/cpu/retrieval_kernels.hpp"
#include "halocline/arith/arith.hpp"

namespace halocline::backend::cpu {
namespace {

using word = std::uint32_t;
using mod = arith::modulus<word>;

/// Residue of an integer whose magnitude is below q.
word residue(std::int32_t x, const mod& q) {
  return x < 0 ? static_cast<word>(x + static_cast<std::int32_t>(q.value)) : static_cast<word>(x);
}

void split(word* dst, std::size_t stride, const split_source& from, std::size_t n) {
  const word own = from.q[from.prime].value;
  const unsigned bits = from.split.base_bits;
  const auto half = static_cast<std::int32_t>(1U << (bits - 1));
  for (std::size_t j = 0; j < n; ++j) {
    const word x = from.src[j];
    std::int32_t left = x > own / 2 ? static_cast<std::int32_t>(x) - static_cast<std::int32_t>(own)
                                    : static_cast<std::int32_t>(x);
    for (unsigned k = 0; k < from.split.digits; ++k) {
      std::int32_t digit = left;
      if (k + 1 < from.split.digits) {
        digit = ((left + half) & ((1 << bits) - 1)) - half;
        left = (left - digit) >> bits;
      }
      for (std::uint32_t t = 0; t < from.primes; ++t) {
        dst[k * stride + t * n + j] = residue(digit, from.q[t]);
      }
    }
  }
}

void product(word* const* dst, const product_term* terms, std::size_t count, const word* const* plus,
             const std::uint32_t* permutation, std::size_t n, const mod& q) {
  for (std::size_t j = 0; j < n; ++j) {
    const std::size_t i = permutation != nullptr ? permutation[j] : j;
    for (unsigned c = 0; c < 2; ++c) {
      word sum = plus[c] != nullptr ? plus[c][i] : 0;
      for (std::size_t r = 0; r < count; ++r) {
        const std::uint64_t term = std::uint64_t{terms[r].digit[i]} * terms[r].row[c][i];
        sum = arith::add_mod(sum, arith::montgomery_reduce<word>(term, q), q);
      }
      dst[c][j] = sum;
    }
  }
}

void children(word* even, word* odd, const word* src, const word* turned, const word* monomial, std::size_t n,
              const mod& q) {
  for (std::size_t j = 0; j < n; ++j) {
    const word difference = arith::sub_mod(src[j], turned[j], q);
    even[j] = arith::add_mod(src[j], turned[j], q);
    if (odd != nullptr) {
      odd[j] = arith::montgomery_reduce<word>(std::uint64_t{difference} * monomial[j], q);
    }
  }
}

void row_select(word* const* dst, const row_block& block, const mod& q) {
  for (std::uint32_t column = 0; column < block.columns; ++column) {
    for (unsigned c = 0; c < 2; ++c) {
      for (std::uint32_t j = 0; j < points_per_block; ++j) {
        word sum = 0;
        for (std::uint32_t r = 0; r < block.rows; ++r) {
          const word selector = block.selectors[(std::size_t{r} * 2 + c) * points_per_block + j];
          const word value = block.database[(std::size_t{column} * block.rows + r) * points_per_block + j];
          sum = arith::add_mod(sum, arith::montgomery_reduce<word>(std::uint64_t{selector} * value, q), q);
        }
        dst[2 * column + c][j] = sum;
      }
    }
  }
}

/// floor(y 2^64 / q) for y < q, by long division.
std::uint64_t fraction(word y, word q) {
  const std::uint64_t high = (std::uint64_t{y} << 32) / q;
  const std::uint64_t rest = (std::uint64_t{y} << 32) % q;
  return (high << 32) + (rest << 32) / q;
}

void round(std::uint64_t* dst, const word* const* src, const mod* q, const word* inverses,
           std::uint32_t primes, unsigned bits, std::size_t n) {
  for (std::size_t j = 0; j < n; ++j) {
    std::uint64_t sum = std::uint64_t{1} << (63 - bits);
    for (std::uint32_t l = 0; l < primes; ++l) {
      sum += fraction(arith::mul_mod(src[l][j], inverses[l], q[l]), q[l].value);
    }
    dst[j] = sum >> (64 - bits);
  }
}

void unpack(word* dst, const packed_plain& from, word factor, std::size_t n, const mod& q) {
  for (std::size_t j = 0; j < n; ++j) {
    const std::size_t first = j * from.bits / 8;
    std::uint64_t window = 0;
    for (std::size_t b = 0; b < 5 && first + b < from.count; ++b) {
      window |= std::uint64_t{from.bytes[first + b]} << (8 * b);
    }
    const std::uint64_t value = (window >> (j * from.bits % 8)) & ((std::uint64_t{1} << from.bits) - 1);
    const std::uint64_t half = std::uint64_t{1} << (from.bits - 1);
    const auto centred = static_cast<std::int64_t>(value) -
                         (value >= half ? static_cast<std::int64_t>(2 * half) : std::int64_t{0});
    dst[j] = arith::mul_mod(arith::signed_mod(centred, q), factor, q);
  }
}

}  // namespace

const retrieval_kernels& scalar_retrieval_kernels() {
  static constexpr retrieval_kernels table{split, product, children, row_select, round, unpack};
  return table;
}

}  // namespace halocline::backend::cpu
