// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "halocline/memory/object_class.hpp"

namespace halocline::memory {

/// An event of a buffer at one step of a program. `exists` stands once for each buffer that was there before
/// the recording began, before it is touched for the first time.
enum class trace_action : std::uint8_t { allocate, free, read, write, exists };

/// Name of an action as traces spell it: "allocate".
[[nodiscard]] std::string_view to_string(trace_action action) noexcept;

/// How the bytes of a buffer can come back after they have been dropped: from a copy on a slower tier only,
/// or also by expanding a seed or by encoding integer coefficients again.
enum class recovery : std::uint8_t { copy, expand, encode };

/// Name as the `op` column of allocate and exists rows spells it: "-", "expand", "encode".
[[nodiscard]] std::string_view to_string(recovery kind) noexcept;

/// One row of a trace (design: `step,op,action,object,class,bytes,offset,stream,time_ns,tag`). Texts are
/// numbers into `trace::names`, so that a trace of a million steps stays small.
struct trace_event {
  std::uint64_t step = 0;     ///< number of the operation; allocations carry the step that follows them
  std::uint64_t object = 0;   ///< buffer id
  std::uint64_t bytes = 0;    ///< bytes touched (all of the buffer for allocate, free and exists)
  std::uint64_t offset = 0;   ///< first byte touched within the buffer
  std::uint64_t time_ns = 0;  ///< since the recording began: wall time, or modelled time on the ghost
  std::uint32_t stream = 0;
  std::uint32_t op = 0;   ///< backend operation; `to_string(recovery)` for allocate and exists; "-" for free
  std::uint32_t tag = 0;  ///< who asked; in exists rows of named buffers followed by '@' and the identity
  trace_action action{};
  object_class cls{};

  bool operator==(const trace_event&) const = default;
};

/// A recorded sequence of events. Deterministic for a given program on the ghost backend.
struct trace {
  std::vector<trace_event> events;
  /// Texts of `op` and `tag`, in order of their first appearance.
  std::vector<std::string> names;

  /// Number of a text, which is added if it is new.
  std::uint32_t intern(std::string_view text);
  /// Texts of an event.
  [[nodiscard]] const std::string& op(const trace_event& event) const { return names[event.op]; }
  [[nodiscard]] const std::string& tag(const trace_event& event) const { return names[event.tag]; }

  /// Writes the header line and one CSV row per event.
  void write_csv(std::ostream& out) const;

  /// Bytes of the shortest row of a CSV file: "0,,free,0,table,0,0,0,0,".
  static constexpr std::size_t least_row_bytes = 24;
  /// Most different texts of a file: each takes up to 200 bytes more than its letters.
  static constexpr std::size_t max_names = std::size_t{1} << 20;

  /// Parses what `write_csv` wrote. `rows` is the expected number, so that growing takes no second copy.
  /// @throws corrupt_data naming the line when a row is malformed, a step or time is above 2^62, a row ends
  ///   more than 2^43 bytes into its buffer, the ends of all rows add up to more than 2^62, or there are more
  ///   than `max_names` texts.
  [[nodiscard]] static trace read_csv(std::istream& in, std::size_t rows = 0);

 private:
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
};

}  // namespace halocline::memory
