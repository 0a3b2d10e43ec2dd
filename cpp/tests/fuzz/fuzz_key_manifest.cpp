// SPDX-License-Identifier: Apache-2.0
// What comes from a key store, on arbitrary bytes: manifests of users, and listings of buckets. What is
// accepted must come back byte for byte.
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "halocline/core/error.hpp"
#include "halocline/storage/manifest.hpp"
#include "storage/s3_listing.hpp"

namespace {

namespace storage = halocline::storage;

void check_manifest(const std::vector<std::byte>& bytes) {
  try {
    const storage::manifest read = storage::decode_manifest(bytes, "alice");
    if (storage::encode(read) != bytes) std::abort();
    if (read.blocks.size() * sizeof(storage::digest256) > bytes.size()) std::abort();
  } catch (const halocline::corrupt_data&) {
    return;
  }
}

void check_listing(std::string_view text) {
  try {
    for (const storage::store_entry& each : storage::read_s3_page(text, "p/").entries) {
      if (!storage::is_store_name(each.name)) std::abort();
    }
  } catch (const halocline::corrupt_data&) {
    return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* const first = reinterpret_cast<const std::byte*>(data);
  check_manifest({first, first + size});
  check_listing({reinterpret_cast<const char*>(data), size});
  return 0;
}
