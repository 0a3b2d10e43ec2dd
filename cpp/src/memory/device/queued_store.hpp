// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halocline/memory/device_memory.hpp"
#include "halocline/memory/tier/store.hpp"

namespace halocline::memory {

/// A store whose transfers are queued in order on the lanes of an accelerator: `wait` makes the lanes wait
/// and not the host (as a rule), and the contents of a slot may be read as soon as its write has been
/// started.
class queued_store : public store {
 public:
  /// Releases a transfer in place of `wait`; the frame may be reused, and its next use is ordered behind the
  /// returned moments. Reads that have not begun are cancelled.
  virtual fence detach(transfer_id transfer) noexcept = 0;
  /// Between `begin_reads` and `end_reads` several reads may be ordered by the same moments, which costs
  /// fewer calls of a driver; waiting for one of them may mean waiting for those that follow it closely.
  virtual void begin_reads() noexcept = 0;
  virtual void end_reads() noexcept = 0;
  /// Work was queued on the compute lane: reads of the group are ordered behind it from now on.
  virtual void compute_went_on() noexcept = 0;
  /// Whether all reads whose copies were queued are done.
  [[nodiscard]] virtual bool is_idle() = 0;
};

}  // namespace halocline::memory
