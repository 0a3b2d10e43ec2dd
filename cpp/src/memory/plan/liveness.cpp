// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "halocline/memory/plan/planner.hpp"
#include "memory/plan/next_use.hpp"

namespace halocline::memory::plan {
namespace {

std::vector<std::uint8_t> find_whole(const program& source) {
  std::vector<std::uint8_t> whole(source.objects.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const object& each = source.objects[i];
    whole[i] = !each.preexisting || !is_recoverable(each.cls) ? 1 : 0;
  }
  for (const use& each : source.uses) {
    if (each.writes) whole[each.target] = 1;
  }
  return whole;
}

/// Objects in the order in which they die: counted, because comparing a million of them is slow.
std::vector<object_index> order_of_death(const program& source, const std::vector<use_index>& first) {
  std::vector<std::uint32_t> at(source.steps() + 2);
  const auto dies = [&](object_index i) {
    return source.objects[i].dead < source.steps() && first[i] != no_use;
  };
  for (object_index i = 0; i < source.objects.size(); ++i) {
    if (dies(i)) ++at[source.objects[i].dead + 1];
  }
  for (std::size_t s = 1; s < at.size(); ++s) at[s] += at[s - 1];
  std::vector<object_index> order(at.back());
  for (object_index i = 0; i < source.objects.size(); ++i) {
    if (dies(i)) order[at[source.objects[i].dead]++] = i;
  }
  return order;
}

}  // namespace

liveness find_liveness(const program& source) {
  const std::size_t uses = source.uses.size(), steps = source.steps();
  liveness found;
  found.is_whole = find_whole(source);
  found.first.assign(source.objects.size(), no_use);
  found.next.resize(uses);
  found.step_of.resize(uses);
  found.pages.resize(uses);
  found.opens.assign(uses, 0);
  for (std::size_t s = steps; s-- > 0;) {
    for (use_index u = source.first_use[s + 1]; u-- > source.first_use[s];) {
      const use& each = source.uses[u];
      found.next[u] = found.first[each.target];
      found.first[each.target] = u;
      found.step_of[u] = static_cast<step_index>(s);
      found.pages[u] =
          found.is_whole[each.target] != 0 ? pages_of(source.objects[each.target].bytes) : each.pages;
    }
  }
  for (const use_index u : found.first) {
    if (u != no_use) found.opens[u] = 1;
  }
  found.begin_ns.resize(steps + 1);
  for (std::size_t s = 0; s < steps; ++s) found.begin_ns[s + 1] = found.begin_ns[s] + source.duration_ns[s];
  found.deaths = order_of_death(source, found.first);
  return found;
}

namespace {

/// Segments larger than this are cut at multiples of it: 128 KiB, a power of two below common polynomials.
constexpr std::uint64_t even_pages = 32;

/// Distinct extents of the uses of prefix objects, ascending; nothing for others.
std::vector<std::vector<std::uint32_t>> find_extents(const program& source, const liveness& lives) {
  std::vector<std::vector<std::uint32_t>> extents(source.objects.size());
  for (use_index u = 0; u < source.uses.size(); ++u) {
    const object_index target = source.uses[u].target;
    if (lives.is_whole[target] != 0) continue;
    std::vector<std::uint32_t>& known = extents[target];
    const auto at = std::lower_bound(known.begin(), known.end(), lives.pages[u]);
    if (at == known.end() || *at != lives.pages[u]) known.insert(at, lives.pages[u]);
  }
  return extents;
}

}  // namespace

segment_table cut_objects(const program& source, const liveness& lives, cutting how,
                          std::uint64_t most_pages) {
  const std::vector<std::vector<std::uint32_t>> extents = find_extents(source, lives);
  segment_table cut;
  std::uint32_t begin = 0;
  const auto add = [&](std::uint64_t end, std::uint64_t most) {
    // Frames that end anywhere would leave small odd pieces behind, of which others are put together.
    const std::uint64_t size = end - begin;
    const std::uint64_t unit = size > most && most >= even_pages ? even_pages : 1;
    const std::uint64_t units = (size - 1) / unit + 1;
    const std::uint64_t parts = (units - 1) / (most / unit) + 1;
    for (std::uint64_t part = 0; part < parts; ++part) {
      cut.begin.push_back(begin + static_cast<std::uint32_t>(units * part / parts * unit));
      cut.end.push_back(begin +
                        static_cast<std::uint32_t>(std::min(size, units * (part + 1) / parts * unit)));
    }
    begin = cut.end.back();
  };
  for (object_index i = 0; i < extents.size(); ++i) {
    cut.first.push_back(static_cast<std::uint32_t>(cut.end.size()));
    begin = 0;
    if (lives.first[i] == no_use) continue;
    if (how == cutting::none || lives.is_whole[i] != 0) {
      const std::uint32_t whole = pages_of(source.objects[i].bytes);
      add(whole, whole);
    } else {
      for (const std::uint32_t end : extents[i]) add(end, most_pages);
    }
  }
  cut.first.push_back(static_cast<std::uint32_t>(cut.end.size()));
  return cut;
}

std::uint64_t step_demand::advance(step_index s) {
  for (; next_death_ < lives_.deaths.size(); ++next_death_) {
    const object& each = source_.objects[lives_.deaths[next_death_]];
    if (each.dead > s) break;
    if (each.cls == object_class::scratch) scratch_pages_ -= pages_of(each.bytes);
  }
  std::uint64_t pages = 0;
  for (use_index u = source_.first_use[s]; u < source_.first_use[s + 1]; ++u) {
    if (source_.objects[source_.uses[u].target].cls != object_class::scratch) {
      pages += lives_.pages[u];
    } else if (lives_.opens[u] != 0) {
      scratch_pages_ += lives_.pages[u];
    }
  }
  return pages + scratch_pages_;
}

std::uint64_t minimum_pages(const program& source, const liveness& lives) {
  step_demand demand(source, lives);
  std::uint64_t most = 0;
  for (step_index s = 0; s < source.steps(); ++s) most = std::max(most, demand.advance(s));
  return most;
}

std::uint64_t minimum_capacity(const program& source) {
  return minimum_pages(source, find_liveness(source)) * page_bytes;
}

}  // namespace halocline::memory::plan
