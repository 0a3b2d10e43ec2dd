// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "halocline/memory/trace.hpp"

namespace halocline::memory {

/// Something that took time on one track: an operation, a load, a write-back, a stall.
struct timeline_span {
  std::uint32_t track = 0;     ///< number into `timeline::tracks`
  std::uint32_t name = 0;      ///< number into `timeline::names`
  std::uint64_t begin_ns = 0;  ///< since the timeline's begin
  std::uint64_t end_ns = 0;    ///< not before `begin_ns`
  std::uint64_t bytes = 0;     ///< bytes touched or moved; 0: not said
};

/// Value that a counter has from a moment on.
struct timeline_sample {
  std::uint32_t counter = 0;  ///< number into `timeline::counters`
  std::uint64_t time_ns = 0;
  std::uint64_t value = 0;
};

/// What a viewer of timelines shows: spans on named tracks and counters. Spans of one track must nest or
/// follow each other.
struct timeline {
  std::vector<std::string> tracks;  ///< from top to bottom, such as "compute", "load", "write-back", "stall"
  std::vector<std::string> counters;  ///< such as "live bytes"
  std::vector<std::string> names;
  std::vector<timeline_span> spans;
  std::vector<timeline_sample> samples;
};

/// The timeline of a trace: one track per stream with its steps, each of which lasts until the next event of
/// the trace that carries a later time, and the live bytes of each object class as counters. Buffers that
/// existed before count from the begin.
[[nodiscard]] timeline make_timeline(const trace& source);

/// Writes a timeline as JSON in the trace event format, which https://ui.perfetto.dev and chrome://tracing
/// open (Trace Event Format: complete events "X", counters "C", metadata "M"; times in microseconds). Bytes
/// of names outside ASCII become '?'.
/// @throws invalid_argument when a number is outside its table or a span ends before it begins.
void write_perfetto(const timeline& source, std::ostream& out);

}  // namespace halocline::memory
