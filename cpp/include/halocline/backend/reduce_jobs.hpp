// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "halocline/backend/descriptors.hpp"

/// Batch descriptors of transforms of limbs that are reduced modulo other primes.
namespace halocline::backend {

/// dst = NTT(x) modulo every prime of dst, where x is the polynomial with the integer coefficients that one
/// limb holds: in [0, q), q its prime, or where `centred` in [-(q - 1)/2, (q - 1)/2].
///
/// With `a`, dst = factor_a[i] * a + factor_b[i] * NTT(x) on limb i.
struct reduce_job {
  limb_view dst;
  limb_view src;  ///< one limb, coefficient form; shares no limb with dst
  bool centred = false;
  limb_view a{};                          ///< spans the primes of dst and shares no limb with it, or no data
  std::vector<std::uint64_t> factor_a{};  ///< residues, one per limb of dst; none without `a`
  std::vector<std::uint64_t> factor_b{};
};

}  // namespace halocline::backend
