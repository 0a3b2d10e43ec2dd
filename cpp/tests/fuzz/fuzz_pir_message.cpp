// SPDX-License-Identifier: Apache-2.0
// Messages and secrets of private retrieval on arbitrary bytes, as they are and with their checksum made
// right. Whatever is accepted must come back byte for byte.
#include <cstddef>
#include <cstdint>

#include "support/pir_messages.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  halocline::test::check_any_message({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
