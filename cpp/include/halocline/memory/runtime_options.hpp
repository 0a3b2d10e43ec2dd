// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "halocline/memory/policy/policy.hpp"

namespace halocline::memory {

class device_memory;
class memory_budget;
class store;

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
  /// Keep small forms (coefficients) from which plaintexts can be made again, for plans that prefer that to a
  /// copy. A ghost must be set as the runtime that it plans for.
  bool keep_sources = false;
  /// A budget that several runtimes share; its capacity then replaces `budget_bytes`.
  std::shared_ptr<memory_budget> shared_budget{};
  /// Accelerator whose memory is the fast tier; none: host memory.
  std::shared_ptr<device_memory> device{};
  /// Slow tier for policies that move bytes; a file in `tier_folder` is made unless given.
  std::shared_ptr<store> slow{};
  /// Folder of that file; empty: HALOCLINE_TIER_DIR, or the system's folder for temporary files.
  std::string tier_folder{};
  /// Bytes that the file may take; 0: as the disk allows.
  std::size_t tier_limit_bytes = 0;
};

}  // namespace halocline::memory
