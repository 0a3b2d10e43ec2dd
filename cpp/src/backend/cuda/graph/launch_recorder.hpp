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
  /// Records programs where that is worth it, none with `HALOCLINE_GRAPHS=0` and all with
  /// `HALOCLINE_GRAPHS=1`, unless `use` says otherwise.
  explicit launch_recorder(const device_context& device);

  /// Whether all programs are recorded from the next one on, or none.
  void use(bool wanted) noexcept { use_ = wanted ? usage::always : usage::never; }
  [[nodiscard]] bool used() const noexcept { return use_ != usage::never; }

  void begin_program(std::uint64_t key) noexcept {
    if (used() || recorder_.begun()) recorder_.begin(key, use_ == usage::measured);
  }
  /// Whether a program is open, recorded or not.
  [[nodiscard]] bool begun() const noexcept { return recorder_.begun(); }
  void end_program() { recorder_.end(); }
  [[nodiscard]] graph_statistics statistics() const { return recorder_.statistics(); }

  bool begin(const kernel_launch& each) override;
  void end(const kernel_launch&) override {}
  void flush() override;
  void flush_quietly() noexcept override { recorder_.flush_quietly(); }
  [[nodiscard]] bool recording() const noexcept override { return recorder_.open(); }

 private:
  enum class usage : unsigned char { never, measured, always };
  static usage usage_of_environment();

  const device_context& device_;
  std::unique_ptr<graph::device_api> api_;
  graph::recorder recorder_;
  usage use_;
};

}  // namespace halocline::backend::cuda
