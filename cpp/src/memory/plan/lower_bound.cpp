// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "halocline/memory/plan/planner.hpp"
#include "memory/plan/next_use.hpp"
#include "memory/plan/use_set.hpp"

namespace halocline::memory::plan {
namespace {

/// State of one segment.
struct segment {
  std::uint32_t end = 0;       ///< first page behind it
  std::uint32_t size = 0;      ///< pages
  std::uint32_t resident = 0;  ///< pages in the fast tier
  use_index next = no_use;     ///< next use that touches it
};

/// Belady's rule on pages, with whole runs of equal pages handled at once.
class page_belady {
 public:
  page_belady(const program& source, const liveness& lives, std::uint64_t capacity_pages)
      : source_(source), lives_(lives), capacity_(capacity_pages), waiting_(source.uses.size()) {
    split_objects();
  }

  std::uint64_t brought_pages() {
    std::size_t next_death = 0;
    for (step_index s = 0; s < source_.steps(); ++s) {
      for (; next_death < lives_.deaths.size(); ++next_death) {
        const object_index dead = lives_.deaths[next_death];
        if (source_.objects[dead].dead > s) break;
        for (segment* each = begin(dead); each != end(dead); ++each) release(*each);
      }
      const use_index first = source_.first_use[s], last = source_.first_use[s + 1];
      for (use_index u = first; u < last; ++u) bring(u);
      while (resident_ > capacity_ && evict()) {
      }
      for (use_index u = first; u < last; ++u) look_ahead(u);
    }
    return brought_;
  }

 private:
  void split_objects() {
    const segment_table cut = cut_objects(source_, lives_, cutting::extents);
    for (std::uint32_t i = 0; i < cut.end.size(); ++i) segments_.push_back({cut.end[i], cut.pages(i)});
    first_segment_ = cut.first;
  }

  segment* begin(object_index i) { return segments_.data() + first_segment_[i]; }
  segment* end(object_index i) { return segments_.data() + first_segment_[i + 1]; }

  void release(segment& part) {
    resident_ -= part.resident;
    part.resident = 0;
  }

  /// Makes the pages of one operand resident.
  void bring(use_index u) {
    const use& touched = source_.uses[u];
    waiting_.erase(u);
    const bool is_born = lives_.opens[u] != 0 && !has_home(source_.objects[touched.target]);
    for (segment* each = begin(touched.target); each != end(touched.target); ++each) {
      if (each->end > lives_.pages[u]) break;
      const std::uint32_t missing = each->size - each->resident;
      if (touched.reads && !is_born) brought_ += missing;
      resident_ += missing;
      each->resident = each->size;
    }
  }

  /// Frees pages of the object that is needed last. False: there is none.
  bool evict() {
    const use_index furthest = waiting_.last();
    if (furthest == no_use) return false;
    const object_index victim = source_.uses[furthest].target;
    for (std::size_t i = first_segment_[victim + 1]; i-- > first_segment_[victim] && resident_ > capacity_;) {
      segment& part = segments_[i];
      if (part.next != furthest) continue;
      const auto taken =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(part.resident, resident_ - capacity_));
      part.resident -= taken;
      resident_ -= taken;
    }
    if (resident_ > capacity_) waiting_.erase(furthest);
    return true;
  }

  /// After a step: when is each page that it touched needed again? Pages whose contents are not needed again
  /// are released, except scratch, which stays until it is freed.
  void look_ahead(use_index u) {
    const object_index target = source_.uses[u].target;
    if (source_.objects[target].cls == object_class::scratch) return;
    use_index next = lives_.next[u];
    for (segment* each = begin(target); each != end(target) && each->end <= lives_.pages[u]; ++each) {
      while (next != no_use && lives_.pages[next] < each->end) next = lives_.next[next];
      each->next = next;
      if (next == no_use || !source_.uses[next].reads) {
        release(*each);
      } else {
        waiting_.insert(next);
      }
    }
  }

  const program& source_;
  const liveness& lives_;
  const std::uint64_t capacity_;
  use_set waiting_;  ///< next uses of segments that may be evicted
  std::vector<segment> segments_;
  std::vector<std::uint32_t> first_segment_;  ///< per object, and one more
  std::uint64_t resident_ = 0, brought_ = 0;
};

}  // namespace

std::uint64_t lower_bound_pages(const program& source, const liveness& lives, std::uint64_t capacity_pages) {
  return page_belady(source, lives, capacity_pages).brought_pages();
}

std::uint64_t lower_bound_bytes(const program& source, std::uint64_t capacity_bytes) {
  return lower_bound_pages(source, find_liveness(source), capacity_bytes / page_bytes) * page_bytes;
}

}  // namespace halocline::memory::plan
