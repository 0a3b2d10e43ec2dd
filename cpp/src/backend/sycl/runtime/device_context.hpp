// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "backend/sycl/bridge/bridge_api.hpp"
#include "backend/sycl/runtime/kernel_images.hpp"
#include "backend/sycl/runtime/parameter_space.hpp"

namespace halocline::backend::sycl {

/// One open device: its queues, its kernels, and their parameters.
class device_context {
 public:
  /// @throws device_error when there is no runtime, no such device, or it lacks unified shared memory
  [[nodiscard]] static std::shared_ptr<device_context> open(unsigned ordinal);

  [[nodiscard]] unsigned ordinal() const noexcept { return ordinal_; }
  [[nodiscard]] const sycl_bridge::device_facts& facts() const noexcept { return facts_; }
  [[nodiscard]] parameter_space& parameters() noexcept { return parameters_; }

  /// The bridge's device.
  /// @throws device_error in a forked process, which has none of the runtime's threads
  [[nodiscard]] sycl_bridge::device& use() const;
  /// Whether `use` would not throw.
  [[nodiscard]] bool usable() const noexcept;

  /// Runs a kernel on `items` work items, in groups of `group` of them. `parameter` is in `parameters()`.
  void launch(std::string_view kernel, unsigned word_bits, std::size_t items, std::size_t group,
              const void* parameter);
  /// Blocks until all kernels have ended.
  void wait();
  /// Called before each operation: waits when parameters fill too much memory.
  void begin_operation();

 private:
  device_context(unsigned ordinal, std::unique_ptr<sycl_bridge::device> device,
                 const sycl_bridge::device_facts& facts);

  unsigned ordinal_;
  std::uint64_t process_;
  std::unique_ptr<sycl_bridge::device> device_;
  sycl_bridge::device_facts facts_;
  kernel_images& images_;
  parameter_space parameters_;
};

}  // namespace halocline::backend::sycl
