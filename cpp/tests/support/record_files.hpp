// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <vector>

#include "halocline/pir/record_file.hpp"
#include "pir/record_format.hpp"
#include "support/pir_database.hpp"

/// Record files for tests: made, read, damaged.
namespace halocline::test {

using pir::geometry;
using pir::record_layout;
using pir::record_range;
using pir::record_store;

/// A database of 240 records of 1000 bytes: three blocks and a part of one.
[[nodiscard]] inline geometry plain_shape() { return small_geometry(240, 1000, 16); }

[[nodiscard]] inline std::vector<std::byte> records_of(const geometry& shape) {
  return random_records(shape.records * shape.record_bytes, 20260115);
}

/// Writes a file from pieces of the given size.
inline void build(const std::filesystem::path& path, const geometry& shape,
                  const std::vector<std::byte>& records, std::size_t piece = 100000,
                  record_range range = {}) {
  std::span<const std::byte> rest = records;
  pir::write_record_file(path, shape, range, [&] {
    const auto next = rest.first(std::min(piece, rest.size()));
    rest = rest.subspan(next.size());
    return next;
  });
}

[[nodiscard]] inline std::vector<std::byte> read_all(const record_store& from) {
  std::vector<std::byte> out(from.bytes());
  from.read(0, out);
  return out;
}

[[nodiscard]] inline std::vector<std::byte> bytes_from(const record_store& from, std::uint64_t offset,
                                                       std::size_t count) {
  std::vector<std::byte> out(count);
  from.read(offset, out);
  return out;
}

/// Changes a byte of a file.
inline void damage(const std::filesystem::path& path, std::uint64_t offset) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(offset));
  const char old = static_cast<char>(file.get());
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(static_cast<char>(old ^ 0x20));
}

[[nodiscard]] inline record_layout layout_in(const geometry& shape, record_range range = {}) {
  if (range.records == 0) range.records = shape.records - range.first;
  return pir::layout_of(shape, range, pir::to_json(shape).size());
}

}  // namespace halocline::test
