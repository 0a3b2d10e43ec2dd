// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace halocline::memory {

/// Holder of bytes of a budget that can be requested to release some.
class budget_member {
 public:
  virtual ~budget_member() = default;
  /// Releases `bytes` bytes that no step needs now, as far as there are so many, or more where fewer are not
  /// worth the effort; returns how many. Does nothing while the member is in use by another thread.
  virtual std::size_t reclaim(std::size_t bytes) noexcept = 0;
  /// Another member has joined, and most of the budget is in use: bytes will be requested soon.
  virtual void expect_reclaim() noexcept {}
  /// Whether it follows plans and none is under way.
  [[nodiscard]] virtual bool is_resting() const noexcept { return false; }

 private:
  friend class memory_budget;
  std::uint64_t last_need_ = 0;  ///< when it needed room last, by the budget's count
};

/// Bytes of the fast tier that one or several runtimes may use together. Each runtime has an account: another
/// view of the same budget, which counts what was taken through it. Thread-safe.
class memory_budget {
 public:
  /// @param bytes capacity; 0 means unlimited
  /// @param wait how long an allocation that does not fit waits for other accounts to release bytes
  explicit memory_budget(std::size_t bytes, std::chrono::milliseconds wait = {});
  ~memory_budget();
  memory_budget(const memory_budget&) = delete;
  memory_budget& operator=(const memory_budget&) = delete;
  /// The same budget for one more runtime.
  /// @param name for messages to the others
  [[nodiscard]] std::shared_ptr<memory_budget> open_account(std::string name);

  /// Takes bytes if they are free.
  [[nodiscard]] bool take(std::size_t bytes) noexcept;
  /// Hands bytes back.
  void give(std::size_t bytes) noexcept;
  /// Bytes that can still be taken; the largest number there is when the budget is unlimited.
  [[nodiscard]] std::size_t available() const noexcept;
  /// Bytes that may be taken in total; 0: unlimited.
  [[nodiscard]] std::size_t capacity() const noexcept;
  [[nodiscard]] std::size_t used() const noexcept;
  /// Largest `used` so far.
  [[nodiscard]] std::size_t peak() const noexcept;
  /// Changes the capacity if it is not below what is used now; returns whether it did.
  [[nodiscard]] bool set_capacity(std::size_t bytes) noexcept;

  /// What another account holds.
  struct holding {
    std::string name;
    std::size_t bytes = 0;
    bool waits = false;  ///< for bytes of others, at this moment
  };
  /// Bytes that this account holds.
  [[nodiscard]] std::size_t own() const noexcept;
  /// The other accounts that hold bytes, the largest first.
  [[nodiscard]] std::vector<holding> others() const;
  [[nodiscard]] std::chrono::milliseconds wait_limit() const noexcept;

  /// Whether three quarters of the budget are in use.
  [[nodiscard]] bool is_nearly_full() const noexcept;

  /// Members may be requested to release bytes; they leave before they are destroyed.
  void join(budget_member& member);
  void leave(budget_member& member) noexcept;
  /// Requests bytes from the members other than `asking`; returns how many they released.
  std::size_t reclaim(const budget_member* asking, std::size_t bytes) noexcept;
  std::size_t reclaim(const budget_member& asking, std::size_t bytes) noexcept {
    return reclaim(&asking, bytes);
  }
  /// The same of members that have not needed memory while others did so `idle_needs` times. Their bytes are
  /// likely to be older than any that the requesting member could evict itself.
  std::size_t reclaim_idle(budget_member& asking, std::size_t bytes) noexcept;
  /// The same of members that rest.
  std::size_t reclaim_resting(budget_member& asking, std::size_t bytes) noexcept;

  /// Called again and again, without locks, by threads that wait for bytes; may throw to end the waiting.
  /// For all budgets of the process; set before there are any.
  static void set_interruption(std::function<void()> check);

 private:
  friend class budget_wait;
  static constexpr std::uint64_t idle_needs = 16;
  struct common;
  memory_budget(std::shared_ptr<common> all, std::string name);
  template <typename IdleT>
  std::size_t reclaim_of(budget_member& asking, std::size_t bytes, const IdleT& is_idle) noexcept;

  std::shared_ptr<common> all_;
  holding mine_;  ///< under the mutex of `all_`
};

/// The wait of one allocation: waits for other accounts to release bytes, up to the time limit of the budget.
class budget_wait {
 public:
  explicit budget_wait(memory_budget& budget);
  ~budget_wait();
  budget_wait(const budget_wait&) = delete;
  budget_wait& operator=(const budget_wait&) = delete;

  /// Requests `bytes` bytes from the others and waits until some are released, at most a few hundredths of a
  /// second. Returns false at once when the others hold nothing or the time is over. The caller holds no
  /// lock.
  [[nodiscard]] bool next(const budget_member* asking, std::size_t bytes);
  /// What the wait was for, for messages; empty when there was none.
  [[nodiscard]] std::string outcome() const;

 private:
  memory_budget& budget_;
  std::chrono::steady_clock::time_point begin_{};
  bool waited_ = false;
};

}  // namespace halocline::memory
