// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/plan/plan_check.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "halocline/core/expects.hpp"

namespace halocline::memory::plan {
namespace {

constexpr std::size_t max_violations = 20;
constexpr std::array<std::string_view, 6> verb_names{"load", "expand",     "encode",
                                                     "drop", "write_back", "shrink"};

class checker {
 public:
  checker(const program& source, const plan& checked)
      : program_(source), plan_(checked), states_(source.objects.size()) {
    for (step_index s = 0; s < program_.steps(); ++s) {
      for (std::uint32_t u = program_.first_use[s]; u < program_.first_use[s + 1]; ++u) {
        const use& each = program_.uses[u];
        states_[each.target].touches.push_back({s, each.reads, each.writes});
      }
    }
    for (object_index i = 0; i < states_.size(); ++i) {
      const object& each = program_.objects[i];
      states_[i].has_home = each.preexisting && each.cls != object_class::scratch;
      for (const touch& one : states_[i].touches) states_[i].is_written |= one.writes;
      if (each.dead < program_.steps()) deaths_.emplace_back(each.dead, i);
    }
    std::sort(deaths_.begin(), deaths_.end());
  }

  std::vector<std::string> run() {
    if (plan_.objects != program_.objects) fail("the objects are not those of the program");
    if (plan_.hashes != program_.hashes) fail("the steps are not those of the program");
    if (!violations_.empty()) return violations_;
    std::size_t next = 0, next_death = 0;
    for (now_ = 0; now_ < program_.steps() && violations_.size() < max_violations; ++now_) {
      for (; next_death < deaths_.size() && deaths_[next_death].first <= now_; ++next_death) {
        give_back(states_[deaths_[next_death].second]);
      }
      for (; next < plan_.directives.size() && plan_.directives[next].before <= now_; ++next) {
        const directive& each = plan_.directives[next];
        if (each.before < now_) fail("directive ", next, " is not in the order of steps");
        carry_out(each);
      }
      begin_step();
    }
    if (next < plan_.directives.size()) fail("directive ", next, " names no step of the program");
    if (peak_ * page_bytes > plan_.expected.peak_bytes)
      fail("the peak is ", peak_ * page_bytes, ", the forecast says ", plan_.expected.peak_bytes);
    return violations_;
  }

 private:
  struct touch {
    step_index step;
    bool reads, writes;
  };
  struct state {
    std::vector<touch> touches;
    std::size_t next_touch = 0;  ///< first one that has not happened
    std::uint32_t pages = 0;     ///< of its frame; 0: none
    bool has_home = false;       ///< the slow tier holds the present contents
    bool is_defined = false;     ///< the frame holds the present contents
    bool is_written = false;     ///< somewhere in the program
  };

  template <typename... PartT>
  void fail(const PartT&... parts) {
    violations_.push_back(text("before step ", now_, ": ", parts...));
  }

  void give_back(state& mine) {
    used_ -= mine.pages;
    mine.pages = 0;
  }

  void take(state& mine, std::uint32_t pages) {
    mine.pages = pages;
    used_ += pages;
    peak_ = std::max(peak_, used_);
    if (used_ > plan_.capacity_bytes / page_bytes)
      fail(used_ * page_bytes, " bytes of frames, capacity ", plan_.capacity_bytes);
  }

  void carry_out(const directive& each) {
    const auto name = verb_names[static_cast<std::size_t>(each.action)];
    if (each.target >= states_.size())
      return fail(name, " of object ", each.target, ", which does not exist");
    const object& what = program_.objects[each.target];
    state& mine = states_[each.target];
    if (what.dead <= now_) return fail(name, " of object ", each.target, ", which is dead");
    if (what.cls == object_class::scratch) return fail(name, " of scratch object ", each.target);
    const step_index first = mine.touches.empty() ? no_step : mine.touches.front().step;
    const bool is_known = what.preexisting && (what.identity != 0 || first <= now_);
    if (!is_known && mine.next_touch == 0)
      return fail(name, " of object ", each.target, ", which the executor does not know yet");
    if (each.action == verb::shrink) {
      shrink(each, mine);
    } else if (each.action == verb::drop || each.action == verb::write_back) {
      give_up(each, mine);
    } else {
      bring(each, what, mine);
    }
  }

  void give_up(const directive& each, state& mine) {
    if (mine.pages == 0) return fail("object ", each.target, " has no frame to give up");
    if (each.action == verb::write_back) {
      if (mine.has_home) fail("object ", each.target, " is written back, but unchanged");
      mine.has_home = true;
    } else if (!mine.has_home) {
      fail("object ", each.target, " is dropped without a copy");
    }
    give_back(mine);
  }

  void shrink(const directive& each, state& mine) {
    if (each.pages == 0 || each.pages >= mine.pages || !mine.has_home)
      return fail("object ", each.target, " cannot shrink from ", mine.pages, " to ", each.pages, " pages");
    used_ -= mine.pages - each.pages;
    mine.pages = each.pages;
  }

  void bring(const directive& each, const object& what, state& mine) {
    const auto name = verb_names[static_cast<std::size_t>(each.action)];
    if (mine.pages >= each.pages || (mine.pages != 0 && !mine.has_home))
      return fail(name, " of object ", each.target, ", which has a frame");
    if (each.pages == 0 || each.pages > pages_of(what.bytes))
      return fail(name, " of ", each.pages, " pages of object ", each.target);
    const recovery way = each.action == verb::expand   ? recovery::expand
                         : each.action == verb::encode ? recovery::encode
                                                       : recovery::copy;
    if (way == recovery::copy && !mine.has_home) fail("load of object ", each.target, ", which has no copy");
    if (way != recovery::copy && (what.comes_back != way || mine.is_written || !what.preexisting))
      fail(name, " of object ", each.target, ", which does not come back that way");
    give_back(mine);
    take(mine, each.pages);
    mine.is_defined = true;
  }

  void begin_step() {
    for (std::uint32_t u = program_.first_use[now_]; u < program_.first_use[now_ + 1]; ++u) {
      const use& each = program_.uses[u];
      const object& what = program_.objects[each.target];
      state& mine = states_[each.target];
      const bool is_whole = mine.is_written || !what.preexisting || !is_recoverable(what.cls);
      const std::uint32_t needed = is_whole ? pages_of(what.bytes) : each.pages;
      const bool is_born = mine.next_touch == 0 && !(what.preexisting && what.cls != object_class::scratch);
      if (mine.pages == 0 && (is_born || !each.reads)) {
        take(mine, needed);
        mine.is_defined = true;
      }
      if (mine.pages < needed)
        fail("object ", each.target, " has ", mine.pages, " pages, the step needs ", needed);
      if (!mine.is_defined && each.reads) fail("the contents of object ", each.target, " are not there");
      ++mine.next_touch;
      if (each.writes || is_born) mine.has_home = false;
    }
  }

  const program& program_;
  const plan& plan_;
  std::vector<state> states_;
  std::vector<std::pair<step_index, object_index>> deaths_;
  std::vector<std::string> violations_;
  step_index now_ = 0;
  std::uint64_t used_ = 0, peak_ = 0;
};

}  // namespace

std::vector<std::string> check_plan(const program& source, const plan& checked) {
  return checker(source, checked).run();
}

}  // namespace halocline::memory::plan
