// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "halocline/memory/tier/store.hpp"

namespace halocline::memory {

/// How a chain of tiers is set up.
struct chain_options {
  /// Host memory that holds bytes before they go to the file; 0: none.
  std::size_t memory_bytes = 0;
  /// The tier behind it; nullptr: none.
  std::shared_ptr<store> file{};
  /// Remote reads in flight at once, 1 to 64.
  unsigned requests = 8;
};

/// Tiers one behind the other: host memory, a file, and remote contents, which belong to other machines.
///
/// A slot that is written goes to memory where there is such a tier, otherwise to the file; memory that is
/// full moves what was used longest ago to the file. A slot with remote contents (`adopt`) has no copy at
/// first. What a read takes from a farther tier stays in the nearest one as far as it has room, for the next
/// read: copies of remote contents that leave memory go to the file, and those that leave a full file are
/// dropped. A read takes all its bytes from the nearest tier that has them.
///
/// Links are numbered from the nearest tier: memory if there is one, the file if there is one, remote. Not
/// thread-safe, as every store; remote reads and copies run on threads of its own. A copy of remote contents
/// that the file has lost is read again from where it came.
/// @throws invalid_argument for no tier at all, and for requests out of range
[[nodiscard]] std::unique_ptr<store> make_chain_store(const chain_options& options);

}  // namespace halocline::memory
