// SPDX-License-Identifier: Apache-2.0
// JSON parser and parameter literals on arbitrary bytes: whatever is accepted comes back equal, and
// parameters that are built from it are secure unless the literal says otherwise.
#include <cstddef>
#include <cstdint>

#include "support/literal_check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  halocline::test::check_literal_bytes({reinterpret_cast<const char*>(data), size});
  return 0;
}
