// SPDX-License-Identifier: Apache-2.0
#include "memory/plan/replacement.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <span>

#include "memory/plan/use_set.hpp"

namespace halocline::memory::plan {
namespace {

/// Victims are kept in classes of about equal cost per page, each sorted by next use.
constexpr unsigned class_count = 64;
/// Victims looked at for one that has been idle.
constexpr int idle_reach = 16;
/// A victim is idle for long enough if the loads of the step could be done so many times: the link may be
/// busy with those of other steps.
constexpr double lead_factor = 3;

class belady {
 public:
  belady(const program& source, const liveness& lives, const segment_table& cut,
         const planner_options& options, const victim_rules& rules, std::span<const std::uint32_t> held)
      : source_(source),
        lives_(lives),
        cut_(cut),
        options_(options),
        rules_(rules),
        held_(held),
        demand_(source, lives),
        segments_(cut.end.size()),
        idle_(lives.deaths.size() + source.objects.size()),
        death_rank_(source.objects.size()) {
    for (use_set& each : waiting_) each = use_set(2 * source.uses.size());
    for (object_index i = 0; i < death_rank_.size(); ++i)
      death_rank_[i] = static_cast<std::uint32_t>(lives.deaths.size()) + i;
    for (std::uint32_t i = 0; i < lives.deaths.size(); ++i) death_rank_[lives.deaths[i]] = i;
  }

  std::vector<stay> run() {
    const auto steps = static_cast<step_index>(source_.steps());
    begin_with_residents();
    for (now_ = 0; now_ < steps; ++now_) {
      end_lives();
      bring_operands();
      while (used_ > rules_.capacity_pages && evict()) {
      }
      if (used_ > rules_.capacity_pages) shrink_operands();
      for (use_index u = begin(); u < end(); ++u) settle(u);
    }
    for (const state& each : segments_) {
      if (each.stay != no_stay) stays_[each.stay].until = steps;
    }
    return std::move(stays_);
  }

 private:
  using segment = std::uint32_t;
  /// Candidates for eviction.
  enum class standing : std::uint8_t {
    pinned,   ///< operand, scratch, or without a frame
    waiting,  ///< will be used again
    idle,     ///< will not be used again, but has to be written back before it loses its frame
  };
  /// Of one segment.
  struct state {
    stay_index stay = no_stay;    ///< the present one
    stay_index latest = no_stay;  ///< the present or last one
    use_index next = no_use;      ///< next use, when waiting
    standing kind = standing::pinned;
    std::uint8_t cost_class = 0;
    bool is_dirty = false;
    bool is_untouched = false;  ///< there since before the program, and not used yet
  };

  // Uses of the next run of the program are numbered behind those of this one.
  [[nodiscard]] use_index count() const { return static_cast<use_index>(source_.uses.size()); }
  [[nodiscard]] use_index in_run(use_index u) const { return u < count() ? u : u - count(); }
  [[nodiscard]] const use& use_of(use_index u) const { return source_.uses[in_run(u)]; }
  [[nodiscard]] std::uint32_t pages_of_use(use_index u) const { return lives_.pages[in_run(u)]; }
  /// The next use of the same object; behind the last one of this run, the first one of the next run where
  /// that will find the same contents.
  [[nodiscard]] use_index next_of(use_index u) const {
    const use_index next = lives_.next[in_run(u)];
    if (u >= count()) return next == no_use ? no_use : next + count();
    if (next != no_use) return next;
    const object_index target = use_of(u).target;
    return comes_again(source_, lives_, target) ? lives_.first[target] + count() : no_use;
  }

  [[nodiscard]] use_index begin() const { return source_.first_use[now_]; }
  [[nodiscard]] use_index end() const { return source_.first_use[now_ + 1]; }
  [[nodiscard]] object_index target_of(use_index u) const { return use_of(u).target; }
  [[nodiscard]] const object& object_of(use_index u) const { return source_.objects[target_of(u)]; }
  /// Segments that a use touches: from `cut_.first[target]` to this.
  [[nodiscard]] segment touched_end(use_index u) const {
    segment at = cut_.first[target_of(u)];
    while (at < cut_.first[target_of(u) + 1] && cut_.begin[at] < lives_.pages[u]) ++at;
    return at;
  }
  /// Nanoseconds, on a run that never waits, from the present step to the one of a use.
  [[nodiscard]] double distance(use_index to) const {
    const step_index step = lives_.step_of[in_run(to)];
    const bool is_later = to >= count();
    const double steps = static_cast<double>(step) + (is_later ? static_cast<double>(source_.steps()) : 0);
    return lives_.begin_ns[step] + (is_later ? lives_.begin_ns.back() : 0) - lives_.begin_ns[now_] +
           1e-3 * (steps - static_cast<double>(now_));
  }
  static double bytes_of(std::uint32_t pages) { return static_cast<double>(pages) * page_bytes; }

  /// Stays of what is there when the program begins. Those that are evicted unused leave no trace.
  void begin_with_residents() {
    for (object_index target = 0; target < held_.size(); ++target) {
      use_index next = held_[target] == 0 ? no_use : lives_.first[target];
      for (segment i = cut_.first[target]; i < cut_.first[target + 1] && next != no_use; ++i) {
        while (next != no_use && lives_.pages[next] <= cut_.begin[i]) next = lives_.next[next];
        if (next == no_use || !source_.uses[next].reads) break;
        const std::uint32_t end = options_.allow_resize ? cut_.end[i] : lives_.pages[next];
        if (end > held_[target]) break;
        open(next, i, end - cut_.begin[i]);
        segments_[i].is_untouched = true;
        wait_for(next, i);
      }
    }
  }

  void end_lives() {
    for (; next_death_ < lives_.deaths.size(); ++next_death_) {
      const object_index dead = lives_.deaths[next_death_];
      if (source_.objects[dead].dead > now_) return;
      for (segment i = cut_.first[dead]; i < cut_.first[dead + 1]; ++i) {
        state& mine = segments_[i];
        if (mine.kind == standing::idle) idle_.erase(death_rank_[dead]);
        mine.kind = standing::pinned;
        if (mine.stay == no_stay) continue;
        stays_[mine.stay].until = now_;
        used_ -= stays_[mine.stay].pages;
        mine.stay = no_stay;
      }
    }
  }

  void bring_operands() {
    std::uint64_t pinned = demand_.advance(now_);
    for (use_index u = begin(); u < end(); ++u) {
      for (segment i = cut_.first[target_of(u)], last = touched_end(u); i < last; ++i) {
        state& mine = segments_[i];
        if (mine.kind == standing::waiting) waiting_[mine.cost_class].erase(mine.next);
        mine.kind = standing::pinned;
        mine.is_untouched = false;
        if (mine.stay == no_stay || options_.allow_resize) continue;
        if (stays_[mine.stay].pages < lives_.pages[u]) {
          close(i, false);
        } else {
          pinned += stays_[mine.stay].pages - lives_.pages[u];
        }
      }
    }
    spare_ = rules_.capacity_pages - std::min(pinned, rules_.capacity_pages);
    lead_ns_ = 0;
    for (use_index u = begin(); u < end(); ++u) {
      for (segment i = cut_.first[target_of(u)], last = touched_end(u); i < last; ++i) {
        if (segments_[i].stay == no_stay) open(u, i, options_.allow_resize ? cut_.pages(i) : extent(u));
      }
    }
  }

  void open(use_index u, segment i, std::uint32_t pages) {
    const use& touched = source_.uses[u];
    state& mine = segments_[i];
    stay begun;
    begun.target = touched.target;
    begun.begin = cut_.begin[i];
    begun.pages = pages;
    begun.first = begun.last = now_;
    begun.previous = mine.latest;
    begun.below = i == cut_.first[touched.target] ? no_stay : segments_[i - 1].stay;
    begun.loads = touched.reads && (lives_.opens[u] == 0 || has_home(object_of(u)));
    if (begun.loads) lead_ns_ += lead_factor * options_.costs.load.at(bytes_of(pages));
    mine.stay = mine.latest = static_cast<stay_index>(stays_.size());
    stays_.push_back(begun);
    used_ += pages;
  }

  /// Pages of a new frame that cannot be resized: what the use needs. Where later uses need more and there is
  /// room, bridging makes the frame longer.
  std::uint32_t extent(use_index u) {
    const std::uint32_t needed = lives_.pages[u], whole = pages_of(object_of(u).bytes);
    if (options_.allow_truncate || whole - needed > spare_) return needed;
    spare_ -= whole - needed;
    return whole;
  }

  /// Ends the present stay of a segment after its last use.
  void close(segment i, bool stores) {
    state& mine = segments_[i];
    stay& ended = stays_[mine.stay];
    ended.until = ended.last + 1;
    ended.stores = stores;
    ended.drops = source_.objects[ended.target].dead > ended.until;
    if (stores) mine.is_dirty = false;
    used_ -= ended.pages;
    if (mine.is_untouched) {
      ended.is_gone = true;
      mine.latest = no_stay;
      mine.is_untouched = false;
    }
    mine.stay = no_stay;
    mine.kind = standing::pinned;
  }

  bool evict() {
    double least = std::numeric_limits<double>::infinity();
    use_index chosen = no_use;
    for (const use_set& each : waiting_) {
      const use_index last = each.last();
      if (last == no_use) continue;
      const double value = cost_per_page(last, uppermost(last)) / distance(last);
      if (value < least) {
        least = value;
        chosen = last;
      }
    }
    if (evict_idle(least)) return true;
    if (chosen == no_use) return false;
    chosen = prefer_idle(chosen);
    evict_down_to(chosen);
    return true;
  }

  /// Evicts, of what is not used again, the one that lives longest, if that is worth less than `value`. Its
  /// contents are written back, because a program that leaves its plan might read them after all; an object
  /// that is freed soon releases its frame without a write-back.
  bool evict_idle(double value) {
    const std::uint32_t rank = idle_.last();
    if (rank == no_use) return false;
    const std::size_t deaths = lives_.deaths.size();
    const object_index target =
        rank < deaths ? lives_.deaths[rank] : static_cast<object_index>(rank - deaths);
    const std::size_t end = std::min<std::size_t>(source_.objects[target].dead, source_.steps());
    const double left = lives_.begin_ns[end] - lives_.begin_ns[now_] + 1e-3;
    if (write_cost(pages_of(source_.objects[target].bytes)) / left > value) return false;
    idle_.erase(rank);
    close(cut_.first[target], true);
    return true;
  }

  /// Cost of a write-back per page, in the unit of `cost_per_page`.
  [[nodiscard]] double write_cost(std::uint32_t pages) const {
    if (!rules_.by_time) return rules_.write_weight;
    const double bytes = bytes_of(pages), load = std::max(options_.costs.load.ns_per_byte, 1e-9);
    return rules_.write_weight * options_.costs.store.at(bytes) / (bytes * load);
  }

  /// Uppermost segment that waits for a use.
  [[nodiscard]] segment uppermost(use_index u) const {
    segment at = cut_.first[target_of(u) + 1] - 1;
    while (segments_[at].kind != standing::waiting || segments_[at].next != u) --at;
    return at;
  }

  /// Evicts the uppermost segment that waits for a use, and first those above it.
  void evict_down_to(use_index chosen) {
    const segment lowest = uppermost(chosen), first = cut_.first[target_of(chosen)];
    for (segment i = cut_.first[target_of(chosen) + 1]; i-- > lowest;) {
      if (segments_[i].kind != standing::waiting) continue;
      waiting_[segments_[i].cost_class].erase(segments_[i].next);
      close(i, segments_[i].is_dirty);
    }
    if (lowest == first) return;
    const state& next = segments_[lowest - 1];
    if (next.kind == standing::waiting && next.next == chosen) waiting_[next.cost_class].insert(chosen);
  }

  /// Instead of the best victim, one that is nearly as good and has been idle for long enough that its frame
  /// can be filled before the present step.
  use_index prefer_idle(use_index best) const {
    if (rules_.near_equal >= 1 || lead_ns_ <= 0) return best;
    const use_set& members = waiting_[segments_[uppermost(best)].cost_class];
    const double limit = rules_.near_equal * distance(best);
    double longest = -1;
    use_index chosen = best, at = best;
    for (int i = 0; i < idle_reach && at != no_use && distance(at) >= limit; ++i, at = members.below(at)) {
      const stay& mine = stays_[segments_[uppermost(at)].stay];
      const double idle = lives_.begin_ns[now_] - lives_.begin_ns[mine.last + 1];
      if (idle > longest) {
        longest = idle;
        chosen = at;
      }
      if (idle >= lead_ns_) break;
    }
    return chosen;
  }

  /// Cost of taking the frame away and of bringing back what use `u` needs, per page that is held now. The
  /// unit is the cost of loading a page. All segments of an object cost alike, so that upper ones always go
  /// first.
  [[nodiscard]] double cost_per_page(use_index u, segment i) const {
    const object& target = object_of(u);
    const state& mine = segments_[i];
    const bool whole = lives_.is_whole[target_of(u)] != 0, sized = !options_.allow_resize || whole;
    const std::uint32_t held = sized ? stays_[mine.stay].pages : pages_of(target.bytes);
    const std::uint32_t needed = !use_of(u).reads ? 0 : sized ? pages_of_use(u) : held;
    const double written = mine.is_dirty ? write_cost(held) : 0;
    if (!rules_.by_time || needed == 0) return written + static_cast<double>(needed) / held;
    const cost_model& costs = options_.costs;
    double cost = costs.load.at(bytes_of(needed));
    const double least = rules_.least_share * cost;
    if (!whole && target.comes_back == recovery::expand && options_.allow_expand)
      cost = std::min(cost, std::max(least, costs.expand.at(bytes_of(needed))));
    if (!whole && target.comes_back == recovery::encode && options_.allow_encode)
      cost = std::min(cost, std::max(least, costs.encode.at(bytes_of(needed))));
    return written + cost / (bytes_of(held) * std::max(costs.load.ns_per_byte, 1e-9));
  }

  /// Eight classes per factor of two: exponent and upper bits of the mantissa.
  [[nodiscard]] static std::uint8_t class_of(double cost) {
    const auto bits = static_cast<std::int64_t>(std::bit_cast<std::uint32_t>(static_cast<float>(cost)) >> 20);
    return static_cast<std::uint8_t>(std::clamp<std::int64_t>(bits - (127 - 5) * 8, 0, class_count - 1));
  }

  /// Operands hold longer prefixes than they need, and nothing else is left to evict.
  void shrink_operands() {
    for (use_index u = begin(); u < end() && used_ > rules_.capacity_pages; ++u) {
      const segment i = cut_.first[target_of(u)];
      if (stays_[segments_[i].stay].pages == lives_.pages[u]) continue;
      close(i, false);
      open(u, i, lives_.pages[u]);
    }
  }

  /// After the step: updates the state of an operand.
  void settle(use_index u) {
    const bool begins = lives_.opens[u] != 0 && !has_home(object_of(u));
    use_index next = next_of(u);
    for (segment i = cut_.first[target_of(u)], last = touched_end(u); i < last; ++i) {
      state& mine = segments_[i];
      stays_[mine.stay].last = now_;
      if (source_.uses[u].writes || begins) mine.is_dirty = true;
      while (next != no_use && pages_of_use(next) <= cut_.begin[i]) next = next_of(next);
      if (object_of(u).cls != object_class::scratch) wait_for(next, i);
    }
  }

  void wait_for(use_index next, segment i) {
    state& mine = segments_[i];
    const object_index target = stays_[mine.stay].target;
    if (next != no_use && (use_of(next).reads || mine.is_dirty)) {
      mine.kind = standing::waiting;
      mine.next = next;
      mine.cost_class = class_of(cost_per_page(next, i));
      waiting_[mine.cost_class].insert(next);
    } else if (mine.is_dirty) {
      mine.kind = standing::idle;
      idle_.insert(death_rank_[target]);
    } else {
      close(i, false);
    }
  }

  const program& source_;
  const liveness& lives_;
  const segment_table& cut_;
  const planner_options& options_;
  const victim_rules& rules_;
  const std::span<const std::uint32_t> held_;
  step_demand demand_;
  std::vector<state> segments_;
  std::vector<stay> stays_;
  std::array<use_set, class_count> waiting_;  ///< next uses, by class of cost
  use_set idle_;                              ///< objects of kind `idle`, by the order in which they die
  std::vector<std::uint32_t> death_rank_;     ///< per object: its place in that order
  std::size_t next_death_ = 0;
  step_index now_ = 0;
  std::uint64_t used_ = 0, spare_ = 0;
  double lead_ns_ = 0;  ///< how long a victim should have been idle
};

}  // namespace

std::vector<std::uint32_t> pages_held(const program& source, const planner_options& options) {
  std::vector<std::uint32_t> pages(source.objects.size());
  for (object_index i = 0; i < pages.size(); ++i) {
    const object& each = source.objects[i];
    const auto found =
        has_home(each) && each.identity != 0 ? options.resident.find(each.identity) : options.resident.end();
    if (found != options.resident.end()) pages[i] = pages_of(std::min(found->second, each.bytes));
  }
  return pages;
}

bool comes_again(const program& source, const liveness& lives, object_index target) {
  return source.objects[target].identity != 0 && source.objects[target].dead == no_step &&
         lives.is_whole[target] == 0;
}

std::vector<std::uint32_t> pages_left(const program& source, const liveness& lives,
                                      const std::vector<stay>& stays) {
  std::vector<std::uint32_t> pages(source.objects.size());
  for (const stay& each : stays) {
    if (each.is_gone || each.drops || each.until != source.steps()) continue;
    if (comes_again(source, lives, each.target))
      pages[each.target] = std::max(pages[each.target], each.end());
  }
  return pages;
}

std::vector<stay> choose_stays(const program& source, const liveness& lives, const segment_table& cut,
                               const planner_options& options, const victim_rules& rules,
                               std::span<const std::uint32_t> held) {
  return belady(source, lives, cut, options, rules, held).run();
}

stay_index joined(const std::vector<stay>& stays, stay_index at) noexcept {
  while (at != no_stay && stays[at].is_gone) at = stays[at].previous;
  return at;
}

}  // namespace halocline::memory::plan
