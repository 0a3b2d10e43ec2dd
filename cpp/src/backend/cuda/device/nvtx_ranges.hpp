// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace halocline::backend::cuda {

/// Shows every `scoped_operation` of this process as a range to profilers that understand NVTX. Without one
/// attached a range costs some nanoseconds.
void show_operations();

/// A range of one ring-level operation, in the domain "halocline".
class nvtx_range {
 public:
  /// @param name text that a zero byte follows
  explicit nvtx_range(std::string_view name) noexcept;
  ~nvtx_range();
  nvtx_range(const nvtx_range&) = delete;
  nvtx_range& operator=(const nvtx_range&) = delete;
};

}  // namespace halocline::backend::cuda
