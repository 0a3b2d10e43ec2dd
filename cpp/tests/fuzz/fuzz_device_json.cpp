// SPDX-License-Identifier: Apache-2.0
// Reader of device models on arbitrary bytes: either corrupt_data, or a model that writes and reads back
// equal.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "halocline/core/error.hpp"
#include "halocline/memory/sim/device_json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace sim = halocline::memory::sim;
  sim::device_model accepted;
  try {
    accepted = sim::device_from_json(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const halocline::corrupt_data&) {
    return 0;
  }
  if (sim::device_from_json(sim::device_to_json(accepted)) != accepted) std::abort();
  return 0;
}
