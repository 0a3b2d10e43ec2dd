// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "halocline/memory/object_class.hpp"

namespace halocline::memory {

/// What happened to a buffer at one step of a program.
enum class trace_action : std::uint8_t { allocate, free, read, write };

/// Name of an action as traces spell it: "allocate".
[[nodiscard]] std::string_view to_string(trace_action action) noexcept;

/// One row of a trace (design: `step,op,action,object,class,bytes,offset,stream,time_ns,tag`).
struct trace_event {
  std::uint64_t step = 0;  ///< number of the operation; allocations carry the step that follows them
  std::string op;          ///< backend operation, or "-" between operations
  trace_action action{};
  std::uint64_t object = 0;  ///< buffer id
  object_class cls{};
  std::size_t bytes = 0;   ///< bytes touched (all of the buffer for allocate and free)
  std::size_t offset = 0;  ///< first byte touched within the buffer
  std::uint64_t stream = 0;
  std::uint64_t time_ns =
      0;  ///< wall time since the recording began; logical time (1 us a step) on the ghost
  std::string tag;

  bool operator==(const trace_event&) const = default;
};

/// A recorded sequence of events. Deterministic for a given program on the ghost backend.
struct trace {
  std::vector<trace_event> events;

  /// Writes the header line and one CSV row per event.
  void write_csv(std::ostream& out) const;

  /// Parses what `write_csv` wrote.
  /// @throws corrupt_data naming the line when a row is malformed.
  [[nodiscard]] static trace read_csv(std::istream& in);
};

}  // namespace halocline::memory
