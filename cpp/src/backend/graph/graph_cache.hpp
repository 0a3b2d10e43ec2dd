// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "backend/graph/device_api.hpp"
#include "halocline/backend/graph_statistics.hpp"
#include "halocline/core/clock.hpp"

namespace halocline::backend::graph {

/// Limits of what is kept for later runs.
struct cache_limits {
  std::size_t nodes = 16384;                    ///< kernels in graphs
  std::size_t bytes = std::size_t{256} << 20U;  ///< copies of their parameters
  std::size_t shortest = 4;                     ///< launches below which a graph gains nothing
  std::size_t sightings = 4096;                 ///< what was seen once, and programs, that are recorded
  std::size_t variants = 4;                     ///< graphs of one segment for different parameters
  std::uint64_t always_ns = 30'000'000;         ///< graphs may take so long to make during any program
  std::uint64_t pause = 1000;                   ///< programs after which a slow graph is tried again
};

/// Nanoseconds for each kernel: the least of several segments.
class least_cost {
 public:
  /// Short segments say little, and so does a single one.
  static constexpr std::size_t enough = 16;
  static constexpr unsigned samples = 3;
  void add(std::uint64_t ns, std::size_t kernels) noexcept;
  [[nodiscard]] bool known() const noexcept { return count_ >= samples; }
  /// Of so many kernels; 0 where it is not known.
  [[nodiscard]] double of(std::size_t kernels) const noexcept {
    return known() ? ns_ * static_cast<double>(kernels) : 0;
  }

 private:
  double ns_ = 0;
  unsigned count_ = 0;
};

/// Launches segments: one by one at first sight, from the second one on as a graph, of which only the nodes
/// are changed whose parameters differ from the last time.
///
/// * A graph that is not overdue, by the time between its last two uses, is not destroyed for new ones:
///   programs with more kernels than there is room for have graphs of a part, always of the same.
/// * Graphs that are made during a program take no longer than the time between its last two beginnings, or
///   `cache_limits::always_ns`; the first one of them may.
/// * A segment whose parameters come back, of which most differ from those of its graphs, gets one more.
/// * A graph is given up where changing and launching it takes the host longer than launching its kernels,
///   three times in a row. It is not made again for `cache_limits::pause` programs.
class graph_cache {
 public:
  using clock = std::uint64_t (*)();

  /// @param counted where graphs and launches are counted; outlives the cache, as `device` does
  /// @param now nanoseconds that only grow
  graph_cache(device_api& device, const cache_limits& limits, graph_statistics& counted, clock now = now_ns)
      : device_(device), limits_(limits), counted_(counted), now_(now) {}

  /// A program begins, of which the next segments are.
  void begin_program(std::uint64_t key) noexcept;

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
    std::uint64_t program;    ///< number of the one that used it last
    std::uint64_t period;     ///< programs between its last two uses
    unsigned times_slow = 0;  ///< in a row
  };
  using entries = std::list<entry>;
  using variants = std::vector<entries::iterator>;

  void launch_eagerly(const launch_list& segment);
  void rerun(variants& found, std::uint64_t key, launch_list& segment);
  void replay(entries::iterator found, const std::vector<std::size_t>& changes, launch_list& segment);
  void launch(entries::iterator found);
  [[nodiscard]] bool patch(entry& found, const std::vector<std::size_t>& changes, const launch_list& segment);
  void build(std::uint64_t key, std::uint64_t sight, launch_list& segment);
  void use(entries::iterator found) noexcept;
  void give_up(entries::iterator found);
  [[nodiscard]] bool is_slow(std::size_t changed, std::size_t kernels) const noexcept;
  [[nodiscard]] bool pauses(std::uint64_t name);
  [[nodiscard]] bool first_sight(std::uint64_t name);
  [[nodiscard]] bool may_build(const launch_list& segment) const noexcept;
  void make_room();
  void drop(entries::iterator gone) noexcept;

  device_api& device_;
  cache_limits limits_;
  graph_statistics& counted_;
  clock now_;
  entries graphs_;  ///< last used in front
  std::unordered_map<std::uint64_t, variants> by_key_;
  std::unordered_map<std::uint64_t, std::uint64_t> seen_;  ///< with the number of the program
  std::unordered_map<std::uint64_t, std::uint64_t> slow_;  ///< given up, with the program that may try again
  std::size_t bytes_ = 0;
  std::uint64_t program_ = 0;  ///< number of the present one, of those with segments that could be graphs
  bool has_number_ = true;     ///< whether the present one has such segments
  std::unordered_map<std::uint64_t, std::uint64_t> begun_;  ///< when programs began last
  double build_ns_ = 0;      ///< of the graphs that were made during the present program
  double build_limit_ = -1;  ///< of these; below 0: none
  least_cost launching_, patching_, replaying_, building_;
};

}  // namespace halocline::backend::graph
