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
  released() noexcept : state_(PyEval_SaveThread()) { inside_.emplace(); }
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

/// A context and the lock that serialises its use. Every object that holds buffers holds the domain they live
/// in, so objects may be destroyed in any order.
struct domain {
  explicit domain(std::shared_ptr<ckks::context> c);

  /// @throws device_error in a forked child, when another thread was computing here at the fork
  void check() const;

  std::shared_ptr<ckks::context> ctx;
  std::mutex mutex;
  /// In a forked child: another thread, which the child does not have, was at work here at the fork. Nothing
  /// here is touched any more, nor destroyed.
  bool lost = false;

  // What one thread has asked for must not reach the operations of another one. Under the mutex.
  std::set<std::thread::id> manual;  ///< threads whose products are not maintained
  std::thread::id routed{};          ///< the thread whose rotations follow routes
  std::thread::id watched{};         ///< the thread whose operations are counted
  std::uint64_t watched_operations = 0;

  fork_hook hook;
};

/// Deletes what belongs to a domain unless that is lost.
template <typename ValueT>
struct unless_lost {
  std::shared_ptr<domain> where;
  void operator()(ValueT* value) const noexcept {
    if (!where->lost) delete value;
  }
};

template <typename ValueT>
using owned = std::unique_ptr<ValueT, unless_lost<ValueT>>;

template <typename ValueT>
[[nodiscard]] owned<ValueT> own(const std::shared_ptr<domain>& where, std::unique_ptr<ValueT> value) {
  return owned<ValueT>(value.release(), {where});
}

/// Runs `body` without the interpreter lock while it holds one domain.
template <typename BodyT>
auto locked(domain& where, BodyT body) {
  const released meanwhile;
  where.check();
  const std::scoped_lock lock(where.mutex);
  return body();
}

/// The same with two domains, which may be one.
template <typename BodyT>
auto locked(domain& a, domain& b, BodyT body) {
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
