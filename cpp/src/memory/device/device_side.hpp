// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "halocline/memory/device_memory.hpp"
#include "halocline/memory/runtime_options.hpp"
#include "halocline/memory/tier/store.hpp"
#include "memory/device/managed_blocks.hpp"
#include "memory/device/step_timer.hpp"

namespace halocline::memory {

/// What a runtime has besides when its fast tier is an accelerator's.
struct device_side {
  explicit device_side(const std::shared_ptr<device_memory>& device) : steps(device) {}

  /// Brings what a step touches of unified memory to the device. False: the budget cannot hold it.
  [[nodiscard]] bool bring(std::span<const step_use> uses);
  /// Bytes on the device beside `pool_bytes` of a pool count for the peak.
  void note_peak(std::size_t pool_bytes) noexcept {
    peak_bytes = std::max(peak_bytes, pool_bytes + managed->resident_bytes());
  }

  step_timer steps;
  std::size_t peak_bytes = 0;
  std::unique_ptr<managed_blocks> managed;  ///< where buffers are in unified memory
};

/// The slow tier of an accelerator: pinned memory in front of `overflow`.
[[nodiscard]] std::shared_ptr<store> make_device_slow(const runtime_options& options,
                                                      std::shared_ptr<store> overflow);

}  // namespace halocline::memory
