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
namespace halocline {

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

}  // namespace halocline
