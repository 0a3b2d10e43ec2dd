// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace halocline::backend {

/// Names of the operations that a thread is in, from the outside in; deeper ones are only counted.
struct operation_stack {
  static constexpr std::size_t capacity = 8;
  std::array<const char*, capacity> names{};
  std::size_t depth = 0;
  std::uint64_t serial = 0;  ///< number of the outermost operation in this thread

  [[nodiscard]] std::size_t named() const noexcept { return depth < capacity ? depth : capacity; }
};

/// The calling thread's.
[[nodiscard]] operation_stack& this_thread_operations() noexcept;

/// Called at the begin and end of every `scoped_operation`, in its thread.
struct operation_hooks {
  void (*begin)(const char* name) noexcept;
  void (*end)() noexcept;
};
/// Hooks for the whole process, for ranges of external profilers. They live until the process ends.
void set_operation_hooks(const operation_hooks* hooks) noexcept;

}  // namespace halocline::backend
