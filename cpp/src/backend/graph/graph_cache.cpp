// SPDX-License-Identifier: Apache-2.0
#include "backend/graph/graph_cache.hpp"

#include <utility>

#include "halocline/core/error.hpp"

namespace halocline::backend::graph {
namespace {

/// Empties a list at the end of a scope.
class emptied_at_end {
 public:
  explicit emptied_at_end(launch_list& list) : list_(list) {}
  ~emptied_at_end() { list_.clear(); }
  emptied_at_end(const emptied_at_end&) = delete;
  emptied_at_end& operator=(const emptied_at_end&) = delete;

 private:
  launch_list& list_;
};

}  // namespace

void graph_cache::run(std::uint64_t key, launch_list& segment) {
  const emptied_at_end end(segment);
  if (segment.empty()) return;
  ++counted_.segments;
  if (segment.size() < limits_.shortest || segment.size() > limits_.nodes ||
      segment.bytes() > limits_.bytes) {
    return launch_eagerly(segment);
  }
  const std::uint64_t name = mix(key, segment.shape_hash());
  if (const auto found = by_key_.find(name); found != by_key_.end()) {
    graphs_.splice(graphs_.begin(), graphs_, found->second);
    // Equal hashes of different kernels: rare enough to launch them without a graph.
    if (!found->second->current.same_shape(segment)) return launch_eagerly(segment);
    return replay(*found->second, segment);
  }
  if (seen_.size() >= limits_.sightings) seen_.clear();
  if (seen_.insert(name).second) return launch_eagerly(segment);
  build(name, segment);
}

void graph_cache::clear() noexcept {
  graphs_.clear();
  by_key_.clear();
  seen_.clear();
  bytes_ = 0;
  counted_.graphs_kept = 0;
  counted_.nodes_kept = 0;
}

void graph_cache::launch_eagerly(const launch_list& segment) {
  for (std::size_t i = 0; i < segment.size(); ++i) {
    device_.launch(segment, i);
    ++counted_.eager_launches;
  }
}

bool graph_cache::patch(entry& found, const launch_list& segment) {
  try {
    for (std::size_t i = 0; i < segment.size(); ++i) {
      if (found.current.same_params(segment, i)) continue;
      found.graph->patch(segment, i);
      ++counted_.patched_nodes;
    }
  } catch (const error&) {
    return false;
  }
  return true;
}

void graph_cache::replay(entry& found, launch_list& segment) {
  if (!patch(found, segment)) {  // partly patched: no longer usable
    ++counted_.failed_builds;
    drop(found.key);
    return launch_eagerly(segment);
  }
  std::swap(found.current, segment);
  const std::uint64_t nodes = found.current.size();
  try {
    found.graph->launch();
  } catch (...) {
    drop(found.key);
    throw;
  }
  ++counted_.replays;
  counted_.replayed_nodes += nodes;
}

void graph_cache::build(std::uint64_t key, launch_list& segment) {
  std::unique_ptr<executable> graph;
  try {
    graph = device_.build(segment);
  } catch (const error&) {  // out of memory, for one; the kernels themselves need none
    ++counted_.failed_builds;
    seen_.erase(key);
    return launch_eagerly(segment);
  }
  graph->launch();
  ++counted_.graphs_built;
  ++counted_.replays;
  counted_.replayed_nodes += segment.size();
  graphs_.push_front({key, {}, std::move(graph)});
  std::swap(graphs_.front().current, segment);
  by_key_[key] = graphs_.begin();
  seen_.erase(key);
  bytes_ += graphs_.front().current.bytes();
  ++counted_.graphs_kept;
  counted_.nodes_kept += graphs_.front().current.size();
  make_room();
}

void graph_cache::make_room() {
  while (counted_.nodes_kept > limits_.nodes || bytes_ > limits_.bytes) drop(graphs_.back().key);
}

void graph_cache::drop(std::uint64_t key) noexcept {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return;
  const entry& dropped = *found->second;
  bytes_ -= dropped.current.bytes();
  --counted_.graphs_kept;
  counted_.nodes_kept -= dropped.current.size();
  graphs_.erase(found->second);
  by_key_.erase(found);
}

}  // namespace halocline::backend::graph
