// SPDX-License-Identifier: Apache-2.0
#include "memory/device/slab_maker.hpp"

#include <exception>
#include <numeric>
#include <system_error>
#include <utility>

#include "halocline/core/process.hpp"

namespace halocline::memory {

void slab_maker::order(std::size_t count, std::size_t bytes) {
  if (count == 0 || !is_here()) return;
  std::unique_lock lock(mutex_);
  const bool works = !ordered_.empty();
  ordered_.insert(ordered_.end(), count, bytes);
  if (works) return;
  lock.unlock();
  end_thread();
  try {
    process_ = process_generation();
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error&) {  // who needs a slab pins it then
    ordered_.clear();
  }
}

void slab_maker::work() {
  std::unique_lock lock(mutex_);
  while (!ordered_.empty()) {
    slab made{nullptr, ordered_.front()};
    lock.unlock();
    try {
      made.data = device_->allocate_pinned(made.bytes);
      lock.lock();
      if (made.data != nullptr) ready_.push_back(made);
    } catch (const std::exception&) {  // as if there were none: who needs it gets the error
      if (made.data != nullptr) device_->free_pinned(std::exchange(made.data, nullptr));
      if (!lock.owns_lock()) lock.lock();
    }
    if (made.data == nullptr) {
      ordered_.clear();
    } else if (!ordered_.empty()) {
      ordered_.pop_front();
    }
    changed_.notify_all();
  }
}

std::optional<slab_maker::slab> slab_maker::take() {
  if (!is_here()) return std::nullopt;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !ready_.empty() || ordered_.empty(); });
  if (ready_.empty()) return std::nullopt;
  const slab made = ready_.front();
  ready_.pop_front();
  return made;
}

std::size_t slab_maker::bytes() const {
  if (!is_here()) return 0;
  const std::lock_guard lock(mutex_);
  const std::size_t open = std::accumulate(ordered_.begin(), ordered_.end(), std::size_t{0});
  return std::accumulate(ready_.begin(), ready_.end(), open,
                         [](std::size_t sum, const slab& each) { return sum + each.bytes; });
}

void slab_maker::clear() noexcept {
  if (!is_here()) {  // the slabs are the parent's
    end_thread();
    ordered_.clear();
    return ready_.clear();
  }
  {
    const std::lock_guard lock(mutex_);
    ordered_.clear();
  }
  end_thread();
  for (const slab& each : ready_) device_->free_pinned(each.data);
  ready_.clear();
}

void slab_maker::end_thread() noexcept {
  if (!thread_.joinable()) return;
  is_here() ? thread_.join() : thread_.detach();
}

bool slab_maker::is_here() const noexcept { return !thread_.joinable() || process_ == process_generation(); }

}  // namespace halocline::memory
