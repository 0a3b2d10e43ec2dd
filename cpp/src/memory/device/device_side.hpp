// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "halocline/memory/device_memory.hpp"
#include "halocline/memory/runtime_options.hpp"
#include "halocline/memory/tier/store.hpp"
#include "memory/device/step_timer.hpp"

namespace halocline::memory {

/// What a runtime has besides when its fast tier is an accelerator's.
struct device_side {
  explicit device_side(const std::shared_ptr<device_memory>& device) : steps(device) {}

  step_timer steps;
};

/// The slow tier of an accelerator: pinned memory in front of `overflow`.
[[nodiscard]] std::shared_ptr<store> make_device_slow(const runtime_options& options,
                                                      std::shared_ptr<store> overflow);

}  // namespace halocline::memory
