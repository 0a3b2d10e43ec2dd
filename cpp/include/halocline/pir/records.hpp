// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace halocline::pir {

/// Records of a database as bytes, one after the other: `records * record_bytes` of them. Reads and writes of
/// different threads may overlap; a reader sees each record whole, before or after a write.
class record_store {
 public:
  virtual ~record_store() = default;
  /// Of all records of the database, also where only some of them are here.
  [[nodiscard]] virtual std::uint64_t bytes() const noexcept = 0;
  /// Copies bytes [offset, offset + out.size()).
  /// @throws corrupt_data, io_error; invalid_argument for a range outside the records
  virtual void read(std::uint64_t offset, std::span<std::byte> out) const = 0;
  /// Replaces bytes of one record.
  /// @throws io_error, and then the old bytes are there still; invalid_argument
  virtual void write(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
};

/// Records in host memory.
[[nodiscard]] std::shared_ptr<record_store> make_memory_records(std::vector<std::byte> bytes);

}  // namespace halocline::pir
