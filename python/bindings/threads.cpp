// SPDX-License-Identifier: Apache-2.0
#include "threads.hpp"

#include <unistd.h>

#include "halocline/core/expects.hpp"

namespace halocline::python {
namespace {

namespace nb = nanobind;

/// Threads that never end hold objects that are never freed, which nanobind would report as leaks.
void at_exit() {
  PyThreadState* const first = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
  if (first != nullptr && PyThreadState_Next(first) != nullptr) nb::set_leak_warnings(false);
}

}  // namespace

bool is_finalizing() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

void sleep_forever() noexcept {
  for (;;) ::pause();
}

released::~released() {
  inside_.reset();
  if (is_finalizing()) sleep_forever();
  try {
    PyEval_RestoreThread(state_);
  } catch (...) {  // the interpreter has ended while this thread waited for the lock
    sleep_forever();
  }
}

guarded_place::guarded_place(memory::runtime& runtime, std::shared_ptr<void> owner)
    : owner_(std::move(owner)),
      hook_(fork_order::context,
            {[this](fork_deadline until) { return try_lock_until(mutex, until); }, [this] { mutex.unlock(); },
             [this, &runtime](bool held) {
               renew_in_child(mutex);
               if (held || lost) return;
               lost = true;
               runtime.abandon();
               static_cast<void>(new std::shared_ptr<void>(owner_));  // it is half changed
             }}) {}

void guarded_place::check() const {
  HALOCLINE_EXPECTS(!lost, device_error,
                    "this engine, client or server was made before this process was forked, and another "
                    "thread was computing with it at the fork; make one in the child, fork when no thread "
                    "computes, or start worker processes with 'spawn'");
}

void expect_threads_at_exit() { nb::module_::import_("atexit").attr("register")(nb::cpp_function(at_exit)); }

}  // namespace halocline::python
