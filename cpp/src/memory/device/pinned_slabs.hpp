// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "halocline/memory/device_memory.hpp"
#include "memory/device/slab_maker.hpp"
#include "memory/tier/extent_list.hpp"

namespace halocline::memory {

/// Pinned host memory in large slabs, because pinning is slow, handed out in blocks.
class pinned_slabs {
 public:
  /// Part of a slab.
  struct block {
    std::uint32_t slab = 0;
    std::uint64_t offset = 0;
    std::size_t bytes = 0;
  };

  /// @param limit bytes that may be pinned in total
  pinned_slabs(std::shared_ptr<device_memory> device, std::size_t limit, std::size_t slab_bytes)
      : device_(std::move(device)), maker_(device_), limit_(limit), slab_bytes_(slab_bytes) {}
  ~pinned_slabs();
  pinned_slabs(const pinned_slabs&) = delete;
  pinned_slabs& operator=(const pinned_slabs&) = delete;

  /// Begins to pin, beside the program, as much as blocks of `bytes` bytes together will need.
  void prepare(std::size_t bytes);
  /// A block of `bytes` bytes, or nothing when the limit is reached or nothing can be pinned.
  [[nodiscard]] std::optional<block> take(std::size_t bytes);
  /// Frees a block; its next use is ordered behind `behind`.
  void give(const block& at, const fence& behind) noexcept;
  [[nodiscard]] std::byte* data(const block& at) const noexcept { return slabs_[at.slab].data + at.offset; }
  /// The moments behind which work on a block that was just allocated must be ordered.
  [[nodiscard]] fence behind(const block& at) const noexcept { return slabs_[at.slab].behind; }
  /// Bytes in blocks.
  [[nodiscard]] std::size_t used_bytes() const noexcept { return used_; }
  [[nodiscard]] std::size_t pinned_bytes() const noexcept { return pinned_; }
  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
  /// Unpins slabs without blocks, and what was prepared. Waits for the lanes' copies in them.
  void trim() noexcept;

 private:
  struct slab {
    std::byte* data = nullptr;  ///< nullptr: unpinned
    std::size_t bytes = 0;
    std::size_t used = 0;
    extent_list free;
    fence behind{};  ///< of all blocks that came back
  };

  [[nodiscard]] slab* add(std::size_t bytes);
  /// An entry for a slab that is pinned next: one that was pinned and not noted would be lost.
  [[nodiscard]] slab& place_for_slab();
  [[nodiscard]] slab* note(slab& place, const slab_maker::slab& made);

  std::shared_ptr<device_memory> device_;
  slab_maker maker_;
  std::size_t limit_;
  std::size_t slab_bytes_;
  std::size_t pinned_ = 0;
  std::size_t used_ = 0;
  std::vector<slab> slabs_;
};

}  // namespace halocline::memory
