// SPDX-License-Identifier: Apache-2.0
#include "memory/tier/transfer_threads.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "halocline/core/clock.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::memory {

transfer_threads::~transfer_threads() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    waiting_.clear();
    changed_.notify_all();
  }
  for (std::thread& each : threads_) each.join();
}

void transfer_threads::start(transfer_id id, std::size_t bytes, std::function<void()> copy) {
  const std::lock_guard lock(mutex_);
  transfer& made = transfers_[id];
  made.bytes = bytes;
  made.copy = std::move(copy);
  made.place = waiting_.insert(waiting_.end(), id);
  made.waits = true;
  if (threads_.size() < most_ && waiting_.size() + under_way_ > threads_.size()) {
    try {
      threads_.emplace_back([this] { work(); });
    } catch (const std::system_error& failure) {
      if (threads_.empty()) {
        waiting_.pop_back();
        transfers_.erase(id);
        throw io_error(text("no thread can be started for transfers: ", failure.what()));
      }
    }
  }
  changed_.notify_one();
}

bool transfer_threads::has_ended(transfer_id id) const {
  const std::lock_guard lock(mutex_);
  const auto found = transfers_.find(id);
  return found == transfers_.end() || found->second.has_ended;
}

void transfer_threads::wait(transfer_id id) {
  std::unique_lock lock(mutex_);
  transfer& of = transfers_.at(id);  // stays where it is when others come
  if (of.waits) waiting_.splice(waiting_.begin(), waiting_, of.place);
  ended_.wait(lock, [&] { return of.has_ended; });
  const std::exception_ptr failure = of.failure;
  transfers_.erase(id);
  lock.unlock();
  if (failure) std::rethrow_exception(failure);
}

void transfer_threads::report(link_stats& to) const {
  const std::lock_guard lock(mutex_);
  to.requests = most_;
  to.reads += sums_.reads;
  to.read_bytes += sums_.read_bytes;
  to.read_busy_ns += sums_.read_busy_ns + (under_way_ == 0 ? 0 : now_ns() - busy_since_);
  to.largest_read_ns = std::max(to.largest_read_ns, sums_.largest_read_ns);
}

void transfer_threads::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return over_ || !waiting_.empty(); });
    if (over_) return;
    const transfer_id id = waiting_.front();
    begin(id);
    const std::function<void()> copy = std::move(transfers_.at(id).copy);
    lock.unlock();
    const std::uint64_t began = now_ns();
    std::exception_ptr failure;
    try {
      copy();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    end(id, began, std::move(failure));
  }
}

void transfer_threads::begin(transfer_id id) {
  waiting_.pop_front();
  transfers_.at(id).waits = false;
  if (under_way_++ == 0) busy_since_ = now_ns();
}

void transfer_threads::end(transfer_id id, std::uint64_t began, std::exception_ptr failure) {
  const std::uint64_t now = now_ns();
  if (--under_way_ == 0) sums_.read_busy_ns += now - busy_since_;
  transfer& of = transfers_.at(id);
  if (!failure) {
    ++sums_.reads;
    sums_.read_bytes += of.bytes;
    sums_.largest_read_ns = std::max(sums_.largest_read_ns, now - began);
  }
  of.failure = std::move(failure);
  of.has_ended = true;
  ended_.notify_all();
}

}  // namespace halocline::memory
