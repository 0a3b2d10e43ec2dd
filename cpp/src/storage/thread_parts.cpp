// SPDX-License-Identifier: Apache-2.0
#include "thread_parts.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace halocline::storage {
namespace {

/// Digests and checks of four threads are as fast as memory is.
constexpr std::size_t most_threads = 4;

}  // namespace

void in_threads(std::size_t count, const std::function<void(std::size_t)>& part) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failed;
  std::mutex mutex;
  const auto work = [&]() noexcept {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        part(i);
      } catch (...) {
        next = count;
        const std::scoped_lock lock(mutex);
        if (!failed) failed = std::current_exception();
      }
    }
  };
  const std::size_t most = std::min(most_threads, count);
  const std::size_t threads = std::min<std::size_t>(most, std::max(1U, std::thread::hardware_concurrency()));
  {
    std::vector<std::jthread> others;
    try {
      for (std::size_t i = 1; i < threads; ++i) others.emplace_back(work);
    } catch (const std::system_error&) {  // no more threads: those that there are do it
    }
    work();
  }
  if (failed) std::rethrow_exception(failed);
}

}  // namespace halocline::storage
