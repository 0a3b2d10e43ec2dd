// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "halocline/storage/object_store.hpp"

namespace halocline::storage {

/// One page of a listing of a bucket.
struct s3_page {
  std::vector<store_entry> entries;  ///< names without the prefix; others than store names are left out
  std::string next;                  ///< token of the next page, or empty
};

/// Reads the XML of ListObjectsV2 (Amazon S3 API reference, "ListObjectsV2", response syntax). Not trusted: a
/// scanner for the few elements that are needed, without entities, processing instructions or nesting beyond
/// them, linear in time.
/// @param prefix what was asked for: names that do not begin with it are refused
/// @throws corrupt_data for anything else
[[nodiscard]] s3_page read_s3_page(std::string_view xml, std::string_view prefix);

}  // namespace halocline::storage
