// SPDX-License-Identifier: Apache-2.0
#include "memory/plan/schedule.hpp"

#include <algorithm>

namespace halocline::memory::plan {
namespace {

double bytes_of(std::uint32_t pages) { return static_cast<double>(pages) * page_bytes; }

}  // namespace

std::vector<arrival> find_arrivals(const program& source, const std::vector<stay>& stays) {
  std::vector<arrival> list;
  for (stay_index i = 0; i < stays.size(); ++i) {
    const stay& each = stays[i];
    if (each.is_gone || !each.loads) continue;
    const step_index free = each.previous == no_stay ? 0 : stays[each.previous].until;
    if (!list.empty() && list.back().target == each.target && list.back().need == each.first &&
        list.back().end == each.begin) {
      list.back().end = each.end();
      list.back().not_before = std::max(list.back().not_before, free);
      continue;
    }
    const object& what = source.objects[each.target];
    const bool is_unknown = what.identity == 0 && each.previous == no_stay && each.below == no_stay;
    list.push_back({each.target, i, each.begin, each.end(), each.first, free, is_unknown});
  }
  return list;
}

scheduler::scheduler(const program& source, const liveness& lives, const std::vector<stay>& stays,
                     const std::vector<arrival>& arrivals, const planner_options& options,
                     std::span<const std::uint32_t> held_pages)
    : source_(source),
      lives_(lives),
      stays_(stays),
      arrivals_(arrivals),
      options_(options),
      held_pages_(held_pages) {
  for (stay_index i = 0; i < stays.size(); ++i) {
    if (!stays[i].is_gone && stays[i].stores) writes_.push_back(i);
  }
  std::stable_sort(writes_.begin(), writes_.end(),
                   [&](stay_index a, stay_index b) { return stays[a].until < stays[b].until; });
}

bool scheduler::can_regenerate(std::uint32_t number) const {
  const arrival& each = arrivals_[number];
  const recovery kind = source_.objects[each.target].comes_back;
  return lives_.is_whole[each.target] == 0 && !each.is_unknown &&
         ((kind == recovery::expand && options_.allow_expand) ||
          (kind == recovery::encode && options_.allow_encode));
}

bool scheduler::must_regenerate(std::uint32_t number) const {
  return can_regenerate(number) && options_.made.contains(source_.objects[arrivals_[number].target].identity);
}

double scheduler::load_ns(std::uint32_t number) const {
  const double bytes = bytes_of(arrivals_[number].end - arrivals_[number].begin);
  return options_.links.empty() ? options_.costs.load.at(bytes)
                                : options_.links[link_of_[number]].cost.at(bytes);
}

/// Carries a load on its link; returns when it has arrived. Without a chain the link is free only then;
/// links of a chain carry others while one waits for its first byte.
double scheduler::carry(std::uint32_t number, double begin) {
  const arrival& each = arrivals_[number];
  const double bytes = bytes_of(each.end - each.begin);
  double& free_ns = link_free_ns_[link_];
  if (begin > free_ns) ++period_;
  if (!chain_) {
    result_.expected.load_busy_ns += options_.costs.load.at(bytes);
    return free_ns = std::max(begin, free_ns) + options_.costs.load.at(bytes);
  }
  const linear_cost& cost = options_.links[link_].cost;
  free_ns = std::max(begin, free_ns) + bytes * cost.ns_per_byte;
  link_forecast& sums = result_.expected.links[link_];
  ++sums.loads;
  sums.loaded_bytes += static_cast<std::uint64_t>(bytes);
  sums.busy_ns += bytes * cost.ns_per_byte;
  result_.expected.load_busy_ns += bytes * cost.ns_per_byte;
  return free_ns + cost.fixed_ns;
}

void scheduler::begin_links() {
  link_of_.assign(arrivals_.size(), 0);
  latest_issue_.assign(std::max<std::size_t>(1, options_.links.size()), 0);
  link_free_ns_.assign(latest_issue_.size(), 0);
  if (options_.links.empty()) return;
  chain_.emplace(source_, options_);
  for (const link& each : options_.links) {
    link_forecast& sums = result_.expected.links.emplace_back();
    sums.name = each.name;
    sums.ns_per_byte = each.cost.ns_per_byte;
  }
}

double scheduler::regenerate_ns(std::uint32_t number) const {
  const bool expands = source_.objects[arrivals_[number].target].comes_back == recovery::expand;
  return (expands ? options_.costs.expand : options_.costs.encode).at(bytes_of(arrivals_[number].end));
}

timetable scheduler::run(room_tree room, std::vector<std::uint8_t> regenerates) {
  const auto steps = static_cast<step_index>(source_.steps());
  room_ = std::move(room);
  result_ = {};
  result_.issue.assign(arrivals_.size(), 0);
  result_.regenerates = std::move(regenerates);
  delays_.clear();
  issue_ns_.assign(steps + 1, 0);
  room_ready_ns_.assign(steps + 1, 0);
  home_ready_ns_.assign(source_.objects.size(), 0);
  object_issue_.assign(source_.objects.size(), 0);
  used_before_.assign(source_.objects.size(), 0);
  kept_pages_.assign(source_.objects.size(), 0);
  next_arrival_ = 0;
  next_write_ = 0;
  horizon_ = 0;
  period_ = 0;
  clock_ns_ = write_free_ns_ = 0;
  begin_links();
  // Resident objects are kept before others are prefetched: that saves a load.
  is_kept_.assign(arrivals_.size(), 0);
  for (std::uint32_t i = 0; i < arrivals_.size(); ++i) is_kept_[i] = keep(i) ? 1 : 0;
  for (step_index s = 0; s < steps; ++s) {
    issue_ns_[s] = clock_ns_;
    begin_writes(s);
    bring(s);
    const double begin = std::max({clock_ns_, ready_ns_, room_ready_ns_[s]});
    result_.expected.stall_ns += begin - clock_ns_;
    clock_ns_ = begin + source_.duration_ns[s];
  }
  result_.expected.resident_ns = lives_.begin_ns.back();
  result_.expected.total_ns = clock_ns_;
  result_.expected.peak_bytes = steps == 0
                                    ? 0
                                    : options_.capacity_bytes / page_bytes * page_bytes -
                                          static_cast<std::uint64_t>(room_.least(0, steps)) * page_bytes;
  return std::move(result_);
}

/// Write-backs that are issued before step `s`. Their frames stay in use until the transfer is done, as far
/// as the program has room for that; otherwise it waits.
void scheduler::begin_writes(step_index s) {
  for (; next_write_ < writes_.size() && stays_[writes_[next_write_]].until <= s; ++next_write_) {
    const stay& each = stays_[writes_[next_write_]];
    const double cost = options_.costs.store.at(bytes_of(each.pages));
    write_free_ns_ = std::max(write_free_ns_, clock_ns_) + cost;
    result_.expected.store_busy_ns += cost;
    result_.expected.written_bytes += std::uint64_t{each.pages} * page_bytes;
    home_ready_ns_[each.target] = write_free_ns_;
    const double due = lives_.begin_ns[s] + write_free_ns_ - clock_ns_;
    const auto done = std::lower_bound(lives_.begin_ns.begin() + s, lives_.begin_ns.end() - 1, due);
    const auto end = static_cast<step_index>(done - lives_.begin_ns.begin());
    const step_index held = room_.first_short(s, end, each.pages);
    room_.add(s, held, -std::int64_t{each.pages});
    if (held < end) room_ready_ns_[held] = std::max(room_ready_ns_[held], write_free_ns_);
  }
}

/// Everything that step `s` needs and has not got. Regeneration comes on top of the step's own time.
void scheduler::bring(step_index s) {
  ready_ns_ = 0;
  const std::uint32_t first = next_arrival_;
  while (next_arrival_ < arrivals_.size() && arrivals_[next_arrival_].need == s) ++next_arrival_;
  for (std::uint32_t i = first; i < next_arrival_; ++i) {
    if (result_.regenerates[i] == 0) continue;
    result_.issue[i] = object_issue_[arrivals_[i].target] = s;
    clock_ns_ = std::max(clock_ns_, room_ready_ns_[s]) + regenerate_ns(i);
    const bool expands = source_.objects[arrivals_[i].target].comes_back == recovery::expand;
    (expands ? result_.expected.expanded_bytes : result_.expected.encoded_bytes) +=
        std::uint64_t{arrivals_[i].end - arrivals_[i].begin} * page_bytes;
  }
  for (std::uint32_t i = first; i < next_arrival_; ++i) {
    if (result_.regenerates[i] == 0 && is_kept_[i] == 0) load(i);
  }
  if (!options_.allow_resize) return;
  for (use_index u = source_.first_use[s]; u < source_.first_use[s + 1]; ++u)
    used_before_[source_.uses[u].target] = s + 1;
}

/// Whether an arrival is there when the program begins and can stay.
bool scheduler::keep(std::uint32_t number) {
  const arrival& each = arrivals_[number];
  const std::uint32_t pages = each.end - each.begin;
  const bool is_first = each.not_before == 0 && stays_[each.first].previous == no_stay;
  if (!is_first || result_.regenerates[number] != 0 || each.end > held_pages_[each.target] ||
      each.begin > kept_pages_[each.target])
    return false;
  if (room_.earliest(0, each.need, pages) != 0) return false;
  room_.add(0, each.need, -std::int64_t{pages});
  kept_pages_[each.target] = each.end;
  result_.issue[number] = object_issue_[each.target] = 0;
  return true;
}

void scheduler::load(std::uint32_t number) {
  const arrival& each = arrivals_[number];
  const std::uint32_t pages = each.end - each.begin;
  link_ = chain_ ? chain_->load(each.target, each.begin, each.end) : 0;
  link_of_[number] = link_;
  const step_index issue = choose_issue(each, link_);
  result_.issue[number] = latest_issue_[link_] = object_issue_[each.target] = issue;
  room_.add(issue, each.need, -std::int64_t{pages});
  const double begin = std::max({issue_ns_[issue], room_ready_ns_[issue], home_ready_ns_[each.target]});
  const double there = carry(number, begin);
  result_.expected.loaded_bytes += std::uint64_t{pages} * page_bytes;
  const double wait = there - std::max(clock_ns_, ready_ns_);
  delays_.push_back({number, period_, std::max(wait, 0.0)});
  ready_ns_ = std::max(ready_ns_, there);
}

/// As early as there is room without a gap until the step that needs it, but neither before the load in front
/// of it on its link, nor long before the link can get to it, nor beyond the horizon, which is farther for
/// the last link of a chain: it may take longer than that for one load.
step_index scheduler::choose_issue(const arrival& each, std::size_t from) {
  if (each.is_unknown) return each.need;
  step_index begin = std::max(latest_issue_[from], each.not_before);
  const bool is_far = chain_ && from + 1 == link_free_ns_.size();
  if (!is_far) {
    const double slack = options_.horizon_ns / 4;
    const double not_before =
        std::max(issue_ns_[each.need] - options_.horizon_ns, link_free_ns_[from] - slack);
    while (horizon_ < each.need && issue_ns_[horizon_] < not_before) ++horizon_;
    begin = std::max(begin, horizon_);
  }
  // Upper segments come after lower ones, which may be regenerated as late as at the step that needs them,
  // and after steps that use these: a step waits for transfers to its operands.
  if (each.begin != 0) begin = std::max({begin, object_issue_[each.target], used_before_[each.target]});
  return room_.earliest(std::min(begin, each.need), each.need, each.end - each.begin);
}

bool choose_regenerations(const scheduler& schedule, std::vector<std::uint8_t>& regenerates) {
  // Regenerating must save clearly more than it costs: the forecast is not exact.
  constexpr double margin = 1.1;
  const std::vector<load_delay>& delays = schedule.delays();
  std::vector<double> remaining(delays.size() + 1);  // waits from here to the end of the busy period
  for (std::size_t i = delays.size(); i-- > 0;) {
    const bool goes_on = i + 1 < delays.size() && delays[i + 1].period == delays[i].period;
    remaining[i] = delays[i].wait_ns + (goes_on ? remaining[i + 1] : 0);
  }
  bool added = false;
  double credit = 0;  // waits that earlier choices in this period will remove
  std::vector<std::uint32_t> candidates;
  for (std::size_t i = 0; i < delays.size(); ++i) {
    if (i == 0 || delays[i].period != delays[i - 1].period) {
      credit = 0;
      candidates.clear();
    }
    if (schedule.can_regenerate(delays[i].load)) candidates.push_back(delays[i].load);
    while (delays[i].wait_ns > credit && !candidates.empty()) {
      const std::uint32_t last = candidates.back();
      if (remaining[i] - credit < margin * schedule.regenerate_ns(last)) break;
      credit += schedule.load_ns(last) + schedule.regenerate_ns(last);
      regenerates[last] = 1;
      candidates.pop_back();
      added = true;
    }
    credit -= std::min(credit, delays[i].wait_ns);
  }
  return added;
}

}  // namespace halocline::memory::plan
