// SPDX-License-Identifier: Apache-2.0
#include "memory/plan/replacement.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "memory/plan/use_set.hpp"

namespace halocline::memory::plan {
namespace {

/// Victims are kept in classes of about equal cost per page, each sorted by next use.
constexpr unsigned class_count = 64;
/// Uses looked ahead for the extent of a prefix, and victims looked at for one that has been idle.
constexpr int extent_reach = 16, idle_reach = 16;

class belady {
 public:
  belady(const program& source, const liveness& lives, const planner_options& options,
         const victim_rules& rules)
      : source_(source),
        lives_(lives),
        options_(options),
        rules_(rules),
        demand_(source, lives),
        objects_(source.objects.size()) {
    for (use_set& each : waiting_) each = use_set(source.uses.size());
  }

  std::vector<stay> run() {
    const auto steps = static_cast<step_index>(source_.steps());
    for (now_ = 0; now_ < steps; ++now_) {
      end_lives();
      bring_operands();
      while (used_ > rules_.capacity_pages && evict()) {
      }
      if (used_ > rules_.capacity_pages) shrink_operands();
      for (use_index u = begin(); u < end(); ++u) settle(u);
    }
    for (const state& each : objects_) {
      if (each.stay != no_stay) stays_[each.stay].until = steps;
    }
    return std::move(stays_);
  }

 private:
  /// Who may lose its frame.
  enum class standing : std::uint8_t {
    pinned,   ///< operand, scratch, or without a frame
    waiting,  ///< will be read again
    lapsed,   ///< dirty, but nobody reads it again
    result,   ///< dirty and not used again, but read after the program
  };
  struct state {
    stay_index stay = no_stay;    ///< the present one
    stay_index latest = no_stay;  ///< the present or last one
    standing kind = standing::pinned;
    std::uint8_t cost_class = 0;
    bool is_dirty = false;
  };

  [[nodiscard]] use_index begin() const { return source_.first_use[now_]; }
  [[nodiscard]] use_index end() const { return source_.first_use[now_ + 1]; }
  [[nodiscard]] const object& object_of(use_index u) const { return source_.objects[source_.uses[u].target]; }
  /// Nanoseconds, on a run that never waits, from the present step to the one of a use.
  [[nodiscard]] double distance(use_index to) const {
    const step_index step = lives_.step_of[to];
    return lives_.begin_ns[step] - lives_.begin_ns[now_] + 1e-3 * (step - now_);
  }

  void end_lives() {
    for (; next_death_ < lives_.deaths.size(); ++next_death_) {
      const object_index dead = lives_.deaths[next_death_];
      if (source_.objects[dead].dead > now_) return;
      if (objects_[dead].stay == no_stay) continue;
      stay& last = stays_[objects_[dead].stay];
      last.until = now_;
      used_ -= last.pages;
      objects_[dead].stay = no_stay;
      objects_[dead].kind = standing::pinned;
    }
  }

  void bring_operands() {
    std::uint64_t pinned = demand_.advance(now_);
    for (use_index u = begin(); u < end(); ++u) {
      state& target = objects_[source_.uses[u].target];
      if (target.kind == standing::waiting) waiting_[target.cost_class].erase(u);
      target.kind = standing::pinned;
      if (target.stay == no_stay) continue;
      if (stays_[target.stay].pages < lives_.pages[u]) {
        close(source_.uses[u].target, false);
      } else {
        pinned += stays_[target.stay].pages - lives_.pages[u];
      }
    }
    spare_ = rules_.capacity_pages - std::min(pinned, rules_.capacity_pages);
    lead_ns_ = 0;
    for (use_index u = begin(); u < end(); ++u) {
      if (objects_[source_.uses[u].target].stay == no_stay) open(u, extent(u));
    }
  }

  void open(use_index u, std::uint32_t pages) {
    const use& touched = source_.uses[u];
    state& target = objects_[touched.target];
    stay begun;
    begun.target = touched.target;
    begun.pages = pages;
    begun.first = begun.last = now_;
    begun.previous = target.latest;
    begun.loads = touched.reads && (lives_.opens[u] == 0 || has_home(object_of(u)));
    if (begun.loads) lead_ns_ = std::max(lead_ns_, options_.costs.load.at(bytes_of(pages)));
    target.stay = target.latest = static_cast<stay_index>(stays_.size());
    stays_.push_back(begun);
    used_ += pages;
  }

  static double bytes_of(std::uint32_t pages) { return static_cast<double>(pages) * page_bytes; }

  /// Pages to load for a use: more than it needs itself if a later use, before the next eviction, needs more,
  /// and holding them until then costs less than loading the first ones again.
  std::uint32_t extent(use_index u) {
    const std::uint32_t needed = lives_.pages[u];
    if (!options_.allow_truncate) return whole_if_spare(u);
    std::uint32_t pages = needed;
    use_index at = u;
    for (int i = 0; i < extent_reach; ++i) {
      const use_index next = lives_.next[at];
      if (next == no_use || distance(next) - distance(at) > reach_ns_) break;
      if (lives_.pages[next] > pages) {
        const double more = lives_.pages[next] - pages;
        if (lives_.pages[next] - needed > spare_ || more * distance(next) > pages * reach_ns_) break;
        pages = lives_.pages[next];
      }
      at = next;
    }
    spare_ -= pages - needed;
    return pages;
  }

  std::uint32_t whole_if_spare(use_index u) {
    const std::uint32_t whole = pages_of(object_of(u).bytes), needed = lives_.pages[u];
    if (whole - needed > spare_) return needed;
    spare_ -= whole - needed;
    return whole;
  }

  /// Ends the present stay of an object after its last use.
  void close(object_index target, bool stores) {
    state& mine = objects_[target];
    stay& ended = stays_[mine.stay];
    ended.until = ended.last + 1;
    ended.stores = stores;
    ended.drops = source_.objects[target].dead > ended.until;
    if (stores) mine.is_dirty = false;
    used_ -= ended.pages;
    mine.stay = no_stay;
    mine.kind = standing::pinned;
  }

  bool evict() {
    return evict_from(lapsed_, standing::lapsed) || evict_from(results_, standing::result) || evict_waiting();
  }

  bool evict_from(std::vector<object_index>& list, standing kind) {
    while (!list.empty()) {
      const object_index target = list.back();
      list.pop_back();
      if (objects_[target].kind != kind) continue;
      close(target, kind == standing::result);
      return true;
    }
    return false;
  }

  bool evict_waiting() {
    double least = std::numeric_limits<double>::infinity();
    use_index chosen = no_use;
    for (const use_set& each : waiting_) {
      const use_index last = each.last();
      if (last == no_use) continue;
      const double value = cost_per_page(last) / distance(last);
      if (value < least) {
        least = value;
        chosen = last;
      }
    }
    if (chosen == no_use) return false;
    chosen = prefer_idle(chosen);
    const object_index target = source_.uses[chosen].target;
    reach_ns_ = distance(chosen);
    waiting_[objects_[target].cost_class].erase(chosen);
    close(target, objects_[target].is_dirty);
    return true;
  }

  /// Instead of the best victim, one that is nearly as good and has been idle for long enough that its frame
  /// can be filled before the present step.
  use_index prefer_idle(use_index best) const {
    if (rules_.near_equal >= 1 || lead_ns_ <= 0) return best;
    const use_set& members = waiting_[objects_[source_.uses[best].target].cost_class];
    const double limit = rules_.near_equal * distance(best);
    double longest = -1;
    use_index chosen = best, at = best;
    for (int i = 0; i < idle_reach && at != no_use && distance(at) >= limit; ++i, at = members.below(at)) {
      const stay& mine = stays_[objects_[source_.uses[at].target].stay];
      const double idle = lives_.begin_ns[now_] - lives_.begin_ns[mine.last + 1];
      if (idle > longest) {
        longest = idle;
        chosen = at;
      }
      if (idle >= lead_ns_) break;
    }
    return chosen;
  }

  /// Cost of bringing back what use `u` needs, per page of the frame that the object has now.
  [[nodiscard]] double cost_per_page(use_index u) const {
    const object& target = object_of(u);
    const state& mine = objects_[source_.uses[u].target];
    const double held = stays_[mine.stay].pages, needed = lives_.pages[u];
    if (!rules_.by_time) return (needed + (mine.is_dirty ? 0.125 * held : 0)) / held;
    const cost_model& costs = options_.costs;
    double cost = costs.load.at(needed * page_bytes);
    if (lives_.is_whole[source_.uses[u].target] == 0) {
      if (target.comes_back == recovery::expand && options_.allow_expand)
        cost = std::min(cost, costs.expand.at(needed * page_bytes));
      if (target.comes_back == recovery::encode && options_.allow_encode)
        cost = std::min(cost, costs.encode.at(needed * page_bytes));
    }
    if (mine.is_dirty) cost += costs.store.at(held * page_bytes);
    return cost / (held * page_bytes * std::max(costs.load.ns_per_byte, 1e-9));
  }

  /// Eight classes per factor of two: exponent and upper bits of the mantissa.
  [[nodiscard]] static std::uint8_t class_of(double cost) {
    const auto bits = static_cast<std::int64_t>(std::bit_cast<std::uint32_t>(static_cast<float>(cost)) >> 20);
    return static_cast<std::uint8_t>(std::clamp<std::int64_t>(bits - (127 - 5) * 8, 0, class_count - 1));
  }

  /// Operands hold longer prefixes than they need, and nothing else is left to evict.
  void shrink_operands() {
    for (use_index u = begin(); u < end() && used_ > rules_.capacity_pages; ++u) {
      const state& mine = objects_[source_.uses[u].target];
      if (stays_[mine.stay].pages == lives_.pages[u]) continue;
      close(source_.uses[u].target, false);
      open(u, lives_.pages[u]);
    }
  }

  /// After the step: what becomes of an operand.
  void settle(use_index u) {
    const use& touched = source_.uses[u];
    const object& target = object_of(u);
    state& mine = objects_[touched.target];
    stays_[mine.stay].last = now_;
    if (target.cls == object_class::scratch) return;
    if (touched.writes || (lives_.opens[u] != 0 && !has_home(target))) mine.is_dirty = true;
    const use_index next = lives_.next[u];
    stays_[mine.stay].matters = next != no_use ? source_.uses[next].reads : target.dead == no_step;
    if (next != no_use && stays_[mine.stay].matters) {
      mine.kind = standing::waiting;
      mine.cost_class = class_of(cost_per_page(next));
      waiting_[mine.cost_class].insert(next);
    } else if (!mine.is_dirty) {
      close(touched.target, false);
    } else if (stays_[mine.stay].matters) {
      mine.kind = standing::result;
      results_.push_back(touched.target);
    } else {
      mine.kind = standing::lapsed;
      lapsed_.push_back(touched.target);
    }
  }

  const program& source_;
  const liveness& lives_;
  const planner_options& options_;
  const victim_rules& rules_;
  step_demand demand_;
  std::vector<state> objects_;
  std::vector<stay> stays_;
  std::array<use_set, class_count> waiting_;  ///< next uses, by class of cost
  std::vector<object_index> lapsed_, results_;
  std::size_t next_death_ = 0;
  step_index now_ = 0;
  std::uint64_t used_ = 0, spare_ = 0;
  double lead_ns_ = 0;                                         ///< longest load of the present step
  double reach_ns_ = std::numeric_limits<double>::infinity();  ///< how far ahead victims are needed again
};

}  // namespace

std::vector<stay> choose_stays(const program& source, const liveness& lives, const planner_options& options,
                               const victim_rules& rules) {
  return belady(source, lives, options, rules).run();
}

}  // namespace halocline::memory::plan
