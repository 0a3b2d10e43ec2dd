// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "halocline/arith/modulus.hpp"
#include "halocline/backend/retrieval_jobs.hpp"

/// Kernels of private retrieval: plain functions on 32-bit residues, one table for each instruction set.
namespace halocline::backend::cpu {

/// Digits of one row of a `digit_product`, and the row, on one limb.
struct product_term {
  const std::uint32_t* digit = nullptr;
  const std::uint32_t* row[2] = {nullptr, nullptr};  ///< Montgomery form
};

/// A limb of a `split_digits`.
struct split_source {
  const std::uint32_t* src = nullptr;
  std::uint32_t prime = 0;                           ///< of src
  const arith::modulus<std::uint32_t>* q = nullptr;  ///< of all primes
  std::uint32_t primes = 0;
  digit_split split;
};

/// A block of points of a `row_select`.
struct row_block {
  const std::uint32_t* database = nullptr;   ///< columns * rows rows of the block
  const std::uint32_t* selectors = nullptr;  ///< 2 * rows rows of the block
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
};

/// Bytes of one plaintext and what its coefficients are multiplied by.
struct packed_plain {
  const std::uint8_t* bytes = nullptr;
  std::uint32_t count = 0;  ///< bytes that are there
  unsigned bits = 0;
};

struct retrieval_kernels {
  using mod = arith::modulus<std::uint32_t>;

  /// Digit k modulo prime t goes to dst + k * stride + t * n.
  void (*split)(std::uint32_t* dst, std::size_t stride, const split_source& from, std::size_t n);
  /// dst[c][j] = sum of digit * row[c] / 2^32, plus plus[c] where that is no nullptr, for j < n; permuted.
  void (*product)(std::uint32_t* const* dst, const product_term* terms, std::size_t count,
                  const std::uint32_t* const* plus, const std::uint32_t* permutation, std::size_t n,
                  const mod& q);
  /// even = src + turned, odd = (src - turned) * monomial / 2^32; no odd for nullptr.
  void (*children)(std::uint32_t* even, std::uint32_t* odd, const std::uint32_t* src,
                   const std::uint32_t* turned, const std::uint32_t* monomial, std::size_t n, const mod& q);
  /// dst[2 * j + c]: `points_per_block` points of component c of column j.
  void (*row_select)(std::uint32_t* const* dst, const row_block& block, const mod& q);
  /// dst[j] = round(src[j] 2^bits / q), src[l] the residues modulo prime l, `inverses` (q / q_l)^-1 mod q_l.
  void (*round)(std::uint64_t* dst, const std::uint32_t* const* src, const mod* q,
                const std::uint32_t* inverses, std::uint32_t primes, unsigned bits, std::size_t n);
  /// dst[j] = factor * coefficient j.
  void (*unpack)(std::uint32_t* dst, const packed_plain& from, std::uint32_t factor, std::size_t n,
                 const mod& q);
};

/// The specification: plain C++ from arith/arith.hpp.
[[nodiscard]] const retrieval_kernels& scalar_retrieval_kernels();

}  // namespace halocline::backend::cpu
