// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>

#include "halocline/core/expects.hpp"
#include "halocline/core/format.hpp"
#include "halocline/memory/tier/store.hpp"
#include "support/fault_script.hpp"

namespace halocline::test {

/// A store with scripted faults and delays, deterministic. A failed transfer moves about half of the bytes;
/// the rest of a frame that was read is overwritten, so that its use cannot go unnoticed. A transfer takes
/// its turn on the link of its direction (bytes / bytes_per_second), then waits for the delay; busy times
/// count both. Numbers of calls run on when the script changes.
class faulty_store final : public memory::store {
 public:
  faulty_store(std::unique_ptr<memory::store> inner, const fault_script& script)
      : inner_(std::move(inner)), script_(script) {}
  faulty_store(const faulty_store&) = delete;
  faulty_store& operator=(const faulty_store&) = delete;

  [[nodiscard]] std::string_view name() const noexcept override { return inner_->name(); }
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] memory::slot_id allocate(std::size_t bytes) override;
  void free(memory::slot_id slot) noexcept override { inner_->free(slot); }
  [[nodiscard]] memory::transfer_id read_from(memory::slot_id slot, std::size_t offset, std::byte* frame,
                                              std::size_t bytes) override;
  [[nodiscard]] memory::transfer_id write(memory::slot_id slot, const std::byte* frame,
                                          std::size_t bytes) override;
  [[nodiscard]] bool poll(memory::transfer_id transfer) override;
  void wait(memory::transfer_id transfer) override;
  [[nodiscard]] memory::store_stats statistics() const override;

  /// Goes on with another script.
  void set_script(const fault_script& script) noexcept { script_ = script; }
  /// What happened so far.
  [[nodiscard]] const fault_counts& counts() const noexcept { return counts_; }

 private:
  using clock = std::chrono::steady_clock;
  enum class fault : std::uint8_t { none, read_error, short_read, write_error, damaged_read };
  static constexpr std::size_t page_bytes = 4096;
  static constexpr int garbage = 0xA5;
  struct transfer {
    std::optional<memory::transfer_id> inner;  // none: nothing is moved
    clock::time_point ready;
    fault struck = fault::none;
    std::byte* frame = nullptr;  // of a read
    std::size_t bytes = 0;
  };
  struct link {
    clock::time_point free_at;     // when what was given to it so far is through
    clock::time_point busy_until;  // the same with delays
    clock::duration busy{0};       // up to then
  };

  /// What a failed transfer moves.
  static constexpr std::size_t half(std::size_t bytes) noexcept {
    return bytes / 2 / page_bytes * page_bytes;
  }
  [[nodiscard]] clock::time_point schedule(link& direction, std::size_t bytes) const;
  [[nodiscard]] memory::transfer_id add(const transfer& started);

  std::unique_ptr<memory::store> inner_;
  fault_script script_;
  fault_counts counts_;
  link reads_;
  link writes_;
  std::unordered_map<memory::transfer_id, transfer> transfers_;
  memory::transfer_id next_transfer_ = 0;
};

inline std::string faulty_store::describe() const {
  return text(inner_->describe(), ", with injected faults",
              script_.bytes_per_second == 0
                  ? std::string()
                  : ", at " + format_bytes(script_.bytes_per_second) + " per second",
              script_.delay.count() == 0 ? std::string() : text(", ", script_.delay.count(), " us late"));
}

inline memory::slot_id faulty_store::allocate(std::size_t bytes) {
  if (script_.disk_full.contains(++counts_.allocations)) {
    ++counts_.disk_full;
    throw io_error(text("injected fault: no room for ", format_bytes(bytes), " (", bytes, " bytes), call ",
                        counts_.allocations, "; take the fault out of the script"));
  }
  return inner_->allocate(bytes);
}

inline memory::transfer_id faulty_store::read_from(memory::slot_id slot, std::size_t offset, std::byte* frame,
                                                   std::size_t bytes) {
  const std::uint64_t call = counts_.reads + 1;
  transfer started;
  started.struck = script_.read_error.contains(call)     ? fault::read_error
                   : script_.short_read.contains(call)   ? fault::short_read
                   : script_.damaged_read.contains(call) ? fault::damaged_read
                                                         : fault::none;
  const std::size_t moved = started.struck == fault::none ? bytes : half(bytes);
  if (moved > 0) started.inner = inner_->read_from(slot, offset, frame, moved);
  counts_.reads = call;
  counts_.read_errors += started.struck == fault::read_error ? 1 : 0;
  counts_.short_reads += started.struck == fault::short_read ? 1 : 0;
  counts_.damaged_reads += started.struck == fault::damaged_read ? 1 : 0;
  started.ready = schedule(reads_, bytes);
  started.frame = frame;
  started.bytes = bytes;
  return add(started);
}

inline memory::transfer_id faulty_store::write(memory::slot_id slot, const std::byte* frame,
                                               std::size_t bytes) {
  const std::uint64_t call = counts_.writes + 1;
  transfer started;
  if (script_.write_error.contains(call)) started.struck = fault::write_error;
  const std::size_t moved = started.struck == fault::none ? bytes : half(bytes);
  if (moved > 0) started.inner = inner_->write(slot, frame, moved);
  counts_.writes = call;
  counts_.write_errors += started.struck == fault::write_error ? 1 : 0;
  started.ready = schedule(writes_, bytes);
  started.bytes = bytes;
  return add(started);
}

inline bool faulty_store::poll(memory::transfer_id id) {
  const auto found = transfers_.find(id);
  if (found == transfers_.end()) return true;
  const bool moved = !found->second.inner || inner_->poll(*found->second.inner);
  return moved && clock::now() >= found->second.ready;
}

inline void faulty_store::wait(memory::transfer_id id) {
  const auto found = transfers_.find(id);
  HALOCLINE_EXPECTS(found != transfers_.end(), invalid_argument, "faulty store: no transfer ", id);
  const transfer ended = found->second;
  transfers_.erase(found);
  std::this_thread::sleep_until(ended.ready);
  if (ended.inner) inner_->wait(*ended.inner);
  if (ended.struck == fault::none) return;
  const std::size_t moved = half(ended.bytes);
  if (ended.frame != nullptr) std::memset(ended.frame + moved, garbage, ended.bytes - moved);
  if (ended.struck == fault::damaged_read) {
    throw corrupt_data(text("injected fault: wrong bytes after ", moved, " of ", ended.bytes,
                            "; take the fault out of the script"));
  }
  const char* const what = ended.struck == fault::read_error   ? "read error"
                           : ended.struck == fault::short_read ? "short read"
                                                               : "write error";
  throw io_error(text("injected fault: ", what, " after ", moved, " of ", ended.bytes,
                      " bytes; take the fault out of the script"));
}

inline memory::store_stats faulty_store::statistics() const {
  memory::store_stats result = inner_->statistics();
  const auto busy_ns = [now = clock::now()](const link& direction) {
    const clock::duration ahead = std::max(clock::duration::zero(), direction.busy_until - now);
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(direction.busy - ahead).count());
  };
  result.read_busy_ns = std::max(result.read_busy_ns, busy_ns(reads_));
  result.written_busy_ns = std::max(result.written_busy_ns, busy_ns(writes_));
  return result;
}

/// Gives a transfer its turn on a link; returns when it may end.
inline faulty_store::clock::time_point faulty_store::schedule(link& direction, std::size_t bytes) const {
  const clock::time_point now = clock::now();
  clock::duration turn{0};
  if (script_.bytes_per_second != 0) {
    turn = std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(
        static_cast<double>(bytes) / static_cast<double>(script_.bytes_per_second)));
  }
  direction.free_at = std::max(now, direction.free_at) + turn;
  const clock::time_point ready = direction.free_at + script_.delay;
  const clock::time_point since = std::max(now, direction.busy_until);
  if (ready > since) direction.busy += ready - since;
  direction.busy_until = std::max(direction.busy_until, ready);
  return ready;
}

inline memory::transfer_id faulty_store::add(const transfer& started) {
  transfers_.emplace(next_transfer_, started);
  return next_transfer_++;
}

}  // namespace halocline::test
