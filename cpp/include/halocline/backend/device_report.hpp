// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace halocline::backend {

/// Properties of an accelerator beyond `capability`.
struct device_report {
  std::string model;                    ///< "NVIDIA H200"
  unsigned architecture = 0;            ///< 90 for compute capability 9.0
  unsigned multiprocessors = 0;         ///< of the device
  std::size_t total_bytes = 0;          ///< memory of the device, and
  std::size_t free_bytes = 0;           ///< how much of it is free
  std::size_t cache_bytes = 0;          ///< shared cache
  unsigned clock_khz = 0;               ///< highest clock of its units, and
  unsigned memory_clock_khz = 0;        ///< of its memory
  unsigned driver_version = 0;          ///< CUDA version that the driver supports: 13000 for 13.0
  unsigned runtime_version = 0;         ///< CUDA version that this build uses
  double to_device_per_second = 0;      ///< bytes per second: copies from pinned host memory,
  double from_device_per_second = 0;    ///< copies to it,
  double within_device_per_second = 0;  ///< and copies within the device, read and written bytes together
};

/// Report on "cuda:0"; nothing for devices that are no accelerators ("cpu", "ghost").
/// @param measure_links also measure the speeds, which takes some 0.1 s and 512 MiB of memory on the device
/// @throws device_error as `make_backend`
[[nodiscard]] std::optional<device_report> report_device(std::string_view device, bool measure_links);

}  // namespace halocline::backend
