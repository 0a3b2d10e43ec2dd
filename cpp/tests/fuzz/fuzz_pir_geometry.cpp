// SPDX-License-Identifier: Apache-2.0
// Geometries of retrieval databases on arbitrary bytes: whatever is accepted has a layout that keeps its
// failure probability, and comes back equal.
#include <cstddef>
#include <cstdint>

#include "support/pir_messages.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  halocline::test::check_geometry_bytes({reinterpret_cast<const char*>(data), size});
  return 0;
}
