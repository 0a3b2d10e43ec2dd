// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace halocline::backend {

/// What a backend did with the kernels of programs (`backend::begin_program`) so far. Zeros where a backend
/// makes no graphs.
struct graph_statistics {
  std::uint64_t programs = 0;  ///< outermost scopes that were recorded
  /// Outermost scopes that were not, because the device had work left whenever it was asked.
  std::uint64_t passed_programs = 0;
  std::uint64_t segments = 0;        ///< runs of launches between two points of order
  std::uint64_t eager_launches = 0;  ///< kernels of programs that were launched one by one
  std::uint64_t graphs_built = 0;    ///< graphs made
  std::uint64_t graphs_kept = 0;     ///< graphs that exist now
  std::uint64_t nodes_kept = 0;      ///< kernels in them
  std::uint64_t replays = 0;         ///< launches of graphs
  std::uint64_t replayed_nodes = 0;  ///< kernels launched by them
  std::uint64_t patched_nodes = 0;   ///< kernels that were given other parameters before a replay
  std::uint64_t failed_builds = 0;   ///< graphs that the driver refused; their kernels ran one by one
  /// Graphs that were given up because launching their kernels takes the host less time.
  std::uint64_t slow_graphs = 0;
};

}  // namespace halocline::backend
