// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "halocline/ckks/engine.hpp"

namespace halocline::bench {

/// One operation to time, on ciphertexts with uniform residues.
struct timing_request {
  std::string operation;      ///< see `timed_operations`
  unsigned level = 0;         ///< of the operands
  unsigned samples = 20;      ///< at least 1
  unsigned per_sample = 0;    ///< operations in a sample; 0: as many as take `sample_seconds`
  unsigned operand_sets = 1;  ///< sets of operands that take turns; with 1 the same ones come back to back
  bool graph = false;         ///< run each sample as a program that the device may replay as a graph
  double sample_seconds = 0.01;
};

/// How long an operation took.
struct timing_result {
  std::vector<double> seconds;  ///< of one operation, for each sample
  unsigned per_sample = 0;      ///< operations in a sample
  std::uint64_t replays = 0;    ///< graphs that the device launched for the samples
};

/// Names that `time_operation` accepts: "multiply" (with relinearization and rescale), "rotate" (by 1),
/// "rescale" (both components), "multiply_plain" (an encoded plaintext, no rescale), "add", "ntt" and "intt"
/// of one polynomial, "ntt_batch" (eight polynomials in one call; its time is that of one of them).
[[nodiscard]] const std::vector<std::string>& timed_operations();

/// Times an operation: warm-up, then samples one behind the other without a pause, each of several
/// operations between two moments of the device's compute queue (on the CPU: of the host's clock).
/// @throws invalid_argument for an unknown operation, a level that it cannot have, or no samples
/// @throws missing_key when it needs a key that the engine lacks
[[nodiscard]] timing_result time_operation(ckks::engine& on, const timing_request& request);

}  // namespace halocline::bench
