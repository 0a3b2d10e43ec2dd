// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "memory/residency/residency.hpp"

namespace halocline::memory {

/// No bytes at all: buffers have sizes, and no step gets a pointer.
class ghost_residency final : public residency {
 public:
  [[nodiscard]] std::size_t budget_left(std::size_t) const noexcept override { return 0; }
  [[nodiscard]] placing place(buffer_state&) override { return placing::done; }
  void free(buffer_state&) noexcept override {}
  void forsake(buffer_state&) noexcept override {}
  [[nodiscard]] placing bring(std::span<const step_use>, std::string_view, std::size_t,
                              std::unique_ptr<pinned_step>&) override {
    return placing::done;
  }
  void trim() noexcept override {}
  void report(stats& counters) override {
    counters.cached_bytes = counters.fast_bytes = counters.peak_fast_bytes = 0;
  }
};

}  // namespace halocline::memory
