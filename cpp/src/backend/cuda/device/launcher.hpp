// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string_view>
#include <type_traits>

#include "backend/cuda/device/device_context.hpp"

namespace halocline::backend::cuda {

/// One kernel launch, as observers see it. The parameter block is the kernel's only argument.
struct kernel_launch {
  std::string_view op;  ///< ring-level operation that it belongs to: "ntt"
  const char* name;     ///< kernel: "ntt_first_phase"; a string literal
  const void* function;
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes;
  const void* params;
  std::size_t params_bytes;
};

/// Sees kernel launches: profiler, graph recorder.
class launch_observer {
 public:
  virtual ~launch_observer() = default;
  /// Takes note of a launch. Returns whether the kernel should be launched now; false: the observer does it
  /// later.
  virtual bool begin(const kernel_launch& each) = 0;
  /// The kernel was launched.
  virtual void end(const kernel_launch& each) = 0;
  /// Launches the kernels that `begin` deferred: called before other work relies on the order of the compute
  /// stream.
  /// @throws device_error naming the operation whose launch fails
  virtual void flush() {}
  /// The same where nothing may be thrown; the next call that may throws instead.
  virtual void flush_quietly() noexcept {}
  /// Whether launches are deferred at present.
  [[nodiscard]] virtual bool recording() const noexcept { return false; }
};

/// Whether kernels begin while the one before ends (see grid_order.cuh).
[[nodiscard]] inline bool overlaps_kernels(const device_context& device) noexcept {
  return device.architecture() >= 90;
}

/// Launches `function(params)` on the compute stream, overlapping the end of the kernel before.
[[nodiscard]] cudaError_t launch_kernel(const device_context& device, const void* function, dim3 grid,
                                        dim3 block, std::size_t shared_bytes, const void* params);

/// Launches kernels of one operation on the compute stream.
class launcher {
 public:
  launcher(device_context& device, std::string_view op) : device_(device), op_(op) {}

  [[nodiscard]] device_context& device() const noexcept { return device_; }
  [[nodiscard]] std::string_view op() const noexcept { return op_; }

  /// Launches `kernel(params)`. The kernel begins with `begin_kernel` (grid_order.cuh). `ParamsT` is plain
  /// data of at most 32,764 bytes.
  /// @throws device_error naming the operation when the launch fails
  template <typename ParamsT>
  void operator()(const char* name, void (*kernel)(ParamsT), dim3 grid, dim3 block, std::size_t shared_bytes,
                  const ParamsT& params) const {
    static_assert(std::is_trivially_copyable_v<ParamsT> && sizeof(ParamsT) <= 32764);
    launch({op_, name, reinterpret_cast<const void*>(kernel), grid, block, shared_bytes, &params,
            sizeof(ParamsT)});
  }

 private:
  void launch(const kernel_launch& each) const;

  device_context& device_;
  std::string_view op_;
};

}  // namespace halocline::backend::cuda
