// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/process_mutex.hpp"

#include "halocline/core/expects.hpp"

namespace halocline::memory {

process_mutex::process_mutex()
    : process_(process_generation()),
      hook_(fork_order::runtime, {[this](fork_deadline until) { return try_lock_until(mutex_, until); },
                                  [this] { mutex_.unlock(); },
                                  [this](bool held) {
                                    renew_in_child(mutex_);
                                    lost_ = lost_ || !held;
                                  }}) {}

bool process_mutex::is_foreign() const noexcept {
  return lost_ || (why_ != nullptr && process_generation() != process_);
}

void process_mutex::lock() {
  if (is_foreign()) {
    throw device_error(
        text("memory runtime: it was made before this process was forked, and ",
             lost_ ? "another thread was computing with it at the fork" : why_,
             "; make clients and engines in the child, or start worker processes with 'spawn'"));
  }
  mutex_.lock();
}

}  // namespace halocline::memory
