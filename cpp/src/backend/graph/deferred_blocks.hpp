// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <set>

namespace halocline::backend::graph {

/// Blocks of a tier that were freed while kernels which use them were recorded but not launched. They must
/// not be freed to the driver before these are launched, but may be reused at once: the kernels that use them
/// then are recorded behind. Later they are kept, as are others of sizes that programs free, so that a
/// repeated program gets the same blocks: of each exact size the lowest address is reused first, whatever the
/// order of the frees, and kernels then have the parameters that their graph has. Not thread-safe.
class deferred_blocks {
 public:
  /// A block of exactly that size, or nullptr.
  [[nodiscard]] void* take(std::size_t bytes) noexcept {
    const auto found = blocks_.find(bytes);
    if (found == blocks_.end() || found->second.empty()) return nullptr;
    void* const block = *found->second.begin();
    found->second.erase(found->second.begin());
    bytes_ -= bytes;
    return block;
  }
  /// Keeps a freed block. False when there is no memory for the entry: flush, then free it.
  [[nodiscard]] bool keep(void* data, std::size_t bytes) noexcept {
    try {
      blocks_[bytes].insert(data);
    } catch (...) {
      return false;
    }
    bytes_ += bytes;
    return true;
  }
  /// Whether a block of that size has been kept since the last `release`.
  [[nodiscard]] bool knows(std::size_t bytes) const noexcept { return blocks_.contains(bytes); }
  /// Bytes kept.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  /// Calls `free(data, bytes)` for every block and removes it from the list. Only after a flush.
  template <typename FreeT>
  void release(const FreeT& free) noexcept {
    for (const auto& [size, blocks] : blocks_) {
      for (void* block : blocks) free(block, size);
    }
    blocks_.clear();
    bytes_ = 0;
  }

 private:
  std::map<std::size_t, std::set<void*>> blocks_;
  std::size_t bytes_ = 0;
};

}  // namespace halocline::backend::graph
