// SPDX-License-Identifier: Apache-2.0
#include "memory/refusals.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <utility>

#include "halocline/core/expects.hpp"
#include "halocline/core/format.hpp"
#include "memory/buffer_state.hpp"

namespace halocline::memory {
namespace {

/// The largest groups of live buffers, for messages.
std::string largest_objects(const std::vector<buffer_state*>& live) {
  std::map<std::pair<std::string, object_class>, std::pair<std::size_t, std::size_t>> groups;
  for (const buffer_state* each : live) {
    auto& [count, total] = groups[{each->tag, each->cls}];
    ++count;
    total += each->bytes;
  }
  std::vector<std::pair<std::size_t, std::string>> largest;
  for (const auto& [key, value] : groups) {
    largest.emplace_back(value.second, text(format_bytes(value.second), " in ", value.first, " ", key.first,
                                            " (", to_string(key.second), ")"));
  }
  std::sort(largest.rbegin(), largest.rend());
  std::string list;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, largest.size()); ++i) {
    list += (i == 0 ? "; largest: " : ", ") + largest[i].second;
  }
  return list;
}

/// The other accounts that hold bytes of a budget, for messages.
class competition {
 public:
  explicit competition(const memory_budget& budget) : own_(budget.own()), others_(budget.others()) {}

  [[nodiscard]] std::size_t bytes() const {
    std::size_t total = 0;
    for (const memory_budget::holding& each : others_) total += each.bytes;
    return total;
  }

  [[nodiscard]] std::string description() const {
    if (others_.empty()) return {};
    constexpr std::size_t named = 4;
    std::string names;
    for (std::size_t i = 0; i < std::min(named, others_.size()); ++i) {
      const std::string& name = others_[i].name;
      names +=
          text(i == 0 ? "" : ", ", name.empty() ? "unnamed" : name, ": ", format_bytes(others_[i].bytes));
    }
    if (others_.size() > named) names += ", ...";
    return text(", of which this one holds ", format_bytes(own_), " and ", others_.size(),
                others_.size() == 1 ? " other that shares it holds " : " others that share it hold ",
                format_bytes(bytes()), " (", names, ")");
  }

  [[nodiscard]] std::string advice() const {
    if (others_.empty()) return {};
    return " while the others hold that much; free objects of theirs, or let allocations wait for them "
           "(longer): MemoryBudget(..., wait=seconds)";
  }

 private:
  std::size_t own_;
  std::vector<memory_budget::holding> others_;
};

}  // namespace

std::string refusals::of_allocation(const buffer_state& wanted, std::size_t counted,
                                    const std::string& waited) const {
  const std::size_t capacity = budget.capacity();
  const std::string limit = capacity == 0 ? "no budget set" : "budget " + format_bytes(capacity);
  const competition others(budget);
  const std::size_t needed = counted + others.bytes();
  return text("policy '", options.policy, "': cannot place ", format_bytes(wanted.bytes), " for ", wanted.tag,
              " (", to_string(wanted.cls), "); ", format_bytes(counters.live_bytes), " live, ", limit,
              others.description(), waited, largest_objects(live), ". A budget of at least ",
              format_bytes_up(needed), " (", needed,
              " bytes) is needed to get past this point, perhaps more after it", others.advice());
}

std::string refusals::by_system(std::size_t bytes, std::string_view what) const {
  const std::string giver = options.device ? "the device" : "the operating system";
  rlimit space{};
  const bool is_limited =
      !options.device && getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY;
  const std::string limit = is_limited ? text("; the address space of the process is limited to ",
                                              format_bytes(space.rlim_cur), " (RLIMIT_AS)")
                                       : std::string();
  return text(giver, " gives no more memory: it refused ", format_bytes(bytes), " for ", what, limit, "; ",
              format_bytes(counters.live_bytes),
              " are live here. The budget is not the reason: ", is_limited ? "raise that limit, " : "",
              "free objects or other programs' memory, or set "
              "a smaller budget with a policy that moves bytes ('planned', 'lru')");
}

std::string refusals::of_step(std::string_view op, std::size_t operands, std::size_t scratch) const {
  const competition others(budget);
  const std::size_t needed = operands + scratch + others.bytes();
  const std::size_t capacity = budget.capacity();
  const std::string limit = capacity == 0 ? std::string("no budget is set; the device gave no more")
                                          : "the budget is " + format_bytes(capacity) + others.description();
  return text("policy '", options.policy, "': step '", op, "' needs ", format_bytes(operands + scratch),
              " of the fast tier at once (", format_bytes(operands), " of operands, ", format_bytes(scratch),
              " of scratch); ", limit, ". A budget of at least ", format_bytes_up(needed), " (", needed,
              " bytes) is needed to get past this point, perhaps more after it", others.advice());
}

}  // namespace halocline::memory
