// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ops_fixture.hpp"

namespace halocline::test {

/// The limbs of half of a key in one buffer.
template <typename WordT>
const memory::buffer* keep_key(device_ring<WordT>& ring, const limbs<WordT>& key) {
  std::vector<WordT> joined;
  for (const auto& limb : key) joined.insert(joined.end(), limb.begin(), limb.end());
  return &ring.keep(joined);
}

}  // namespace halocline::test
