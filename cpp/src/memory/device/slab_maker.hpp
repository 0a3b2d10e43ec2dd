// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "halocline/memory/device_memory.hpp"

namespace halocline::memory {

/// Pins host memory on a thread of its own, because that takes longer than copies to it. One thread uses it;
/// in a child of `fork` nothing is made any more.
class slab_maker {
 public:
  struct slab {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
  };

  explicit slab_maker(std::shared_ptr<device_memory> device) : device_(std::move(device)) {}
  ~slab_maker() { clear(); }
  slab_maker(const slab_maker&) = delete;
  slab_maker& operator=(const slab_maker&) = delete;

  /// Begins to pin `count` slabs more, of `bytes` bytes each. Makes none where no thread can be started, and
  /// no more once the device pins nothing.
  void order(std::size_t count, std::size_t bytes);
  /// A slab that is ready; waits for the one that is being pinned. Nothing: none are left.
  [[nodiscard]] std::optional<slab> take();
  /// Bytes of the slabs that are ready or ordered.
  [[nodiscard]] std::size_t bytes() const;
  /// Unpins what is ready and makes no more.
  void clear() noexcept;

 private:
  void work();
  void end_thread() noexcept;
  /// Whether the thread exists in this process.
  [[nodiscard]] bool is_here() const noexcept;

  std::shared_ptr<device_memory> device_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;  ///< a slab is ready, or no more will be
  std::deque<slab> ready_;
  std::deque<std::size_t> ordered_;  ///< sizes; the first one is being pinned
  std::thread thread_;
  std::uint64_t process_ = 0;  ///< that started it
};

}  // namespace halocline::memory
