// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include "seal/util/defines.h"

namespace seal::halocline_detail {

/// What keys have on devices: by device and context, made by the evaluator, dropped when `data()` is asked
/// for mutably.
class device_keys {
 public:
  device_keys() = default;
  device_keys(const device_keys&) = delete;
  device_keys& operator=(const device_keys&) = delete;
  virtual ~device_keys() = default;
};

/// Where keys hold them. Guarded: programs ask common keys for `data()` while other threads compute with
/// them.
class keys_slot {
 public:
  using handle = std::shared_ptr<device_keys>;

  keys_slot() = default;
  keys_slot(const keys_slot& other) : held_(other.get()) {}
  keys_slot(keys_slot&& other) noexcept : held_(other.exchange(nullptr)) {}
  keys_slot& operator=(const keys_slot& other) {
    if (this != &other) exchange(other.get());
    return *this;
  }
  keys_slot& operator=(keys_slot&& other) noexcept {
    if (this != &other) exchange(other.exchange(nullptr));
    return *this;
  }
  ~keys_slot() = default;

  [[nodiscard]] handle get() const {
    const std::scoped_lock lock(mutex_);
    return held_;
  }
  /// What is there, or what `make()` gives.
  template <typename MakeT>
  [[nodiscard]] handle get_or(MakeT make) {
    const std::scoped_lock lock(mutex_);
    if (!held_) held_ = make();
    return held_;
  }
  void reset() noexcept { exchange(nullptr); }

 private:
  /// What was there before; it is freed, if at all, without the lock.
  handle exchange(handle next) noexcept {
    const std::scoped_lock lock(mutex_);
    held_.swap(next);
    return next;
  }

  mutable std::mutex mutex_;
  handle held_;
};

}  // namespace seal::halocline_detail
