// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "halocline/memory/buffer.hpp"
#include "halocline/pir/context.hpp"
#include "halocline/pir/database.hpp"
#include "halocline/pir/records.hpp"
#include "pir/random_lifts.hpp"

namespace halocline::pir {

/// Columns first, first + step, ... of a database.
struct column_range {
  std::uint32_t first = 0;
  std::uint32_t columns = 0;
  std::uint32_t step = 1;
};

/// Makes the contents of groups of columns from records, with bounded scratch. Plaintext i of a group is
/// number i mod N0 of its column i / N0, in each plane.
///
/// Kept raw, a plaintext has its planes one after the other, each as `random_lifts` writes it, or where the
/// scheme does not lift at random as the bytes of records are.
class group_maker {
 public:
  /// @param records may be null on a ghost, whose groups have no contents
  /// @param lift_key as `database_options::lift_key`
  group_maker(context& ctx, std::shared_ptr<record_store> records,
              std::optional<arith::seed_bytes> lift_key = std::nullopt);

  /// Plaintexts of a group in each plane.
  [[nodiscard]] std::uint64_t plaintexts(std::uint32_t columns) const noexcept;
  /// Bytes of a group as points, and raw.
  [[nodiscard]] std::size_t point_bytes(std::uint32_t columns) const noexcept;
  [[nodiscard]] std::size_t raw_bytes(std::uint32_t columns) const noexcept;

  /// Writes all of a group from the records.
  void fill(const memory::buffer& data, column_range of, storage kept) const;
  /// The same for one plaintext of it, number `plaintext` of the group.
  void refresh(const memory::buffer& data, column_range of, storage kept, std::uint32_t plaintext) const;
  /// Writes all points of a group from its bytes.
  void transform_raw(const memory::buffer& points, const memory::buffer& raw, column_range of) const;
  /// The integers of a plaintext of the database are chosen anew when it is written next.
  void draw_anew(std::uint64_t plaintext);

 private:
  struct tile;
  /// Writes points of `count` plaintexts from number `first` of a group on, in all planes, from the records.
  void transform(const memory::buffer& points, column_range of, std::uint32_t first,
                 std::uint32_t count) const;
  /// Writes the bytes of `count` plaintexts from number `first` of a group on.
  void copy(const memory::buffer& raw, column_range of, std::uint32_t first, std::uint32_t count) const;
  template <typename VisitT>
  void for_each_tile(std::uint32_t first, std::uint32_t count, std::uint32_t batch,
                     const VisitT& visit) const;
  void transform_tile(const memory::buffer& points, column_range of, const tile& part,
                      const memory::buffer& polynomials, const memory::buffer& bytes,
                      std::uint64_t offset) const;
  [[nodiscard]] memory::buffer make_polynomials(std::uint64_t count) const;
  /// Bytes of records in a plane of a plaintext, and what they are raw.
  [[nodiscard]] std::size_t plain_bytes(std::uint32_t plane) const noexcept;
  [[nodiscard]] std::size_t plane_bytes(std::uint32_t plane) const noexcept;
  /// Raw bytes before a plane of a plaintext; those of a plaintext.
  [[nodiscard]] std::uint64_t plane_offset(std::uint32_t plane) const noexcept;
  [[nodiscard]] std::uint64_t stride() const noexcept { return plane_offset(shape().planes()); }
  /// Raw bytes of a tile.
  [[nodiscard]] std::vector<std::byte> read(column_range of, const tile& part) const;
  void lift(column_range of, const tile& part, std::span<const std::byte> plain,
            std::span<std::byte> out) const;
  /// Bytes of the records of a group from `offset` on, zero where there are no records.
  void fetch(column_range of, std::uint64_t offset, std::span<std::byte> out) const;
  /// The same of the whole database.
  void fetch(std::uint64_t offset, std::span<std::byte> out) const;
  [[nodiscard]] const geometry& shape() const noexcept { return ctx_.shape(); }

  context& ctx_;
  std::shared_ptr<record_store> records_;
  std::vector<std::uint64_t> factors_;  ///< 2^32 modulo each prime: Montgomery form
  std::uint32_t batch_;                 ///< polynomials that are transformed at once
  std::optional<random_lifts> lifts_;   ///< without: coefficients lie in [-t/2, t/2)
  unsigned threads_ = 1;                ///< that lift
};

}  // namespace halocline::pir
