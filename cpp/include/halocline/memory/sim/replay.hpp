// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "halocline/memory/plan/plan.hpp"
#include "halocline/memory/plan/program.hpp"
#include "halocline/memory/policy/policy.hpp"
#include "halocline/memory/sim/device_model.hpp"
#include "halocline/memory/trace.hpp"
#include "halocline/memory/trace_formats/perfetto.hpp"

namespace halocline::memory::sim {

/// How a trace is replayed.
struct replay_options {
  std::string policy = "planned";
  policy_options constants;        ///< of the policies that have any
  std::uint64_t budget_bytes = 0;  ///< of the device's memory; 0: all that the driver leaves
  double kernel_scale = 1;         ///< factor on the times of operations
  /// Times of operations: by the device model, or as recorded (for traces of real runs).
  plan::time_source times = plan::time_source::costs;
  bool allow_regenerate = true;  ///< `planned`: expand seeds and encode plaintexts instead of loading them
  /// `planned`: bytes of the budget that the plan leaves free, as far as it can; by default what engines
  /// leave.
  std::optional<std::uint64_t> loose_bytes;
  bool allow_prefixes = true;  ///< `planned`: load and evict parts of objects; otherwise as a whole
  /// `planned`: frames of prefixes grow and shrink in place, as in host memory. Frames of a card do not: what
  /// needs more of an object than is there loads it as a whole.
  bool allow_resize = false;
  /// `planned`: only keys are on the host when the program begins; all else that was there before is in the
  /// device's memory, as far as it has room.
  bool only_keys_cold = false;
  /// The program runs repeatedly: the report is of a run that finds what another one left in the device's
  /// memory.
  bool steady = false;
  /// Where to put the plan that `planned` carries out; nullptr: nowhere.
  plan::plan* made = nullptr;
  std::uint32_t timeline_points = 2000;  ///< at most so many samples of the residency; at least 2
  /// Where to write every operation, copy, fault and stall down, for `write_perfetto`; nullptr: nowhere.
  timeline* spans = nullptr;
};

/// A maximal run of steps with the same phase, the part of their tags before the last '/'.
struct phase_time {
  std::string phase;
  double begin_s = 0;  ///< when the step before it was done
  double seconds = 0;

  bool operator==(const phase_time&) const = default;
};

/// Bytes at one moment.
struct residency_point {
  double time_s = 0;
  std::uint64_t resident_bytes = 0;  ///< on the device, of any kind
  std::uint64_t pool_bytes = 0;      ///< live in the pool
  std::uint64_t managed_bytes = 0;   ///< live managed objects, wherever they are

  bool operator==(const residency_point&) const = default;
};

/// What a replay found. Deterministic: equal inputs give equal reports. total = compute + fault + transfer +
/// host waits.
struct replay_report {
  std::string device;
  std::string policy;
  std::uint64_t budget_bytes = 0;
  std::uint64_t steps = 0;

  double total_s = 0;
  double compute_s = 0;        ///< kernels alone: the time with unlimited resident memory and a fast host
  double fault_s = 0;          ///< kernels standing still for page faults
  double transfer_wait_s = 0;  ///< device waiting for explicit copies, or for room
  double regenerate_s = 0;     ///< part of compute: expanding seeds and encoding plaintexts
  double host_wait_s = 0;      ///< device waiting for the host: launches, allocations, synchronizations
  double stall_s = 0;          ///< total - compute

  double allocate_s = 0;     ///< host time in allocations
  double free_s = 0;         ///< host time in frees, without waiting
  double synchronize_s = 0;  ///< host time waiting for the device in frees and blocking copies
  double load_busy_s = 0;    ///< link into the device
  double store_busy_s = 0;   ///< link out of it

  std::uint64_t loaded_bytes = 0;       ///< explicit copies, migrations and remote accesses
  std::uint64_t stored_bytes = 0;       ///< write-backs and evictions that copy
  std::uint64_t regenerated_bytes = 0;  ///< expanded or encoded
  std::uint64_t faults = 0;
  std::uint64_t fault_batches = 0;
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;

  std::uint64_t peak_resident_bytes = 0;
  std::uint64_t peak_pool_bytes = 0;
  std::uint64_t peak_managed_bytes = 0;

  std::vector<phase_time> phases;
  std::vector<residency_point> timeline;
};

/// Runs a recorded program on a simulated device: a discrete-event simulation with one host thread, one
/// stream of kernels in order, and one link per direction.
///
/// Buffers that were there before the recording lie in the pool without cost, where the policy puts them
/// there; otherwise they are on the host when the program begins. `resident`, `async`: pool, out_of_memory
/// beyond the budget. `cached`: blocks of cudaMalloc that are kept. `managed`, `static`, `profiled`,
/// `dynamic`: `unified_memory` next to the pool, whose blocks are kept at their peak. `lru`: whole objects,
/// copied on demand while host and device wait. `planned`: the plan for exactly this program and device,
/// carried out asynchronously.
/// @throws out_of_memory when the policy cannot place something; the message states the budget that it needs.
/// @throws corrupt_data when the trace contradicts itself.
/// @throws invalid_argument for an unknown policy, a budget above what the device has, a scale that is not a
///   positive number, or `steady` with `only_keys_cold`.
[[nodiscard]] replay_report replay(const trace& recorded, const device_model& device,
                                   const replay_options& options);

}  // namespace halocline::memory::sim
