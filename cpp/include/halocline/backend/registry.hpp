// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halocline/backend/backend.hpp"
#include "halocline/backend/devices.hpp"

namespace halocline::backend {

/// How a backend is set up.
struct backend_options {
  memory::runtime_options memory;
  /// Worker threads of the CPU backend; the number of processors unless given.
  std::optional<unsigned> threads;
  /// Use the scalar specification instead of SIMD kernels (CPU backend only).
  bool scalar = false;
};

/// Creates a backend with a memory runtime of its own.
/// @param device "cpu", "cuda:0" (or another card; "cuda" is the first), "sycl:0" (or another device of the
///   SYCL runtime; see `use_sycl_root`) or "ghost"; the ghost executes shapes and allocations but no
///   arithmetic.
/// @throws invalid_argument naming the known devices, or for 0 threads; device_error when the build has no
///   CUDA, or when there is no such card, no driver, or the card is older than compute capability 8.0; or
///   when there is no SYCL runtime, it cannot be used, or it has no such device
[[nodiscard]] std::shared_ptr<backend> make_backend(std::string_view device,
                                                    const backend_options& options = {});

}  // namespace halocline::backend
