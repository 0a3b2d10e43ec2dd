// SPDX-License-Identifier: Apache-2.0
// One thread owns the ring. The kernel cancels requests of a thread that ends and interrupts the thread that
// submitted them, so callers' threads must not submit; and only a thread that sleeps in the ring can take the
// time when a request ends, which the statistics of a link need.
#include "memory/tier/io_engines.hpp"

#ifndef HALOCLINE_IO_URING

namespace halocline::memory {

std::unique_ptr<io_queue> make_uring_queue(io_listener&, unsigned, const char*& reason) {
  reason = "built without liburing";
  return nullptr;
}

}  // namespace halocline::memory

#else

#include <liburing.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include "halocline/core/expects.hpp"

namespace halocline::memory {
namespace {

/// The kernel moves at most 2 GiB less a page per request.
constexpr std::size_t largest_request = std::size_t{1} << 30;

/// A ring and the event descriptor that wakes the thread that sleeps in it.
class ring_pair {
 public:
  ring_pair() = default;
  ~ring_pair() {
    if (made_) io_uring_queue_exit(&ring_);
    if (event_ >= 0) ::close(event_);
  }
  ring_pair(const ring_pair&) = delete;
  ring_pair& operator=(const ring_pair&) = delete;

  /// Makes both; returns why not, or nullptr.
  [[nodiscard]] const char* make(unsigned entries) {
    const int failure = io_uring_queue_init(entries, &ring_, 0);
    if (failure < 0) return std::strerror(-failure);
    made_ = true;
    if (!reads_and_writes()) return "this kernel is too old; Linux 5.6 has it";
    event_ = ::eventfd(0, EFD_CLOEXEC);
    return event_ < 0 ? std::strerror(errno) : nullptr;
  }

  [[nodiscard]] io_uring* ring() noexcept { return &ring_; }
  [[nodiscard]] int event() const noexcept { return event_; }

 private:
  /// Linux 5.1 to 5.5 have io_uring without plain reads.
  [[nodiscard]] bool reads_and_writes() {
    io_uring_probe* const probe = io_uring_get_probe_ring(&ring_);
    if (probe == nullptr) return false;
    const bool both = io_uring_opcode_supported(probe, IORING_OP_READ) != 0 &&
                      io_uring_opcode_supported(probe, IORING_OP_WRITE) != 0;
    io_uring_free_probe(probe);
    return both;
  }

  io_uring ring_{};
  bool made_ = false;
  int event_ = -1;
};

class uring_queue final : public io_queue {
 public:
  uring_queue(io_listener& listener, unsigned depth, std::unique_ptr<ring_pair> rings)
      : listener_(listener), rings_(std::move(rings)), ring_(rings_->ring()), running_(depth) {
    idle_.reserve(depth);
    for (running_request& each : running_) idle_.push_back(&each);
    const signals_blocked blocked;
    try {
      thread_ = std::thread([this] { work(); });
    } catch (const std::system_error& failure) {
      throw io_error(text("I/O queue: cannot start a thread (", failure.what(), ")"));
    }
  }
  ~uring_queue() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      wake();
    }
    thread_.join();
  }
  uring_queue(const uring_queue&) = delete;
  uring_queue& operator=(const uring_queue&) = delete;

  [[nodiscard]] std::string_view name() const noexcept override { return "io_uring"; }

  void submit(std::span<const io_request> requests) override {
    const std::lock_guard lock(mutex_);
    waiting_.add(requests);
    wake();
  }

  void prioritize(std::uint64_t tag) override {
    const std::lock_guard lock(mutex_);
    waiting_.prioritize(tag);
  }

  [[nodiscard]] bool pause(fork_deadline until) override {
    std::unique_lock lock(mutex_);
    paused_ = true;
    return rest_.wait_until(lock, until, [this] { return running_now_ == 0; });
  }

  void resume() override {
    const std::lock_guard lock(mutex_);
    paused_ = false;
    wake();
  }

 private:
  struct running_request {
    io_request request;
    std::size_t moved = 0;
  };

  /// Makes the read of the event descriptor end, once per look of the thread. Under the mutex.
  void wake() noexcept {
    if (woken_) return;
    woken_ = true;
    const std::uint64_t one = 1;
    while (::write(rings_->event(), &one, sizeof one) < 0 && errno == EINTR) {
    }
  }

  void work() noexcept {
    listen();
    while (begin_waiting()) {
      if (io_uring_submit_and_wait(ring_, 1) < 0)
        std::this_thread::yield();  // interrupted, or short of memory
      io_uring_cqe* entry = nullptr;
      while (io_uring_peek_cqe(ring_, &entry) == 0) {
        auto* const ended = static_cast<running_request*>(io_uring_cqe_get_data(entry));
        const int result = entry->res;
        io_uring_cqe_seen(ring_, entry);
        if (ended == nullptr) {
          listening_ = false;
          listen();
        } else {
          proceed(*ended, result);
        }
      }
    }
  }

  /// Begins as many requests as the depth allows; false when none is left and none will come.
  [[nodiscard]] bool begin_waiting() noexcept {
    const std::lock_guard lock(mutex_);
    running_now_ = running_.size() - idle_.size();
    if (paused_ && running_now_ == 0) rest_.notify_all();
    while (!paused_ && !idle_.empty() && !waiting_.empty()) {
      running_request& next = *idle_.back();
      idle_.pop_back();
      next = {waiting_.take(), 0};
      prepare(next);
      ++running_now_;
    }
    return !stopping_ || listening_ || idle_.size() < running_.size();
  }

  /// Waits for the next wake-up beside the requests.
  void listen() noexcept {
    {
      const std::lock_guard lock(mutex_);
      woken_ = false;
      if (stopping_) return;
    }
    io_uring_sqe* const entry = next_entry();
    listening_ = true;
    io_uring_prep_read(entry, rings_->event(), &event_value_, sizeof event_value_, 0);
    io_uring_sqe_set_data(entry, nullptr);
  }

  void prepare(running_request& running) noexcept {
    const io_request& request = running.request;
    const auto bytes = static_cast<unsigned>(std::min(request.bytes - running.moved, largest_request));
    std::byte* const data = request.data + running.moved;
    io_uring_sqe* const entry = next_entry();
    if (request.write) {
      io_uring_prep_write(entry, request.file, data, bytes, request.offset + running.moved);
    } else {
      io_uring_prep_read(entry, request.file, data, bytes, request.offset + running.moved);
    }
    io_uring_sqe_set_data(entry, &running);
  }

  /// Continues a request that came back with `result` bytes or -errno, or reports its end.
  void proceed(running_request& running, int result) noexcept {
    const bool again = result < 0 && is_transient(-result);
    if (result > 0) running.moved += static_cast<std::size_t>(result);
    if (again || (result > 0 && running.moved < running.request.bytes)) return prepare(running);
    const int nothing_moved = running.request.write ? ENOSPC : io_end_of_file;
    const int error = result > 0 ? 0 : result == 0 ? nothing_moved : true_error(running.request, -result);
    listener_.ended(running.request, running.moved, error);
    idle_.push_back(&running);
  }

  /// The ring has an entry for each request and the wake-up, so there is one as soon as the kernel has taken
  /// what was prepared.
  [[nodiscard]] io_uring_sqe* next_entry() noexcept {
    io_uring_sqe* entry = nullptr;
    while ((entry = io_uring_get_sqe(ring_)) == nullptr) {
      if (io_uring_submit(ring_) < 0) std::this_thread::yield();
    }
    return entry;
  }

  io_listener& listener_;
  std::unique_ptr<ring_pair> rings_;
  io_uring* ring_;  // this and the next four: only the thread's
  std::uint64_t event_value_ = 0;
  bool listening_ = false;  // a read of the event descriptor is under way, into event_value_
  std::vector<running_request> running_;
  std::vector<running_request*> idle_;
  std::mutex mutex_;  // of what follows
  waiting_requests waiting_;
  std::condition_variable rest_;
  std::size_t running_now_ = 0;  // requests, as of the thread's last look
  bool paused_ = false;
  bool woken_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<io_queue> make_uring_queue(io_listener& listener, unsigned depth, const char*& reason) {
  auto rings = std::make_unique<ring_pair>();
  const char* const failure = rings->make(depth + 1);  // one more for the wake-up
  if (failure != nullptr) {
    reason = failure;
    return nullptr;
  }
  return std::make_unique<uring_queue>(listener, depth, std::move(rings));
}

}  // namespace halocline::memory

#endif
