// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "backend/graph/device_api.hpp"
#include "halocline/backend/graph_statistics.hpp"

namespace halocline::backend::graph {

/// Limits of what is kept for later runs.
struct cache_limits {
  std::size_t nodes = 16384;                    ///< kernels in graphs; the oldest graph is destroyed first
  std::size_t bytes = std::size_t{256} << 20U;  ///< copies of their parameters
  std::size_t shortest = 4;                     ///< launches below which a graph gains nothing
  std::size_t sightings = 4096;                 ///< shapes seen once that are recorded
};

/// Launches segments: one by one at first sight, from the second one on as a graph, of which only the nodes
/// are changed whose parameters differ from the last time.
class graph_cache {
 public:
  /// @param counted where graphs and launches are counted; outlives the cache, as `device` does
  graph_cache(device_api& device, const cache_limits& limits, graph_statistics& counted)
      : device_(device), limits_(limits), counted_(counted) {}

  /// Launches everything in `segment`, in order, and empties it, also when it throws.
  /// @param key which part of which program it is
  /// @throws device_error naming the operation whose launch fails; later launches are lost then
  void run(std::uint64_t key, launch_list& segment);
  /// Destroys all graphs.
  void clear() noexcept;

 private:
  struct entry {
    std::uint64_t key;
    launch_list current;  ///< what the nodes have
    std::unique_ptr<executable> graph;
  };
  using entries = std::list<entry>;

  void launch_eagerly(const launch_list& segment);
  void replay(entry& found, launch_list& segment);
  [[nodiscard]] bool patch(entry& found, const launch_list& segment);
  void build(std::uint64_t key, launch_list& segment);
  void make_room();
  void drop(std::uint64_t key) noexcept;

  device_api& device_;
  cache_limits limits_;
  graph_statistics& counted_;
  entries graphs_;  ///< last used in front
  std::unordered_map<std::uint64_t, entries::iterator> by_key_;
  std::unordered_set<std::uint64_t> seen_;
  std::size_t bytes_ = 0;
};

}  // namespace halocline::backend::graph
