// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <vector>

#include "halocline/core/expects.hpp"
#include "memory/tier/io_engines.hpp"

namespace halocline::memory {
namespace {

/// More threads would only wait for the same disk; fewer leave it idle between two requests.
constexpr unsigned thread_count = 4;

class thread_queue final : public io_queue {
 public:
  thread_queue(io_listener& listener, unsigned depth) : listener_(listener) {
    const signals_blocked blocked;
    try {
      for (unsigned i = std::min(depth, thread_count); i > 0; --i) threads_.emplace_back([this] { work(); });
    } catch (const std::system_error& failure) {
      stop();
      throw io_error(text("I/O queue: cannot start a thread (", failure.what(), ")"));
    }
  }
  ~thread_queue() override { stop(); }
  thread_queue(const thread_queue&) = delete;
  thread_queue& operator=(const thread_queue&) = delete;

  [[nodiscard]] std::string_view name() const noexcept override { return "threads"; }

  void submit(std::span<const io_request> requests) override {
    const std::lock_guard lock(mutex_);
    waiting_.add(requests);
    wake_.notify_all();
  }

  void prioritize(std::uint64_t tag) override {
    const std::lock_guard lock(mutex_);
    waiting_.prioritize(tag);
  }

  [[nodiscard]] bool pause(fork_deadline until) override {
    std::unique_lock lock(mutex_);
    paused_ = true;
    return rest_.wait_until(lock, until, [this] { return running_ == 0; });
  }

  void resume() override {
    const std::lock_guard lock(mutex_);
    paused_ = false;
    wake_.notify_all();
  }

 private:
  void stop() noexcept {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      wake_.notify_all();
    }
    for (std::thread& each : threads_) each.join();
  }

  void work() noexcept {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return !paused_ && (stopping_ || !waiting_.empty()); });
      if (waiting_.empty()) return;
      const io_request request = waiting_.take();
      ++running_;
      lock.unlock();
      run(request);
      lock.lock();
      if (--running_ == 0) rest_.notify_all();
    }
  }

  void run(const io_request& request) noexcept {
    std::size_t moved = 0;
    while (moved < request.bytes) {
      const auto offset = static_cast<off_t>(request.offset + moved);
      std::byte* const data = request.data + moved;
      const std::size_t left = request.bytes - moved;
      const ssize_t result = request.write ? ::pwrite(request.file, data, left, offset)
                                           : ::pread(request.file, data, left, offset);
      if (result < 0 && is_transient(errno)) continue;
      if (result < 0) return listener_.ended(request, moved, true_error(request, errno));
      if (result == 0) return listener_.ended(request, moved, request.write ? ENOSPC : io_end_of_file);
      moved += static_cast<std::size_t>(result);
    }
    listener_.ended(request, moved, 0);
  }

  io_listener& listener_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable rest_;
  waiting_requests waiting_;
  unsigned running_ = 0;  ///< requests
  bool paused_ = false;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<io_queue> make_thread_queue(io_listener& listener, unsigned depth) {
  return std::make_unique<thread_queue>(listener, depth);
}

}  // namespace halocline::memory
