// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "halocline/memory/remote_contents.hpp"
#include "support/page_frame.hpp"

namespace halocline::test {

/// What a remote place was asked for, and a gate that reads wait at. Thread-safe.
class remote_log {
 public:
  /// A read begins: waits while the gate is closed.
  void enter(std::uint64_t content) {
    std::unique_lock lock(mutex_);
    order_.push_back(content);
    most_ = std::max(most_, ++inside_);
    changed_.notify_all();
    changed_.wait(lock, [this] { return !closed_; });
  }
  void leave(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    --inside_;
    bytes_ += bytes;
  }
  void close_gate() { set_closed(true); }
  void open_gate() { set_closed(false); }
  /// Waits until so many reads are inside at once.
  void await(unsigned inside) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return inside_ >= inside; });
  }
  [[nodiscard]] std::vector<std::uint64_t> order() const { return get(order_); }
  [[nodiscard]] std::uint64_t bytes() const { return get(bytes_); }
  [[nodiscard]] unsigned most() const { return get(most_); }

 private:
  void set_closed(bool closed) {
    const std::lock_guard lock(mutex_);
    closed_ = closed;
    changed_.notify_all();
  }
  template <typename ValueT>
  [[nodiscard]] ValueT get(const ValueT& value) const {
    const std::lock_guard lock(mutex_);
    return value;
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::uint64_t> order_;
  std::uint64_t bytes_ = 0;
  unsigned inside_ = 0, most_ = 0;
  bool closed_ = false;
};

/// Remote contents with the pattern of a `page_frame`.
class counted_contents final : public memory::remote_contents {
 public:
  counted_contents(remote_log& log, std::uint64_t content, std::size_t bytes)
      : log_(log), content_(content), frame_((bytes + 4095) / 4096 * 4096, content), bytes_(bytes) {}

  [[nodiscard]] std::uint64_t bytes() const noexcept override { return bytes_; }
  [[nodiscard]] std::string origin() const override { return "a test"; }
  void read(std::uint64_t offset, std::span<std::byte> dst) const override {
    log_.enter(content_);
    std::memcpy(dst.data(), frame_.data() + offset, dst.size());
    log_.leave(dst.size());
    if (fault) fault();
  }

  std::function<void()> fault;  ///< may throw, after the bytes were moved

 private:
  remote_log& log_;
  std::uint64_t content_;
  page_frame frame_;
  std::size_t bytes_;
};

}  // namespace halocline::test
