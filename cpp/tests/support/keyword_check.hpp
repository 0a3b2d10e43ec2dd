// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "halocline/core/error.hpp"
#include "halocline/pir/keyword_table.hpp"

namespace halocline::test {

/// What must hold for any bytes given as a keyword layout, and any bytes behind the first zero byte as a
/// bucket of it (repeated to its length); aborts when it does not. Shared by the fuzz target and the test
/// that replays its corpus.
/// @return whether the layout was accepted
inline bool check_keyword_bytes(std::string_view bytes) {
  const std::size_t end = std::min(bytes.find('\0'), bytes.size());
  pir::keyword_layout accepted;
  try {
    accepted = pir::keyword_layout_from_json(bytes.substr(0, end));
  } catch (const corrupt_data&) {
    return false;
  } catch (const invalid_argument&) {
    return false;
  }
  if (pir::keyword_layout_from_json(pir::to_json(accepted)) != accepted) std::abort();
  if (accepted.log2_false_positive() > -40) std::abort();
  const auto key = pir::key_bytes("a key");
  for (const std::uint64_t bucket : pir::candidate_buckets(accepted, key)) {
    if (bucket >= accepted.buckets) std::abort();
  }
  if (accepted.bucket_bytes() > 65536) return true;
  const std::string_view pattern = bytes.substr(std::min(end + 1, bytes.size()));
  std::vector<std::byte> bucket(accepted.bucket_bytes());
  for (std::size_t i = 0; i < bucket.size() && !pattern.empty(); ++i) {
    bucket[i] = static_cast<std::byte>(pattern[i % pattern.size()]);
  }
  try {
    const auto found = pir::find_entry(accepted, bucket, key);
    if (found && found->size() > accepted.max_value_bytes) std::abort();
    const auto before = pir::count_entries(accepted, bucket);
    if (found && !pir::erase_entry(accepted, bucket, key)) std::abort();
    if (pir::insert_entry(accepted, bucket, key, {})) {
      if (pir::count_entries(accepted, bucket) != before + (found ? 0 : 1)) std::abort();
    } else if (before != accepted.slots) {
      std::abort();
    }
  } catch (const corrupt_data&) {
  }
  return true;
}

}  // namespace halocline::test
