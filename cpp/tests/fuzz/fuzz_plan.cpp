// SPDX-License-Identifier: Apache-2.0
// Plan reader on arbitrary bytes, as they are and with their checksum made right. Whatever is accepted must
// come back byte for byte.
#include <cstdint>
#include <cstdlib>

#include "halocline/core/error.hpp"
#include "support/plan_samples.hpp"

namespace {

void read_and_rewrite(const std::vector<std::byte>& bytes) {
  try {
    const halocline::memory::plan::plan accepted = halocline::memory::plan::plan_from_bytes(bytes);
    if (halocline::memory::plan::to_bytes(accepted) != bytes) std::abort();
    if (halocline::memory::plan::to_json(accepted).empty()) std::abort();
  } catch (const halocline::corrupt_data&) {
    return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* const first = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> bytes(first, first + size);
  read_and_rewrite(bytes);
  halocline::test::reseal_plan(bytes);
  read_and_rewrite(bytes);
  return 0;
}
