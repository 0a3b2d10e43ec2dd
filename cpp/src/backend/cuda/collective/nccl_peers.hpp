// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "halocline/backend/peers.hpp"

namespace halocline::backend::cuda {

/// Whether all backends are on cards, and no two on the same one.
[[nodiscard]] bool are_different_cards(std::span<const std::shared_ptr<backend>> members);

/// @throws device_error when NCCL cannot be loaded or joined
[[nodiscard]] std::unique_ptr<peers> make_nccl_peers(std::vector<std::shared_ptr<backend>> members);

}  // namespace halocline::backend::cuda
