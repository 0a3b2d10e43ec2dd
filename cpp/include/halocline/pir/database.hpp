// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "halocline/arith/uniform_source.hpp"
#include "halocline/pir/context.hpp"
#include "halocline/pir/records.hpp"

namespace halocline::pir {

/// How a server keeps a database.
enum class storage : std::uint8_t {
  transformed,  ///< in NTT form, 4 bytes for each residue: fast
  raw,          ///< as packed integers, transformed group by group for each batch: small
};

/// What a server keeps of a database, and how.
struct database_options {
  storage kept = storage::transformed;
  /// Most transformed bytes of a group, a column at least. 0: 256 MiB, or 4 GiB where matrices are
  /// point-major, or an eighth of the budget where that is less.
  std::size_t group_bytes = 0;
  /// Columns to keep, for shards: `columns` of them, numbers first_column, first_column + column_step, ...;
  /// 0: all of these.
  std::uint32_t first_column = 0;
  std::uint32_t columns = 0;
  std::uint32_t column_step = 1;
  /// Key of the random choice of integers for coefficients, for tests; drawn unless given. With the same key
  /// databases of the same records are equal.
  std::optional<arith::seed_bytes> lift_key{};
  /// Called with the columns that are done, of how many; exceptions end the build.
  std::function<void(std::uint64_t, std::uint64_t)> progress{};
};

/// Most transformed bytes of a group in a budget, 0 for none, where none are given, on a device with
/// `capability::point_block`.
[[nodiscard]] std::size_t default_group_bytes(std::size_t budget,
                                              std::uint32_t point_block = backend::points_per_block) noexcept;

class group_maker;

/// Columns that follow each other after `database_options::column_step`, of all planes.
struct column_group {
  std::uint32_t first = 0;  ///< number of the first one in the database
  std::uint32_t columns = 0;
  /// Transformed: a point matrix with the rows (plane * columns + column) * N0 + row. Raw: the bytes of their
  /// records, or the integers that stand for them. Class `plaintext`.
  memory::buffer data;
};

/// The server's part of a database, in buffers of a context. Each group has an identity, by which plans find
/// it, and a recipe that reads its records again.
class database {
 public:
  /// Reads all records of its columns.
  /// @param records may be null on a ghost, which reads nothing
  /// @throws out_of_memory, io_error, corrupt_data; invalid_argument for a store of another size, or columns
  /// that there are not
  database(context& ctx, std::shared_ptr<record_store> records, database_options options = {});

  /// By their columns.
  [[nodiscard]] const std::vector<column_group>& groups() const noexcept { return groups_; }
  /// How it is kept.
  [[nodiscard]] storage kept() const noexcept { return options_.kept; }
  /// Most transformed bytes of a group: as given, or as chosen.
  [[nodiscard]] std::size_t group_bytes() const noexcept { return options_.group_bytes; }
  /// Transformed points of a group: its buffer, or where it is raw what is computed into `scratch`, which
  /// is allocated where it is too small. Valid until `scratch` changes.
  [[nodiscard]] backend::point_matrix points(const column_group& group, memory::buffer& scratch);

  /// Whether the record lies in the columns that are kept here.
  /// @throws invalid_argument for a record that there is not
  [[nodiscard]] bool has(std::uint64_t record) const { return find(record) != groups_.size(); }
  /// Replaces a record, in the store first. Not while a batch is being answered.
  /// @throws invalid_argument for a record that there is not, that other shards have, or bytes of another
  /// length; io_error or corrupt_data of the store, and then nothing has changed; out_of_memory or io_error
  /// of the buffers: the store has the new record then, and the group is read again when it is used next
  void replace(std::uint64_t record, std::span<const std::byte> bytes);
  /// Reads a record of the store again, which another one has written to it. Not while a batch is answered.
  /// @throws invalid_argument for a record that is not kept here; corrupt_data, out_of_memory, io_error: the
  /// group of the record is read again when it is used next
  void refresh(std::uint64_t record);

 private:
  [[nodiscard]] column_group make_group(std::uint32_t first, std::uint32_t columns) const;
  void fill(const column_group& group) const;
  /// Number of the group that has a record; the number of groups where there is none.
  [[nodiscard]] std::size_t find(std::uint64_t record) const;
  [[nodiscard]] std::size_t group_of(std::uint64_t record) const;

  context& ctx_;
  std::shared_ptr<record_store> records_;
  database_options options_;
  std::shared_ptr<group_maker> maker_;
  std::vector<column_group> groups_;
  std::vector<bool> stale_;  ///< groups that are read again when they are used
};

}  // namespace halocline::pir
