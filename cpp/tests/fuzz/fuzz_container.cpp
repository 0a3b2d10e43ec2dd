// SPDX-License-Identifier: Apache-2.0
// Container reader on arbitrary bytes, as they are and with their checksums made right. Whatever is accepted
// must be readable completely and must come back byte for byte.
#include <cstdlib>

#include "halocline/core/error.hpp"
#include "support/container_samples.hpp"

namespace {

void read_and_rewrite(const halocline::test::byte_vector& bytes) {
  try {
    const auto reader = halocline::io::container_reader::over(bytes);
    for (const halocline::io::section& each : reader.sections()) {
      halocline::test::byte_vector tail(each.bytes - each.bytes / 3);
      reader.read(each, each.bytes / 3, tail);
      if (reader.find(each.id) != &each) std::abort();
    }
    reader.verify_all();
    if (halocline::test::rewrite(reader) != bytes) std::abort();
  } catch (const halocline::corrupt_data&) {
    return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* const first = reinterpret_cast<const std::byte*>(data);
  halocline::test::byte_vector bytes(first, first + size);
  read_and_rewrite(bytes);
  halocline::test::reseal(bytes);
  read_and_rewrite(bytes);
  return 0;
}
