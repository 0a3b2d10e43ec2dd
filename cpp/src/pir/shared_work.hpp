// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <thread>

#include "halocline/core/shared_work.hpp"

/// How many threads share work on messages.
namespace halocline::pir {

/// Most threads, and least items for each: a thread takes some 30 us to begin.
inline constexpr std::size_t most_work_threads = 8;

/// Threads for `count` items that take `bytes` bytes of messages each. @param most threads of a backend: a
/// CPU that is to use one thread does
[[nodiscard]] inline std::size_t work_threads(std::size_t count, std::size_t bytes, std::size_t most) {
  constexpr std::size_t bytes_per_thread = std::size_t{128} << 10;
  const std::size_t cores = std::min<std::size_t>(most, std::max(1U, std::thread::hardware_concurrency()));
  return std::clamp<std::size_t>(count * bytes / bytes_per_thread, 1, std::min(cores, most_work_threads));
}

}  // namespace halocline::pir
