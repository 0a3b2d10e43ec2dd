// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halocline/memory/plan/cost_model.hpp"

/// Simulated devices: replays of traces against device models, and caches of keys.
namespace halocline::memory::sim {

/// What one backend operation costs on a device: `fixed_us + factor * bytes / memory_bytes_per_s`, where
/// bytes are those of all rows of the step but tables: those of the CPU have little in common with those of
/// GPU kernels, which compute most twiddle factors.
struct operation_cost {
  double launches = 1;  ///< kernels that the host enqueues
  double fixed_us = 2;
  double factor = 1;
  std::string source;

  bool operator==(const operation_cost&) const = default;
};

/// A device as the replay sees it. Every constant has an entry in `sources` under its name that says whether
/// it was measured, taken from a data sheet, or estimated. Sizes in bytes, rates in bytes per second,
/// latencies in microseconds; "per MiB" is microseconds per 2^20 bytes.
struct device_model {
  std::string name;

  double capacity_bytes = 0;  ///< memory of the device
  double reserved_bytes = 0;  ///< of that, what the driver keeps

  double load_bytes_per_s = 0;   ///< link from host to device, pinned memory, large copies
  double store_bytes_per_s = 0;  ///< device to host
  double both_bytes_per_s = 0;   ///< sum of both directions when both are busy
  double copy_us = 0;            ///< fixed time of one copy

  double launch_us = 0;           ///< host time to enqueue one kernel
  double queue_depth = 1024;      ///< kernels that the host may be ahead of the device
  double memory_bytes_per_s = 0;  ///< rate at which a streaming kernel touches bytes

  double pool_allocate_us = 0;           ///< stream-ordered pool: host time of an allocation
  double pool_free_us = 0;               ///< and of a free, which does not synchronize
  double plain_allocate_us = 0;          ///< cudaMalloc
  double plain_allocate_us_per_mib = 0;  ///< grows with the size
  double plain_free_us = 0;              ///< cudaFree, after the device is idle
  double managed_allocate_us = 0;        ///< cudaMallocManaged
  double managed_free_us = 0;            ///< cudaFree, after the device is idle

  double block_bytes = 2097152;     ///< managed memory migrates and is evicted in blocks of this size
  double fault_page_bytes = 65536;  ///< each absent page that a kernel touches is one fault
  double fault_batch = 256;         ///< faults that the driver services at once
  double fault_batch_us = 0;        ///< latency of a batch
  double migrate_us_per_mib = 0;    ///< driver time to migrate, beyond the copy over the link
  double populate_us_per_mib = 0;   ///< first touch of pages that are nowhere yet
  double evict_us_per_mib = 0;      ///< driver time to evict, beyond the copy
  double prefetch_us_per_mib = 0;   ///< driver time of cudaMemPrefetchAsync to the device, beyond the copy
  double remote_bytes_per_s = 0;    ///< kernels that read host memory in place, where nothing can be evicted

  double expand_bytes_per_s = 0;  ///< uniform halves of keys from their seeds
  double encode_bytes_per_s = 0;  ///< plaintexts from integer coefficients

  /// Backend operations by name, see `plan::cost_of`; `other` for all that are not listed.
  std::map<std::string, operation_cost, std::less<>> operations;
  operation_cost other;
  std::map<std::string, std::string, std::less<>> sources;

  /// Memory that programs may use.
  [[nodiscard]] double usable_bytes() const noexcept { return capacity_bytes - reserved_bytes; }
  /// Cost of an operation by name.
  [[nodiscard]] const operation_cost& operation(std::string_view op) const;
  /// Microseconds that the device is busy with an operation that touches `bytes`.
  [[nodiscard]] double kernel_us(std::string_view op, double bytes) const;
  /// The cost model of the device for the planner. `scale` multiplies the times of operations, expansions and
  /// encodings. The planner counts tables too, so its times are longer where those are large; `replay` plans
  /// with its own times.
  [[nodiscard]] plan::cost_model costs(double scale = 1) const;

  bool operator==(const device_model&) const = default;
};

/// One constant of a device model, with the range that is accepted.
struct device_field {
  std::string_view name;
  double device_model::*member;
  double low;
  double high;
};

/// All constants, in the order of their declaration.
[[nodiscard]] std::span<const device_field> device_fields() noexcept;

/// @throws invalid_argument naming the first constant that is out of its range or has no source, when the
///   driver's share exceeds the capacity, or when the model has no name.
void validate(const device_model& model);

/// The models that come with the library: "gtx1050", "gtx1660ti", "rtx4090", "a40", "h200".
[[nodiscard]] std::vector<std::string> device_names();

/// One of them.
/// @throws invalid_argument naming the known models when `name` is none of them.
[[nodiscard]] const device_model& device_by_name(std::string_view name);

}  // namespace halocline::memory::sim
