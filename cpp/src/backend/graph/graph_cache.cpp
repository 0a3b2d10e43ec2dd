// SPDX-License-Identifier: Apache-2.0
#include "backend/graph/graph_cache.hpp"

#include <iterator>
#include <new>
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

void least_cost::add(std::uint64_t ns, std::size_t kernels) noexcept {
  if (kernels < enough) return;
  const double each = static_cast<double>(ns) / static_cast<double>(kernels);
  if (!known() || each < ns_) ns_ = each;
}

void graph_cache::begin_program(std::uint64_t key) noexcept {
  const std::uint64_t now = now_();
  build_ns_ = 0;
  build_limit_ = -1;
  ++program_;
  try {
    if (begun_.size() >= limits_.sightings) begun_.clear();
    const auto [last, is_new] = begun_.try_emplace(key, now);
    if (!is_new) build_limit_ = static_cast<double>(now - last->second);
    last->second = now;
  } catch (const std::bad_alloc&) {  // then nothing limits it this time
  }
}

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
    return rerun(found->second, name, segment);
  }
  if (slow_.contains(name) || first_sight(name) || !may_build(segment)) return launch_eagerly(segment);
  build(name, name, segment);
}

void graph_cache::clear() noexcept {
  graphs_.clear();
  by_key_.clear();
  seen_.clear();
  slow_.clear();
  bytes_ = 0;
  counted_.graphs_kept = 0;
  counted_.nodes_kept = 0;
}

bool graph_cache::first_sight(std::uint64_t name) {
  if (seen_.size() >= limits_.sightings) seen_.clear();
  return seen_.insert(name).second;
}

void graph_cache::launch_eagerly(const launch_list& segment) {
  const std::uint64_t begin = now_();
  for (std::size_t i = 0; i < segment.size(); ++i) {
    device_.launch(segment, i);
    ++counted_.eager_launches;
  }
  launching_.add(now_() - begin, segment.size());
}

/// Whether the host takes longer with a graph. What is not known yet counts as nothing.
bool graph_cache::is_slow(std::size_t changed, std::size_t kernels) const noexcept {
  if (kernels < least_cost::enough || !launching_.known()) return false;
  return patching_.of(changed) + replaying_.of(kernels) > launching_.of(kernels);
}

/// Launches a segment that has graphs: the one of which fewest nodes must change.
void graph_cache::rerun(variants& found, std::uint64_t key, launch_list& segment) {
  // Equal hashes of different kernels: rare enough to launch them without a graph.
  if (!found.front()->current.same_shape(segment)) return launch_eagerly(segment);
  entries::iterator best = found.front();
  std::size_t changed = segment.size() + 1;
  for (const entries::iterator each : found) {
    const std::size_t differ = each->current.count_changed(segment);
    if (differ < changed) {
      changed = differ;
      best = each;
    }
  }
  graphs_.splice(graphs_.begin(), graphs_, best);
  best->program = program_;
  if (2 * changed > segment.size() && found.size() < limits_.variants) {
    const std::uint64_t sight = mix(key, segment.params_hash());
    if (!first_sight(sight) && may_build(segment)) return build(key, sight, segment);
  }
  if (!is_slow(changed, segment.size())) {
    best->times_slow = 0;
    return replay(best, changed, segment);
  }
  if (++best->times_slow > 1) {
    if (slow_.size() >= limits_.sightings) slow_.clear();
    if (found.size() == 1) slow_.insert(key);
    drop(best);
    ++counted_.slow_graphs;
  }
  launch_eagerly(segment);
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

void graph_cache::replay(entries::iterator found, std::size_t changed, launch_list& segment) {
  const std::uint64_t begin = now_();
  if (!patch(*found, segment)) {  // partly patched: no longer usable
    ++counted_.failed_builds;
    drop(found);
    return launch_eagerly(segment);
  }
  const std::uint64_t patched = now_();
  patching_.add(patched - begin, changed);
  std::swap(found->current, segment);
  const std::uint64_t nodes = found->current.size();
  try {
    found->graph->launch();
  } catch (...) {
    drop(found);
    throw;
  }
  replaying_.add(now_() - patched, nodes);
  ++counted_.replays;
  counted_.replayed_nodes += nodes;
}

/// Whether there is room, without destroying graphs in use, and time for one more graph.
bool graph_cache::may_build(const launch_list& segment) const noexcept {
  const double expected = build_ns_ + building_.of(segment.size());
  if (build_limit_ >= 0 && build_ns_ > 0 && expected > build_limit_) return false;
  std::size_t nodes = counted_.nodes_kept + segment.size(), bytes = bytes_ + segment.bytes();
  for (auto each = graphs_.rbegin(); each != graphs_.rend(); ++each) {
    if (nodes <= limits_.nodes && bytes <= limits_.bytes) return true;
    if (each->program + 1 >= program_) return false;
    nodes -= each->current.size();
    bytes -= each->current.bytes();
  }
  return true;
}

/// @param sight what of `seen_` is dropped: a graph that is destroyed is made again after two more sights
void graph_cache::build(std::uint64_t key, std::uint64_t sight, launch_list& segment) {
  const std::uint64_t begin = now_();
  std::unique_ptr<executable> graph;
  try {
    graph = device_.build(segment);
  } catch (const error&) {  // out of memory, for one; the kernels themselves need none
    ++counted_.failed_builds;
    seen_.erase(sight);
    return launch_eagerly(segment);
  }
  const std::uint64_t took = now_() - begin;
  build_ns_ += static_cast<double>(took);
  building_.add(took, segment.size());
  graph->launch();
  ++counted_.graphs_built;
  ++counted_.replays;
  counted_.replayed_nodes += segment.size();
  graphs_.push_front({key, {}, std::move(graph), program_});
  std::swap(graphs_.front().current, segment);
  by_key_[key].push_back(graphs_.begin());
  seen_.erase(sight);
  bytes_ += graphs_.front().current.bytes();
  ++counted_.graphs_kept;
  counted_.nodes_kept += graphs_.front().current.size();
  make_room();
}

void graph_cache::make_room() {
  while (counted_.nodes_kept > limits_.nodes || bytes_ > limits_.bytes) drop(std::prev(graphs_.end()));
}

void graph_cache::drop(entries::iterator gone) noexcept {
  bytes_ -= gone->current.bytes();
  --counted_.graphs_kept;
  counted_.nodes_kept -= gone->current.size();
  const auto found = by_key_.find(gone->key);
  std::erase(found->second, gone);
  if (found->second.empty()) by_key_.erase(found);
  graphs_.erase(gone);
}

}  // namespace halocline::backend::graph
