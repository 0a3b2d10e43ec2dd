// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/geometry.hpp"

#include <algorithm>
#include <cmath>

#include "geometry_check.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::pir {
namespace {

std::uint64_t ceil_divide(std::uint64_t dividend, std::uint64_t divisor) {
  return (dividend - 1) / divisor + 1;
}

void check_records(std::uint64_t records, std::uint64_t record_bytes) {
  HALOCLINE_EXPECTS(records >= 1 && records <= max_records, invalid_argument, "retrieval database: ", records,
                    " records; expected 1 to ", max_records);
  HALOCLINE_EXPECTS(record_bytes >= 1 && record_bytes <= max_record_bytes, invalid_argument,
                    "retrieval database: records of ", record_bytes, " bytes; expected 1 to ",
                    max_record_bytes);
  HALOCLINE_EXPECTS(records <= max_database_bytes / record_bytes, invalid_argument,
                    "retrieval database: ", records, " records of ", record_bytes,
                    " bytes; expected at most ", max_database_bytes,
                    " bytes in all. Split it into several databases");
}

/// A name is part of the canonical text, which must be readable again.
void check_name(const std::string& name) {
  const auto plain = [](char c) { return c >= ' ' && c <= '~'; };
  HALOCLINE_EXPECTS(name.size() <= max_name_bytes && std::ranges::all_of(name, plain), invalid_argument,
                    "retrieval parameters: a name of ", name.size(), " bytes; expected at most ",
                    max_name_bytes, " printable ASCII characters");
}

/// Whether a layout has the digits that a scheme fixes.
void check_fixed(const literal& source, const layout& at) {
  const auto fixed = [](std::optional<unsigned> wanted, unsigned found, const char* field) {
    HALOCLINE_EXPECTS(!wanted || *wanted == found, invalid_argument, "retrieval layout: ", field, " is ",
                      found, "; the scheme says ", *wanted);
  };
  fixed(source.expansion_digits, at.expansion.digits, "expansion_digits");
  fixed(source.selection_digits, at.selection.digits, "selection_digits");
  fixed(source.secret_digits, at.secret.digits, "secret_digits");
  fixed(source.answer_bits, at.answer_bits0, "answer_bits0");
  fixed(source.answer_bits, at.answer_bits1, "answer_bits1");
}

void check_layout(const geometry& of) {
  const literal& source = of.scheme.source();
  const layout& at = of.at;
  const auto highest = std::min(max_answer_bits, static_cast<unsigned>(of.scheme.log2_q()));
  for (const unsigned bits : {at.answer_bits0, at.answer_bits1}) {
    HALOCLINE_EXPECTS(bits > source.plain_bits && bits <= highest, invalid_argument,
                      "retrieval layout: answers of ", bits, " bits; expected ", source.plain_bits + 1,
                      " to ", highest);
  }
  check_fixed(source, at);
  const double failure = forecast(of.scheme, at, of.planes()).log2_failure;
  HALOCLINE_EXPECTS(failure <= source.log2_failure, invalid_argument,
                    "retrieval layout: it fails with a probability of 2^", failure, "; '", source.name,
                    "' allows 2^", source.log2_failure, ". Take the layout that `choose_layout` finds");
  const std::uint64_t columns = ceil_divide(of.plaintexts(), at.rows);
  HALOCLINE_EXPECTS(at.columns == columns, invalid_argument, "retrieval layout: ", at.columns,
                    " columns; expected ", columns, " for ", of.plaintexts(), " plaintexts in columns of ",
                    at.rows);
}

}  // namespace

void check_geometry(const geometry& of) {
  check_name(of.scheme.source().name);
  check_records(of.records, of.record_bytes);
  check_layout(of);
}

std::uint32_t geometry::records_per_plaintext() const noexcept {
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(scheme.plaintext_bytes() / record_bytes, 1));
}

std::uint32_t geometry::planes() const noexcept {
  return static_cast<std::uint32_t>(ceil_divide(record_bytes, scheme.plaintext_bytes()));
}

std::uint64_t geometry::plaintexts() const noexcept { return ceil_divide(records, records_per_plaintext()); }

record_place geometry::locate(std::uint64_t record) const {
  HALOCLINE_EXPECTS(record < records, invalid_argument, "retrieval database: record ", record,
                    " does not exist; expected 0 to ", records - 1);
  const std::uint64_t each = records_per_plaintext();
  return {record / each, static_cast<std::uint32_t>(record % each * record_bytes)};
}

geometry make_geometry(const parameters& scheme, std::uint64_t records, std::uint64_t record_bytes,
                       layout_request request) {
  check_name(scheme.source().name);
  check_records(records, record_bytes);
  geometry made{scheme, {}, records, record_bytes};
  request.plaintexts = made.plaintexts();
  request.planes = made.planes();
  made.at = choose_layout(scheme, request);
  check_geometry(made);
  return made;
}

}  // namespace halocline::pir
