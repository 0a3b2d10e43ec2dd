// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "halocline/memory/tier.hpp"

namespace halocline::memory {

/// Memory of an accelerator, as a runtime needs it. All calls are ordered on the accelerator's compute stream
/// and wait for nothing unless they say so.
class device_memory {
 public:
  virtual ~device_memory() = default;
  /// For people: "HBM of NVIDIA H200 (cuda:0)".
  [[nodiscard]] virtual std::string describe() const = 0;
  /// Stream-ordered pool, for buffers that do not move.
  [[nodiscard]] virtual std::unique_ptr<tier> make_pool_tier() = 0;
  /// Overwrites bytes with zeros behind all work so far.
  virtual void wipe(std::byte* data, std::size_t bytes) noexcept = 0;
};

}  // namespace halocline::memory
