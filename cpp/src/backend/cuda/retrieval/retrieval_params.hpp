// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "halocline/arith/arith.hpp"

/// Parameter blocks of the kernels of private retrieval. blockIdx.y is the job of a launch, blockIdx.x runs
/// over the array of the largest job. Words have 32 bits, and every polynomial has all primes of the ring.
namespace halocline::backend::cuda {

/// Jobs of one launch.
inline constexpr unsigned retrieval_jobs = 64;
/// Most primes of a ring whose constants travel in a parameter block.
inline constexpr unsigned retrieval_primes = 64;

/// An array: polynomial or ciphertext i begins at `data + i * stride`.
struct words_of_array {
  std::uint32_t* data = nullptr;
  std::uint64_t stride = 0;  ///< words

  [[nodiscard]] HALOCLINE_HOST_DEVICE std::uint32_t* at(std::uint64_t i) const { return data + i * stride; }
};

/// What all parameter blocks begin with.
template <typename JobT>
struct retrieval_params {
  using job = JobT;
  const arith::modulus<std::uint32_t>* moduli = nullptr;
  std::uint32_t log_n = 0;
  std::uint32_t limbs = 0;  ///< of a polynomial
  std::uint32_t jobs = 0;
  JobT items[retrieval_jobs] = {};
};

/// Transforms. Blocks take `polys` polynomials modulo one prime, one after the other.
struct transform_item {
  words_of_array dst, src;
  std::uint32_t count = 0;
};
struct transform_params : retrieval_params<transform_item> {
  const std::uint32_t* roots = nullptr;
  std::uint32_t polys = 1;
};

struct sub_item {
  words_of_array dst, a, b;
  std::uint32_t count = 0;
};
using array_sub_params = retrieval_params<sub_item>;

/// A constant factor with its Shoup quotient, and a constant that belongs to it.
struct array_factor {
  std::uint32_t value = 0, quotient = 0;
  std::uint32_t offset = 0;  ///< of `unpack_plain`: 2^bits times the factor
};
/// Parameters with constants for each prime; equal ones of jobs that follow each other are stored once.
template <typename JobT>
struct factor_params : retrieval_params<JobT> {
  static constexpr unsigned capacity = 512;
  array_factor factors[capacity] = {};
};

struct scale_item {
  words_of_array dst, src;
  std::uint32_t count = 0;
  std::uint32_t factors = 0;  ///< number of the first prime's
};
using array_scale_params = factor_params<scale_item>;

struct split_item {
  words_of_array dst, src;
  std::uint32_t count = 0;
  std::uint32_t digits = 1;
  std::uint32_t base_bits = 0;
};
struct split_params : retrieval_params<split_item> {
  std::uint32_t primes[retrieval_primes] = {};
};

struct product_item {
  words_of_array dst, digits, rows;
  words_of_array plus[2];
  const std::uint32_t* permutation = nullptr;
  std::uint32_t terms = 0;
  std::uint32_t count = 0;
};
using product_params = retrieval_params<product_item>;

struct children_item {
  words_of_array dst, src, turned;
  const std::uint32_t* monomial = nullptr;
  std::uint32_t children = 0;
};
using children_params = retrieval_params<children_item>;

struct turn_item {
  std::uint32_t* dst = nullptr;  ///< point matrix
  words_of_array src;
  std::uint32_t rows = 0;
  std::uint32_t first = 0;
  std::uint32_t step = 1;
  std::uint32_t count = 0;
};
/// Jobs of one launch have equal blocks of points.
using turn_params = retrieval_params<turn_item>;

struct round_item {
  std::uint64_t* dst = nullptr;  ///< of the first ciphertext
  words_of_array src;
  std::uint32_t count = 0;
  std::uint32_t bits[2] = {};
};
/// Constants of one prime q: 2^64 = whole * q + rest, and the inverse of the product of the others.
struct round_prime {
  std::uint64_t whole = 0;
  std::uint32_t rest = 0, rest_quotient = 0;
  std::uint32_t inverse = 0, inverse_quotient = 0;
  std::uint32_t q = 0;
};
struct round_params : retrieval_params<round_item> {
  round_prime primes[retrieval_primes] = {};
};

struct unpack_item {
  words_of_array dst;
  const std::uint8_t* src = nullptr;  ///< of the first polynomial
  std::uint64_t stride = 0;
  std::uint32_t bytes = 0;
  std::uint32_t count = 0;
  std::uint32_t bits = 0;
  std::uint32_t factors = 0;
};
using unpack_params = factor_params<unpack_item>;

}  // namespace halocline::backend::cuda
