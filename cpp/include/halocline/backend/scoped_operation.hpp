// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace halocline::backend {

/// Names what the calling thread is computing while the object lives: "multiply", "rotate". Profiles group
/// the steps of backends under these names, one within the other, and profilers of devices show them as
/// ranges. Costs some nanoseconds when no profile is being made.
class scoped_operation {
 public:
  /// @param name a string literal
  explicit scoped_operation(const char* name) noexcept;
  ~scoped_operation();
  scoped_operation(const scoped_operation&) = delete;
  scoped_operation& operator=(const scoped_operation&) = delete;
};

}  // namespace halocline::backend
