// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace halocline::memory {

class device_memory;
class memory_budget;
class store;

/// Names accepted by `runtime_options::policy`.
[[nodiscard]] std::vector<std::string> policy_names();

/// Constants of the policies that have any.
struct policy_options {
  std::size_t history_length = 10;  ///< `dynamic`: live counts kept per size
  std::size_t history_needed = 10;  ///< `dynamic`: of those, how many must be there before the pool is used
  std::uint64_t range_limit = 4;    ///< `dynamic`: X; pool while max - min of the kept counts is below it
  /// `profiled`: 1 for every allocation, by ordinal, that goes to the pool (see policy/decision_file.hpp).
  std::shared_ptr<const std::vector<std::uint8_t>> decisions;
};

/// How a runtime is set up.
struct runtime_options {
  /// Bytes of the fast tier that may be used; 0 means unlimited.
  std::size_t budget_bytes = 0;
  std::string policy = "resident";
  /// Constants of the policy.
  policy_options constants{};
  /// No memory, no arithmetic: for traces, key plans and footprints.
  bool ghost = false;
  bool record_trace = false;
  /// Freed bytes kept for re-use where nothing moves (never beyond the budget).
  std::size_t cache_bytes = std::size_t{64} << 20;
  /// Keep compact forms (coefficients) from which plaintexts can be regenerated, for plans that prefer that
  /// to a copy. A ghost must have the setting of the runtime that it plans for.
  bool keep_sources = false;
  /// Name of the runtime in messages about a shared budget.
  std::string owner{};
  /// A budget that several runtimes share; its capacity then replaces `budget_bytes`.
  std::shared_ptr<memory_budget> shared_budget{};
  /// Accelerator whose memory is the fast tier; none: host memory.
  std::shared_ptr<device_memory> device{};
  /// Policy `lru` on an accelerator: the host waits for the operations before a copy or an eviction, and for
  /// each copy, as programs do that swap objects by hand with blocking copies. In host memory it waits
  /// anyway.
  bool blocking_copies = false;
  /// Host memory that an accelerator's slow tier may pin; 0: half of the machine's.
  std::size_t pinned_bytes = 0;
  /// Unified memory that may be allocated; 0: half of what the accelerator has free at the start. The
  /// environment variable HALOCLINE_MANAGED_CAP lowers it.
  std::size_t managed_cap_bytes = 0;
  /// Lifts that limit. Unified memory beyond what a card has can hang it.
  bool oversubscribe_managed = false;
  /// Unified memory from a stream-ordered pool (CUDA 13) instead of one allocation per buffer.
  bool managed_pool = false;
  /// Slow tier for policies that move bytes; a file in `tier_folder` is made unless given. With an
  /// accelerator it takes what does not fit into pinned memory.
  std::shared_ptr<store> slow{};
  /// Folder of that file; empty: HALOCLINE_TIER_DIR, or the system's folder for temporary files.
  std::string tier_folder{};
  /// Bytes that the file may take; 0: as the disk allows.
  std::size_t tier_limit_bytes = 0;
  /// Host memory that the slow tier takes before that file, without an accelerator; 0: none.
  std::size_t tier_memory_bytes = 0;
  /// Remote reads in flight at once, 1 to 64.
  unsigned remote_requests = 8;
  /// What plans assume of remote reads until enough of them were measured.
  double remote_bytes_per_second = 100e6;
  double remote_latency_seconds = 1e-3;
};

}  // namespace halocline::memory
