// SPDX-License-Identifier: Apache-2.0
// Keyword layouts and buckets on arbitrary bytes: whatever layout is accepted comes back equal and is safe,
// and a bucket is refused or can be searched and changed.
#include <cstddef>
#include <cstdint>

#include "support/keyword_check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  halocline::test::check_keyword_bytes({reinterpret_cast<const char*>(data), size});
  return 0;
}
