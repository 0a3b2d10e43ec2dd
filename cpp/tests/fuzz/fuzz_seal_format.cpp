// SPDX-License-Identifier: Apache-2.0
// Files of SEAL on arbitrary bytes. Whatever is accepted must come back byte for byte.
#include <cstddef>
#include <cstdint>

#include "support/seal_samples.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  halocline::test::check_any_seal_object({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
