// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "halocline/backend/backend.hpp"

namespace halocline::backend {

/// Brackets a program that is likely to run again: see `backend::begin_program`.
class program_scope {
 public:
  program_scope(backend& on, std::uint64_t key) : on_(&on) { on.begin_program(key); }
  /// Ends the program unless `finish` did. An error that is found only now is lost: call `finish`.
  ~program_scope() {
    try {
      finish();
    } catch (...) {  // a destructor cannot report it
    }
  }
  program_scope(const program_scope&) = delete;
  program_scope& operator=(const program_scope&) = delete;

  /// Ends the program.
  /// @throws device_error naming the operation whose kernel could not be launched
  void finish() {
    backend* const on = on_;
    on_ = nullptr;
    if (on != nullptr) on->end_program();
  }

 private:
  backend* on_;
};

}  // namespace halocline::backend
