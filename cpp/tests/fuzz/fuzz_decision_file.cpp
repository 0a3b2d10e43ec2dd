// SPDX-License-Identifier: Apache-2.0
// Decision file reader on arbitrary bytes: either corrupt_data, or decisions that write and read back equal.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "halocline/core/error.hpp"
#include "halocline/memory/policy/decision_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using halocline::memory::decisions_from_text;
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  std::vector<std::uint8_t> accepted;
  try {
    accepted = decisions_from_text(source);
  } catch (const halocline::corrupt_data&) {
    return 0;
  }
  if (decisions_from_text(halocline::memory::decisions_to_text(accepted)) != accepted) std::abort();
  return 0;
}
