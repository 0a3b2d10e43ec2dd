// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "halocline/memory/tier.hpp"

namespace halocline::memory {

/// A fast tier that has only `capacity_bytes` bytes, to imitate a small device: `allocate` returns nullptr
/// when the live bytes, as requested, would exceed it. Cached bytes of `inner` take room too and are given
/// back first.
[[nodiscard]] std::unique_ptr<tier> make_limiting_tier(std::unique_ptr<tier> inner,
                                                       std::size_t capacity_bytes);

}  // namespace halocline::memory
