// SPDX-License-Identifier: Apache-2.0
#include "backend/graph/graph_cache.hpp"

#include <algorithm>
#include <exception>
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
  if (count_ == 0 || each < ns_) ns_ = each;
  ++count_;
}

void graph_cache::begin_program(std::uint64_t key) noexcept {
  const std::uint64_t now = now_();
  build_ns_ = 0;
  build_limit_ = -1;
  has_number_ = false;
  try {
    if (begun_.size() >= limits_.sightings) begun_.clear();
    const auto [last, is_new] = begun_.try_emplace(key, now);
    if (!is_new) build_limit_ = static_cast<double>(std::max(now - last->second, limits_.always_ns));
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
  if (!std::exchange(has_number_, true)) ++program_;
  const std::uint64_t name = mix(key, segment.shape_hash());
  if (const auto found = by_key_.find(name); found != by_key_.end()) {
    return rerun(found->second, name, segment);
  }
  if (pauses(name) || first_sight(name) || !may_build(segment)) return launch_eagerly(segment);
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
  return seen_.try_emplace(name, program_).second;
}

/// Whether graphs of a segment were given up a short time ago.
bool graph_cache::pauses(std::uint64_t name) {
  const auto found = slow_.find(name);
  if (found == slow_.end()) return false;
  if (program_ < found->second) return true;
  slow_.erase(found);
  return false;
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

void graph_cache::use(entries::iterator found) noexcept {
  graphs_.splice(graphs_.begin(), graphs_, found);
  if (found->program == program_) return;
  found->period = program_ - found->program;
  found->program = program_;
}

/// Launches a segment that has graphs: the one of which fewest nodes must change.
void graph_cache::rerun(variants& found, std::uint64_t key, launch_list& segment) {
  // Equal hashes of different kernels: rare enough to launch them without a graph.
  if (!found.front()->current.same_shape(segment)) return launch_eagerly(segment);
  entries::iterator best = found.front();
  std::vector<std::size_t> changes = best->current.changes(segment);
  for (auto each = found.begin() + 1; each != found.end() && !changes.empty(); ++each) {
    std::vector<std::size_t> others = (*each)->current.changes(segment);
    if (others.size() >= changes.size()) continue;
    changes = std::move(others);
    best = *each;
  }
  use(best);
  if (2 * changes.size() > segment.size() && found.size() < limits_.variants) {
    const std::uint64_t sight = mix(key, segment.params_hash());
    if (!first_sight(sight) && may_build(segment)) return build(key, sight, segment);
  }
  // It is changed all the same until it is given up: what changes only once is paid only once, and the times
  // are measured anew.
  constexpr unsigned patience = 2;
  best->times_slow = is_slow(changes.size(), segment.size()) ? best->times_slow + 1 : 0;
  if (best->times_slow <= patience) return replay(best, changes, segment);
  give_up(best);
  launch_eagerly(segment);
}

void graph_cache::give_up(entries::iterator found) {
  if (slow_.size() >= limits_.sightings) slow_.clear();
  slow_[found->key] = program_ + limits_.pause;
  drop(found);
  ++counted_.slow_graphs;
}

bool graph_cache::patch(entry& found, const std::vector<std::size_t>& changes, const launch_list& segment) {
  try {
    for (const std::size_t i : changes) {
      found.graph->patch(segment, i);
      ++counted_.patched_nodes;
    }
  } catch (const error&) {
    return false;
  }
  return true;
}

void graph_cache::replay(entries::iterator found, const std::vector<std::size_t>& changes,
                         launch_list& segment) {
  const std::uint64_t begin = now_();
  if (!patch(*found, changes, segment)) {  // partly patched: no longer usable
    ++counted_.failed_builds;
    drop(found);
    return launch_eagerly(segment);
  }
  const std::uint64_t patched = now_();
  patching_.add(patched - begin, changes.size());
  std::swap(found->current, segment);
  const std::size_t kernels = found->current.size();
  launch(found);
  replaying_.add(now_() - patched, kernels);
}

/// Launches a graph; it is dropped when that fails.
void graph_cache::launch(entries::iterator found) {
  try {
    found->graph->launch();
  } catch (...) {
    drop(found);
    throw;
  }
  ++counted_.replays;
  counted_.replayed_nodes += found->current.size();
}

/// Whether there is room, without destroying graphs in use, and time for one more graph.
bool graph_cache::may_build(const launch_list& segment) const noexcept {
  const double expected = build_ns_ + building_.of(segment.size());
  if (build_limit_ >= 0 && build_ns_ > 0 && expected > build_limit_) return false;
  std::size_t nodes = counted_.nodes_kept + segment.size(), bytes = bytes_ + segment.bytes();
  for (auto each = graphs_.rbegin(); each != graphs_.rend(); ++each) {
    if (nodes <= limits_.nodes && bytes <= limits_.bytes) return true;
    if (program_ - each->program <= each->period) return false;  // it is not overdue
    nodes -= each->current.size();
    bytes -= each->current.bytes();
  }
  return true;
}

/// @param sight what of `seen_` is dropped: a graph that is destroyed is made again after two more sights
void graph_cache::build(std::uint64_t key, std::uint64_t sight, launch_list& segment) {
  const auto seen = seen_.find(sight);
  const std::uint64_t since = seen == seen_.end() ? 1 : program_ - seen->second;
  seen_.erase(sight);
  const std::uint64_t begin = now_();
  // Whatever may throw comes before anything is changed.
  entries made;
  variants* among = nullptr;
  try {
    made.push_front({key, {}, nullptr, program_, std::max<std::uint64_t>(1, since)});
    among = &by_key_[key];
    among->reserve(among->size() + 1);
    made.front().graph = device_.build(segment);
  } catch (const std::exception&) {  // out of memory, for one; the kernels themselves need none
    if (among != nullptr && among->empty()) by_key_.erase(key);
    ++counted_.failed_builds;
    return launch_eagerly(segment);
  }
  const std::uint64_t took = now_() - begin;
  build_ns_ += static_cast<double>(took);
  building_.add(took, segment.size());
  std::swap(made.front().current, segment);
  graphs_.splice(graphs_.begin(), made);
  among->push_back(graphs_.begin());
  bytes_ += graphs_.front().current.bytes();
  ++counted_.graphs_built;
  ++counted_.graphs_kept;
  counted_.nodes_kept += graphs_.front().current.size();
  launch(graphs_.begin());
  make_room();
}

void graph_cache::make_room() {
  while (counted_.nodes_kept > limits_.nodes || bytes_ > limits_.bytes) drop(std::prev(graphs_.end()));
}

void graph_cache::drop(entries::iterator gone) noexcept {
  bytes_ -= gone->current.bytes();
  --counted_.graphs_kept;
  counted_.nodes_kept -= gone->current.size();
  if (const auto found = by_key_.find(gone->key); found != by_key_.end()) {
    std::erase(found->second, gone);
    if (found->second.empty()) by_key_.erase(found);
  }
  graphs_.erase(gone);
}

}  // namespace halocline::backend::graph
