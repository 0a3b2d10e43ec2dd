// SPDX-License-Identifier: Apache-2.0
#include "read_ahead.hpp"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>

namespace halocline::storage {
namespace {

constexpr std::size_t most_batches = 2;
/// Of buffers that wait for their next use.
constexpr std::size_t most_spare = 2;

[[nodiscard]] bool is_same(const io::byte_range& a, const io::byte_range& b) noexcept {
  return a.offset == b.offset && a.bytes == b.bytes;
}

}  // namespace

/// What one call of `begin` asked for.
struct read_ahead::batch {
  std::vector<io::byte_range> parts;
  std::vector<std::byte> bytes;  ///< of all parts, one after the other
  ::pid_t owner = ::getpid();

  std::mutex mutex;
  std::condition_variable changed;
  bool is_done = false;
  std::exception_ptr failure;
  std::jthread thread;

  ~batch() {
    // The thread is one of the parent's, and so cannot be joined.
    if (owner != ::getpid()) static_cast<void>(new std::jthread(std::move(thread)));
  }

  void wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return is_done; });
  }
  [[nodiscard]] bool is_over() {
    const std::scoped_lock lock(mutex);
    return is_done;
  }
  [[nodiscard]] bool has_failed() {
    const std::scoped_lock lock(mutex);
    return is_done && failure;
  }
  void run(const fetcher& fetch, const std::stop_token& stop) noexcept {
    std::exception_ptr why;
    try {
      std::vector<range_read> reads;
      std::span<std::byte> rest(bytes);
      for (const io::byte_range& each : parts) {
        reads.push_back({each.offset, rest.first(each.bytes)});
        rest = rest.subspan(each.bytes);
      }
      fetch(reads, stop);
    } catch (...) {
      why = std::current_exception();
    }
    const std::scoped_lock lock(mutex);
    failure = why;
    is_done = true;
    changed.notify_all();
  }
  /// Where a range is, or nullptr.
  [[nodiscard]] const std::byte* at(std::uint64_t offset, std::uint64_t count) const noexcept {
    const std::byte* place = bytes.data();
    for (const io::byte_range& each : parts) {
      if (offset >= each.offset && offset + count <= each.offset + each.bytes) {
        return place + (offset - each.offset);
      }
      place += each.bytes;
    }
    return nullptr;
  }
};

/// Sets that are no longer needed: their fetches are given up, and waited for, when it ends.
class read_ahead::dropping {
 public:
  dropping() = default;
  ~dropping() {
    for (const auto& each : batches_) each->thread.request_stop();
  }
  dropping(const dropping&) = delete;
  dropping& operator=(const dropping&) = delete;

  void take(batches& from, batches::iterator at) {
    batches_.push_back(std::move(*at));
    from.erase(at);
  }

 private:
  batches batches_;
};

read_ahead::read_ahead(fetcher fetch) : fetch_(std::move(fetch)) {}

read_ahead::~read_ahead() {
  dropping all;
  drop_foreign();
  while (!batches_.empty()) all.take(batches_, batches_.begin());
}

void read_ahead::drop_foreign() {
  if (std::erase_if(batches_, [](const auto& each) { return each->owner != ::getpid(); }) > 0) spare_.clear();
}

std::vector<std::byte> read_ahead::room(std::uint64_t bytes) {
  std::vector<std::byte> out;
  if (!spare_.empty()) {
    out = std::move(spare_.back());
    spare_.pop_back();
  }
  out.resize(bytes);
  return out;
}

void read_ahead::begin(const std::vector<io::byte_range>& parts) {
  dropping dropped;  // ends after the lock
  const std::scoped_lock lock(mutex_);
  drop_foreign();
  const auto same = std::ranges::find_if(
      batches_, [&](const auto& each) { return std::ranges::equal(each->parts, parts, is_same); });
  if (same != batches_.end()) {
    if (!(*same)->has_failed()) return;
    dropped.take(batches_, same);
  }
  while (batches_.size() >= most_batches) dropped.take(batches_, batches_.begin());
  const auto made = std::make_shared<batch>();
  made->parts = parts;
  std::uint64_t bytes = 0;
  for (const io::byte_range& each : parts) bytes += each.bytes;
  made->bytes = room(bytes);
  std::shared_ptr<batch> before = batches_.empty() ? nullptr : batches_.back();
  batch* const self = made.get();  // joins its thread, and so outlives it
  made->thread =
      std::jthread([self, before = std::move(before), fetch = fetch_](const std::stop_token& stop) mutable {
        if (before) before->wait();  // no more connections at once than were asked for
        before.reset();
        self->run(fetch, stop);
      });
  batches_.push_back(made);
}

std::shared_ptr<read_ahead::batch> read_ahead::find(std::uint64_t offset, std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  drop_foreign();
  for (const auto& each : batches_) {
    if (each->at(offset, bytes) != nullptr) return each;
  }
  return nullptr;
}

bool read_ahead::copy(std::uint64_t offset, std::span<std::byte> dst) {
  const std::shared_ptr<batch> found = find(offset, dst.size());
  if (!found) return false;
  found->wait();
  if (found->failure) {
    {
      const std::scoped_lock lock(mutex_);
      std::erase(batches_, found);  // the next `begin` tries again
    }
    std::rethrow_exception(found->failure);
  }
  std::memcpy(dst.data(), found->at(offset, dst.size()), dst.size());
  return true;
}

void read_ahead::forget(const std::vector<io::byte_range>& parts) {
  dropping dropped;
  const std::scoped_lock lock(mutex_);
  drop_foreign();
  const auto same = std::ranges::find_if(
      batches_, [&](const auto& each) { return std::ranges::equal(each->parts, parts, is_same); });
  if (same == batches_.end()) return;
  // Another reader may copy from it just now.
  const bool is_free = same->use_count() == 1 && (*same)->is_over();
  if (is_free && spare_.size() < most_spare) spare_.push_back(std::move((*same)->bytes));
  dropped.take(batches_, same);
}

}  // namespace halocline::storage
