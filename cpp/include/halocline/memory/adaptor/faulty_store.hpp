// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "halocline/memory/tier/store.hpp"

namespace halocline::memory {

/// Which calls of one kind a fault strikes: `count` calls from number `first` on, counted from 1. first 0:
/// none.
struct fault_window {
  std::uint64_t first = 0;
  std::uint64_t count = 1;
  /// Whether call number `call` is struck.
  [[nodiscard]] constexpr bool contains(std::uint64_t call) const noexcept {
    return first != 0 && call >= first && call - first < count;
  }
};

/// What goes wrong with a store, and how slow it is.
struct fault_script {
  fault_window disk_full;    ///< calls of `allocate` that throw
  fault_window read_error;   ///< reads whose `wait` throws
  fault_window short_read;   ///< reads that end after about half of the bytes; `wait` throws
  fault_window write_error;  ///< writes whose `wait` throws
  /// Reads whose `wait` throws corrupt_data, as a store does that finds wrong bytes.
  fault_window damaged_read;
  /// Every transfer ends at least this much later than its link would let it.
  std::chrono::microseconds delay{0};
  /// Speed of the link, of each direction; 0: as fast as the inner store.
  std::uint64_t bytes_per_second = 0;
};

/// What a faulty store has done so far.
struct fault_counts {
  std::uint64_t allocations = 0;  ///< calls of `allocate`
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t disk_full = 0;
  std::uint64_t read_errors = 0;
  std::uint64_t short_reads = 0;
  std::uint64_t write_errors = 0;
  std::uint64_t damaged_reads = 0;
};

/// A store that fails and is slow as a script says, always in the same way. A failed transfer moves about
/// half of the bytes; the rest of a frame that was read is overwritten, so that nobody can use it unnoticed.
/// A transfer takes its turn on the link of its direction (bytes / bytes_per_second), then waits for the
/// delay; busy times count both. Numbers of calls run on when the script changes.
class faulty_store final : public store {
 public:
  faulty_store(std::unique_ptr<store> inner, const fault_script& script);
  ~faulty_store() override;
  faulty_store(const faulty_store&) = delete;
  faulty_store& operator=(const faulty_store&) = delete;

  [[nodiscard]] std::string_view name() const noexcept override { return inner_->name(); }
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] slot_id allocate(std::size_t bytes) override;
  void free(slot_id slot) noexcept override { inner_->free(slot); }
  [[nodiscard]] transfer_id read_from(slot_id slot, std::size_t offset, std::byte* frame,
                                      std::size_t bytes) override;
  [[nodiscard]] transfer_id write(slot_id slot, const std::byte* frame, std::size_t bytes) override;
  [[nodiscard]] bool poll(transfer_id transfer) override;
  void wait(transfer_id transfer) override;
  [[nodiscard]] store_stats statistics() const override;

  /// Goes on with another script.
  void set_script(const fault_script& script) noexcept { script_ = script; }
  /// What happened so far.
  [[nodiscard]] const fault_counts& counts() const noexcept { return counts_; }

 private:
  using clock = std::chrono::steady_clock;
  enum class fault : std::uint8_t { none, read_error, short_read, write_error, damaged_read };
  struct transfer {
    std::optional<transfer_id> inner;  // none: nothing is moved
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

  [[nodiscard]] clock::time_point schedule(link& direction, std::size_t bytes) const;
  [[nodiscard]] transfer_id add(const transfer& started);

  std::unique_ptr<store> inner_;
  fault_script script_;
  fault_counts counts_;
  link reads_;
  link writes_;
  std::unordered_map<transfer_id, transfer> transfers_;
  transfer_id next_transfer_ = 0;
};

/// A disk of the given speed (bytes per second, each direction; 0: as fast as `inner`) and extra latency.
[[nodiscard]] std::unique_ptr<faulty_store> make_throttled_store(std::unique_ptr<store> inner,
                                                                 std::uint64_t bytes_per_second,
                                                                 std::chrono::microseconds delay = {});

}  // namespace halocline::memory
