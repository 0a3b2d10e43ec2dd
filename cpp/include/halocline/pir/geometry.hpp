// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "halocline/pir/layout.hpp"

/// What a database looks like from outside, and how its records lie in plaintexts. Public: a client needs
/// this and nothing else of a database.
namespace halocline::pir {

/// Names what both sides must agree on: BLAKE2b-128 of its canonical text.
using fingerprint = std::array<std::uint8_t, 16>;

/// Tells databases of the same shape apart: random bytes, or zeros where that is not needed.
using database_id = std::array<std::uint8_t, 16>;

/// Place of a record.
struct record_place {
  std::uint64_t plaintext = 0;  ///< number within each plane
  std::uint32_t offset = 0;     ///< bytes of the plaintext before the record
};

/// Parameters, layout and records of a database.
///
/// Small records share a plaintext: record r is number r mod k of plaintext r / k, k =
/// `records_per_plaintext`. A record with more bytes than a plaintext has is split over `planes` plaintexts,
/// which lie in as many parallel databases (planes) at the same place: one query serves all of them. Plane p
/// has its bytes from p * `plaintext_bytes` on.
struct geometry {
  parameters scheme;
  layout at;  ///< of each plane
  std::uint64_t records = 0;
  std::uint64_t record_bytes = 0;
  database_id id{};  ///< of its own for each database that is built: queries for another one are refused

  [[nodiscard]] std::uint32_t records_per_plaintext() const noexcept;  ///< 1 where a record is split
  [[nodiscard]] std::uint32_t planes() const noexcept;                 ///< 1 unless a record is split
  [[nodiscard]] std::uint64_t plaintexts() const noexcept;             ///< of each plane
  /// Bytes of the records of one plaintext number, in all planes.
  [[nodiscard]] std::uint64_t group_bytes() const noexcept { return records_per_plaintext() * record_bytes; }
  /// @throws invalid_argument for a record that there is not
  [[nodiscard]] record_place locate(std::uint64_t record) const;
};

/// Most records, bytes of a record, and bytes of all records.
inline constexpr std::uint64_t max_records = std::uint64_t{1} << 40;
inline constexpr std::uint64_t max_record_bytes = std::uint64_t{1} << 30;
inline constexpr std::uint64_t max_database_bytes = std::uint64_t{1} << 46;

/// Geometry with the layout that `choose_layout` finds for the plaintexts of these records.
/// @param request its numbers of plaintexts and planes are replaced
/// @throws invalid_argument for 0, or more than the limits above, and as `choose_layout`
[[nodiscard]] geometry make_geometry(const parameters& scheme, std::uint64_t records,
                                     std::uint64_t record_bytes, layout_request request = {});

/// Canonical JSON text: the same geometry gives the same bytes.
[[nodiscard]] std::string to_json(const geometry& of);
/// Reads such a text and checks everything, the failure probability and the security included.
/// @param allow_insecure accept parameters below 128 bits
/// @throws corrupt_data for what is no JSON or has more than 4096 bytes; invalid_argument,
/// insecure_parameters
[[nodiscard]] geometry geometry_from_json(std::string_view text, bool allow_insecure = false);

/// Of everything: queries and answers carry it.
[[nodiscard]] fingerprint fingerprint_of(const geometry& of);
/// Of the scheme and the gadgets of keys only: server keys carry it. Keys serve every database of the same
/// key shape whose expansion is not deeper than theirs.
[[nodiscard]] fingerprint key_shape_of(const geometry& of);

}  // namespace halocline::pir
