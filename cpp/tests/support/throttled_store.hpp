// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "support/faulty_store.hpp"

namespace halocline::test {

/// A disk of the given speed (bytes per second, each direction; 0: as fast as `inner`) and extra latency.
[[nodiscard]] inline std::unique_ptr<faulty_store> make_throttled_store(
    std::unique_ptr<memory::store> inner, std::uint64_t bytes_per_second,
    std::chrono::microseconds delay = {}) {
  fault_script script;
  script.bytes_per_second = bytes_per_second;
  script.delay = delay;
  return std::make_unique<faulty_store>(std::move(inner), script);
}

}  // namespace halocline::test
