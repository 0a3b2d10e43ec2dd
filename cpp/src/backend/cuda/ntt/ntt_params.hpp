// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "backend/cuda/device/batch.hpp"
#include "halocline/arith/modulus.hpp"
#include "halocline/backend/descriptors.hpp"

/// Parameter blocks of the transforms.
namespace halocline::backend::cuda {

/// Most polynomials that share the twiddles of one block.
inline constexpr unsigned max_ntt_polys = 4;
/// Up to four polynomials over the same consecutive primes. A view's pointer is that of the first limb; the
/// following limbs are N words apart.
template <typename WordT>
struct ntt_group {
  /// Groups of one launch: keeps the parameter block below 4 KiB, which launches fastest.
  static constexpr unsigned capacity = 48;
  std::uint32_t prime = 0;  ///< first prime
  std::uint32_t polys = 0;
  const WordT* src[max_ntt_polys] = {};
  WordT* dst[max_ntt_polys] = {};
};

/// Where a polynomial of a group comes from that is reduced modulo its primes: one limb.
struct reduced_from {
  std::uint32_t prime = 0;  ///< of the limb
  bool centred = false;     ///< values above half of that prime stand for negative ones
};

/// The group of `ntt_reduced`: the same limb `from` for all primes. src is dst.
template <typename WordT>
struct reduced_group : ntt_group<WordT> {
  static constexpr unsigned capacity = 64;
  const WordT* from[max_ntt_polys][1] = {};
  reduced_from by[max_ntt_polys] = {};
};

/// The group of `ntt_linear_combine`: dst = factors[i].a * a + factors[i].b * ntt(src). Where src is a
/// conversion, it is made of `from`, and src is where the first phase puts what it computes.
template <typename WordT>
struct combine_group : ntt_group<WordT> {
  static constexpr unsigned capacity = 16;
  const WordT* from[max_ntt_polys][max_joined_sources] = {};
  reduced_from by[max_ntt_polys] = {};  ///< of `ntt_reduced` with a combination: from[poly][0] is the limb
  std::uint32_t target = 0;             ///< number of the first prime among the targets of the conversion
  const WordT* a[max_ntt_polys] = {};
  std::uint32_t factors[max_ntt_polys] = {};  ///< number of the first limb's factors
};

/// Factors of one limb with their Shoup quotients.
template <typename WordT>
struct combine_factors {
  WordT a, a_quotient, b, b_quotient;
};

/// Parameters of all kernels of the production transform.
template <typename WordT, typename GroupT>
struct ntt_params {
  using group_type = GroupT;
  const arith::modulus<WordT>* moduli = nullptr;
  const WordT* roots = nullptr;  ///< as `ring_tables::roots`
  std::uint32_t log_n = 0;
  std::uint32_t bits = 0;         ///< stages of this kernel
  std::uint32_t log_columns = 0;  ///< columns kernel: neighbouring columns of a block
  std::uint32_t lead = 0;         ///< joined kernel: limbs whose first phase comes before any second phase
  std::uint32_t* arrivals = nullptr;  ///< joined kernel: one counter per limb, zero between kernels
  batch<GroupT, GroupT::capacity> groups{};
};

template <typename WordT>
using plain_ntt_params = ntt_params<WordT, ntt_group<WordT>>;

template <typename WordT>
using reduced_params = ntt_params<WordT, reduced_group<WordT>>;

/// Instead of a number of sources: one limb that is reduced.
inline constexpr std::uint32_t reduced_source = max_joined_sources + 1;

/// With the factors of all limbs of all groups, and their conversion.
template <typename WordT>
struct combine_params : ntt_params<WordT, combine_group<WordT>> {
  static constexpr std::uint32_t max_factors = 12288 / sizeof(combine_factors<WordT>);
  std::uint32_t sources = 0;  ///< limbs that are converted, or `reduced_source`; 0: none are
  std::uint32_t source_primes[max_joined_sources] = {};
  const WordT* table = nullptr;  ///< `conversion_table::data`
  combine_factors<WordT> factors[max_factors];
};

}  // namespace halocline::backend::cuda
