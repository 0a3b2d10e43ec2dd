// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "seal/context.h"
#include "seal/util/defines.h"

// What this library adds to SEAL: see Ciphertext::gpu. Operations on marked objects run on their device.
namespace seal {

/// How a context uses a device. Each thread of a program has a queue of its own there, with its own memory.
struct DeviceOptions {
  /// Bytes of device memory that a queue may use; 0 for no limit.
  std::size_t budget_bytes = 0;
  /// Memory policy of a queue: "resident"; "cached" keeps freed memory and serves the smallest block that is
  /// large enough; "lru" moves what was not used for longest to host memory when the budget is full.
  std::string policy = "resident";
  /// Worker threads of a queue on the CPU; 0 for one for each processor.
  unsigned threads = 1;
};

/// Sets the options of a device for a context and its copies, before their first operation there.
/// @param device "cpu", "cuda:0", ...
/// @throws std::invalid_argument for another name or an unknown policy; std::runtime_error when there is no
///   such device; std::logic_error when the context has used the device already
void SetDeviceOptions(const SEALContext& context, const std::string& device, const DeviceOptions& options);

/// Bytes in device memory, of the calling thread's queue.
struct DeviceMemory {
  std::size_t live_bytes = 0;       ///< of objects
  std::size_t peak_live_bytes = 0;  ///< most of these so far
};
/// Of a queue that was not used yet: zeros.
[[nodiscard]] DeviceMemory GetDeviceMemory(const SEALContext& context, const std::string& device);

/// Waits for all operations that the calling thread has started.
void WaitForDevice(const SEALContext& context, const std::string& device);

/// Bounds of a computation. They do nothing: memory is freed in the order of the queue, so it need not be
/// kept until the end.
inline void StartComputeFrame() noexcept {}
inline void EndComputeFrame() noexcept {}

}  // namespace seal
