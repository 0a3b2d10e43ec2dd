// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

/// Work of the host that several threads share: it lasts milliseconds, and uses no backend.
namespace halocline::pir {

/// Most threads, and least items for each: a thread takes some 30 us to begin.
inline constexpr std::size_t most_work_threads = 8;

/// body(i) for i < count on the calling thread and others. All items are done, also where some throw.
/// @throws what the first of them threw, by its number
template <typename BodyT>
void share_work(std::size_t count, std::size_t threads, const BodyT& body) {
  std::vector<std::exception_ptr> failed(count);
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        body(i);
      } catch (...) {
        failed[i] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      while (others.size() + 1 < std::min(threads, count)) others.emplace_back(work);
    } catch (const std::system_error&) {  // no more threads: the others do it
    }
    work();
  }
  for (const std::exception_ptr& each : failed) {
    if (each) std::rethrow_exception(each);
  }
}

/// Threads for `count` items that take `bytes` bytes of messages each. @param most threads of a backend: a
/// CPU that is to use one thread does
[[nodiscard]] inline std::size_t work_threads(std::size_t count, std::size_t bytes, std::size_t most) {
  constexpr std::size_t bytes_per_thread = std::size_t{128} << 10;
  const std::size_t cores = std::min<std::size_t>(most, std::max(1U, std::thread::hardware_concurrency()));
  return std::clamp<std::size_t>(count * bytes / bytes_per_thread, 1, std::min(cores, most_work_threads));
}

}  // namespace halocline::pir
