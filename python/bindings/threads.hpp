// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "halocline/ckks/context.hpp"
#include "halocline/core/process.hpp"

/// Threads of Python: what the interpreter lock, forks and the end of the interpreter ask for.
namespace halocline::python {

/// Sleeps for good. For threads that are still at work when the interpreter ends: Python up to 3.13 ends them
/// with pthread_exit, which unwinds their stack, and frames that may not throw abort the process then. From
/// 3.14 on Python does the same as this.
[[noreturn]] void sleep_forever() noexcept;

/// Whether the interpreter is ending: only its main thread may still take the interpreter lock. Needs no
/// lock.
[[nodiscard]] bool is_finalizing() noexcept;

/// Releases the interpreter lock while it lives; the process does not fork meanwhile.
class released {
 public:
  /// What a fork does meanwhile. It may go on where a thread waits for a network and all state on its way is
  /// renewed in children.
  enum class forks : unsigned char { wait, go_on };

  explicit released(forks meanwhile = forks::wait) noexcept : state_(PyEval_SaveThread()) {
    if (meanwhile == forks::wait) inside_.emplace();
  }
  ~released();
  released(const released&) = delete;
  released& operator=(const released&) = delete;

 private:
  PyThreadState* state_;
  std::optional<fork_gate::scope> inside_;
};

/// Calls back into Python from within C++, where a thread may meet the end of the interpreter.
template <typename BodyT>
auto call_python(BodyT body) {
  try {
    return body();
  } catch (const std::exception&) {
    throw;
  } catch (...) {  // not an exception: the stack is being unwound
    sleep_forever();
  }
}

/// The lock that serialises the use of what has one runtime, and what forks ask for.
struct guarded_place {
  /// @param of what has the runtime, kept alive
  template <typename OwnerT>
  explicit guarded_place(const std::shared_ptr<OwnerT>& of) : guarded_place(of->runtime(), of) {}

  /// @throws device_error in a forked child, when another thread was computing here at the fork
  void check() const;

  std::mutex mutex;
  /// In a forked child: another thread, which the child does not have, was at work here at the fork. Nothing
  /// here is touched any more, nor destroyed.
  bool lost = false;

 private:
  guarded_place(memory::runtime& runtime, std::shared_ptr<void> owner);

  std::shared_ptr<void> owner_;
  fork_hook hook_;
};

/// A context and the lock that serialises its use. Every object that holds buffers holds the domain they live
/// in, so objects may be destroyed in any order.
struct domain : guarded_place {
  explicit domain(std::shared_ptr<ckks::context> c) : guarded_place(c), ctx(std::move(c)) {}

  std::shared_ptr<ckks::context> ctx;

  // What one thread has asked for must not reach the operations of another one. Under the mutex.
  std::set<std::thread::id> manual;  ///< threads whose products are not maintained
  std::thread::id routed{};          ///< the thread whose rotations follow routes
  std::thread::id watched{};         ///< the thread whose operations are counted
  std::uint64_t watched_operations = 0;
};

/// Deletes what belongs to a place unless that is lost.
template <typename ValueT>
struct unless_lost {
  std::shared_ptr<guarded_place> where;
  void operator()(ValueT* value) const noexcept {
    if (!where->lost) delete value;
  }
};

template <typename ValueT>
using owned = std::unique_ptr<ValueT, unless_lost<ValueT>>;

template <typename ValueT>
[[nodiscard]] owned<ValueT> own(const std::shared_ptr<guarded_place>& where, std::unique_ptr<ValueT> value) {
  return owned<ValueT>(value.release(), {where});
}

/// Runs `body` without the interpreter lock while it holds one place.
template <typename BodyT>
auto locked(guarded_place& where, BodyT body) {
  const released meanwhile;
  where.check();
  const std::scoped_lock lock(where.mutex);
  return body();
}

/// The same with two places, which may be one.
template <typename BodyT>
auto locked(guarded_place& a, guarded_place& b, BodyT body) {
  if (&a == &b) return locked(a, std::move(body));
  const released meanwhile;
  a.check();
  b.check();
  const std::scoped_lock lock(a.mutex, b.mutex);
  return body();
}

/// Sees to it that the end of the interpreter says nothing of objects that threads still hold then.
void expect_threads_at_exit();

}  // namespace halocline::python
