// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

/// What a library with threads, locks and keys has to do when a program forks.
///
/// A child of `fork` has a copy of all memory and only the thread that forked. State that another thread was
/// changing is inconsistent there, and locks that it held stay locked. So the library quiesces before a fork
/// (`fork_gate`, `fork_hook`), and objects record the process that made them (`process_generation`).
namespace halocline {

/// A number of this process that none of its ancestors had: it changes in every child. Costs one read of
/// memory where the kernel wipes a page in every child (MADV_WIPEONFORK), however that child was made; else a
/// handler of `pthread_atfork` and a comparison of process identifiers tell. Thread-safe.
[[nodiscard]] std::uint64_t process_generation() noexcept;

/// Until when a fork waits for other threads.
using fork_deadline = std::chrono::steady_clock::time_point;

/// The order in which objects quiesce; later ones are used by earlier ones.
enum class fork_order : std::uint8_t { context, runtime, budget, store, table };

/// What to do with an object around a fork. None may throw.
struct fork_actions {
  /// Quiesces the object; false when that did not succeed before the deadline.
  std::function<bool(fork_deadline)> hold;
  /// In the parent, if `hold` succeeded.
  std::function<void()> resume;
  /// In the child; with whether `hold` succeeded.
  std::function<void(bool)> in_child;
};

/// Registers actions during its lifetime. Make it the last member of the object that it belongs to.
class fork_hook {
 public:
  fork_hook(fork_order when, fork_actions actions);
  ~fork_hook();
  fork_hook(const fork_hook&) = delete;
  fork_hook& operator=(const fork_hook&) = delete;

  /// A registered hook.
  struct entry {
    fork_order when;
    fork_actions actions;
    bool held = false;
  };

 private:
  std::list<entry>::iterator place_;
};

/// Locks by trying until a deadline.
template <typename MutexT>
[[nodiscard]] bool try_lock_until(MutexT& mutex, fork_deadline until) {
  while (!mutex.try_lock()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

/// Makes a mutex or a condition variable of a forked child new. Its old state counts threads that the child
/// does not have, and a recursive mutex cannot be unlocked there.
template <typename LockT>
void renew_in_child(LockT& lock) noexcept {
  std::construct_at(std::addressof(lock));
}

/// Actions of an object that one mutex guards.
template <typename MutexT>
[[nodiscard]] fork_actions fork_actions_of(MutexT& mutex) {
  return {[&mutex](fork_deadline until) { return try_lock_until(mutex, until); },
          [&mutex] { mutex.unlock(); }, [&mutex](bool) { renew_in_child(mutex); }};
}

/// A mutex for state that a forked child uses too: no other thread holds it at the moment of a fork.
class fork_mutex {
 public:
  explicit fork_mutex(fork_order when) : hook_(when, fork_actions_of(mutex_)) {}
  /// As of std::mutex.
  void lock() { mutex_.lock(); }
  /// As of std::mutex.
  void unlock() { mutex_.unlock(); }
  /// As of std::mutex.
  [[nodiscard]] bool try_lock() { return mutex_.try_lock(); }

 private:
  std::mutex mutex_;
  fork_hook hook_;
};

/// During the lifetime of a scope its thread is at work in the library: a fork by another thread waits for
/// its end, for up to `patience`, and scopes that would begin meanwhile wait for the fork. Scopes of one
/// thread may nest.
class fork_gate {
 public:
  /// At work while it lives.
  class scope {
   public:
    scope() noexcept { enter(); }
    ~scope() { leave(); }
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;
  };
  /// Longer than single operations on ciphertexts take, bootstrapping with large parameters left aside.
  static constexpr std::chrono::seconds patience{5};

 private:
  static void enter() noexcept;
  static void leave() noexcept;
};

}  // namespace halocline
