// SPDX-License-Identifier: Apache-2.0
// Trace reader on arbitrary bytes: either corrupt_data, or rows that write and read back equal.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "halocline/core/error.hpp"
#include "halocline/memory/trace.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using halocline::memory::trace;
  std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
  trace accepted;
  try {
    accepted = trace::read_csv(in);
  } catch (const halocline::corrupt_data&) {
    return 0;
  }
  std::stringstream again;
  accepted.write_csv(again);
  if (trace::read_csv(again).events != accepted.events) std::abort();
  return 0;
}
