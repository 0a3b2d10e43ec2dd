// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "halocline/seal/context.hpp"
#include "halocline/seal/objects.hpp"

namespace halocline::seal {

/// One polynomial of a division: the limb of the divisor, the other limbs, and where the quotient goes, which
/// shares nothing with them. All in NTT form.
struct dividend {
  backend::limb_view last;
  backend::limb_view kept;
  backend::limb_view dst;
};

/// Divides polynomials by prime `divisor`, with SEAL's rounding. All keep the same primes.
void divide(context& on, std::uint32_t divisor, std::span<const dividend> items);

/// Key switch of SEAL: dst0 + dst1 s = plus0 + plus1 s + target s', as far as it is exact. `plus1` may be
/// without data. The sources share nothing with the results.
struct switch_item {
  backend::limb_view target;
  const switch_key* key = nullptr;
  backend::limb_view plus0, plus1, dst0, dst1;
};

/// Switches the keys of all items, whose targets have the same primes.
void switch_keys(context& on, std::span<const switch_item> items);

}  // namespace halocline::seal
