// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "halocline/memory/adaptor/tier_adaptor.hpp"
#include "halocline/memory/device_memory.hpp"

namespace halocline::memory {

/// The pool of an accelerator, whose blocks are zeroed on the compute lane: the host cannot write into them.
class lane_tier final : public tier_adaptor {
 public:
  explicit lane_tier(std::shared_ptr<device_memory> device)
      : tier_adaptor(device->make_pool_tier()), device_(std::move(device)) {}

  void wipe(void* data, std::size_t bytes) noexcept override {
    device_->wipe(static_cast<std::byte*>(data), bytes);
  }
  /// A forked child has no copy of what a device holds.
  void wipe_inherited(void*, std::size_t) noexcept override {}

 private:
  std::shared_ptr<device_memory> device_;
};

}  // namespace halocline::memory
