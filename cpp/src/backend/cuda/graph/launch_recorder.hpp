// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "backend/cuda/device/launcher.hpp"
#include "backend/graph/recorder.hpp"

namespace halocline::backend::cuda {

/// Defers the kernels of programs and launches them as graphs, on one card.
class launch_recorder final : public launch_observer {
 public:
  /// Not for `HALOCLINE_GRAPHS=0`, unless `use` says otherwise.
  explicit launch_recorder(const device_context& device);

  /// Whether programs are recorded from the next one on.
  void use(bool wanted) noexcept { wanted_ = wanted; }
  [[nodiscard]] bool used() const noexcept { return wanted_; }

  void begin_program(std::uint64_t key) noexcept {
    if (wanted_ || recorder_.open()) recorder_.begin(key);
  }
  void end_program() { recorder_.end(); }
  [[nodiscard]] graph_statistics statistics() const { return recorder_.statistics(); }

  bool begin(const kernel_launch& each) override;
  void end(const kernel_launch&) override {}
  void flush() override;
  void flush_quietly() noexcept override { recorder_.flush_quietly(); }
  [[nodiscard]] bool recording() const noexcept override { return recorder_.open(); }

 private:
  const device_context& device_;
  std::unique_ptr<graph::device_api> api_;
  graph::recorder recorder_;
  bool wanted_;
};

}  // namespace halocline::backend::cuda
