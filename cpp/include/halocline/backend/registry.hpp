// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "halocline/backend/backend.hpp"

namespace halocline::backend {

/// How a backend is set up.
struct backend_options {
  memory::runtime_options memory;
  /// Worker threads of the CPU backend; 0 takes the number of processors.
  unsigned threads = 0;
  /// Use the scalar specification instead of SIMD kernels (CPU backend only).
  bool scalar = false;
};

/// Creates a backend with a memory runtime of its own.
/// @param device "cpu", "cuda:0" (or another card; "cuda" is the first) or "ghost"; the ghost executes shapes
/// and
///   allocations but no arithmetic.
/// @throws invalid_argument naming the known devices; device_error when the build has no CUDA, or when there
/// is
///   no such card, no driver, or the card is older than compute capability 8.0
[[nodiscard]] std::shared_ptr<backend> make_backend(std::string_view device,
                                                    const backend_options& options = {});

/// Devices that `make_backend` accepts in this build on this machine.
[[nodiscard]] std::vector<std::string> available_devices();

}  // namespace halocline::backend
