// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string_view>

#include "halocline/memory/object_class.hpp"
#include "halocline/memory/trace.hpp"

/// Logs of RMM, the RAPIDS memory manager: CSV with the columns below, as its logging resource adaptor writes
/// them (https://docs.rapids.ai/api/rmm). Any CUDA program that allocates through RMM can record one.
///
///   Thread   id of the thread
///   Time     HH:MM:SS.microseconds of the day; older versions put a colon before the microseconds
///   Action   allocate, free or allocate failure
///   Pointer  address, hexadecimal
///   Size     bytes, decimal
///   Stream   handle of the CUDA stream
namespace halocline::memory {

/// First line of a log.
inline constexpr std::string_view rmm_log_header = "Thread,Time,Action,Pointer,Size,Stream";

/// Reads a log as a trace that can be analysed, planned and replayed.
///
/// A log does not say what a buffer holds or when it is used. In place of that:
/// * every buffer has the class `cls`. The default, `ciphertext`, is the class of bytes that are lost unless
///   they are written back, which is the only safe assumption about bytes of unknown content;
/// * a buffer is written as a whole by a step right after its allocation and read as a whole by a step right
///   before its free. Programs touch their buffers more often than that, so bytes moved and stalls of a plan
///   or a replay are lower bounds of what the program would see;
/// * memory that is freed without having been allocated in the log was there before: it gets an `exists` row.
///
/// The clock begins with the first row; a step back by more than twelve hours is midnight, a smaller one
/// (rows of several threads) stands still. Rows that allocate nothing, failures and sizes of 0, leave no
/// events. Streams are numbered in order of appearance. Tags are "thread " and the id.
/// @throws corrupt_data naming the line: a header or row that does not follow the format, an address that is
///   allocated while it is live, a free of another size than was allocated.
[[nodiscard]] trace read_rmm_log(std::istream& in, object_class cls = object_class::ciphertext);

/// Writes the allocations and frees of a trace as a log; buffers that existed before stand first, as
/// allocations at time 0. Reads and writes have no place in the format. Addresses are made up: aligned to 256
/// bytes, rising, never used twice. The thread is 1, times of day count from midnight.
/// @throws invalid_argument when the sum of all sizes does not fit into 63 bits.
void write_rmm_log(const trace& source, std::ostream& out);

}  // namespace halocline::memory
