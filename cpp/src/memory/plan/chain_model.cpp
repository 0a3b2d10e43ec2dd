// SPDX-License-Identifier: Apache-2.0
#include "memory/plan/chain_model.hpp"

#include <algorithm>

namespace halocline::memory::plan {

chain_model::chain_model(const program& source, const planner_options& options)
    : shelves_(options.links.size() - 1),
      is_remote_(source.objects.size()),
      extends_(options.links.front().name == "memory") {
  for (std::size_t i = 0; i < shelves_.size(); ++i) {
    shelves_[i].capacity = options.links[i].capacity_bytes / page_bytes;
    shelves_[i].copies.resize(source.objects.size());
  }
  for (object_index i = 0; i < source.objects.size(); ++i) {
    const auto found = options.remote.find(source.objects[i].identity);
    if (source.objects[i].identity == 0 || found == options.remote.end()) continue;
    is_remote_[i] = 1;
    for (std::size_t at = 0; at < std::min(shelves_.size(), found->second.copies.size()); ++at) {
      if (found->second.copies[at] != 0) put(at, i, pages_of(found->second.copies[at]));
    }
  }
}

bool chain_model::is_far(object_index target, std::uint32_t pages) const {
  return is_remote_[target] != 0 &&
         std::ranges::all_of(shelves_, [&](const shelf& each) { return each.copies[target].pages < pages; });
}

std::size_t chain_model::load(object_index target, std::uint32_t begin, std::uint32_t end) {
  if (is_remote_[target] == 0) return shelves_.size() - 1;
  std::size_t from = 0;
  while (from < shelves_.size() && shelves_[from].copies[target].pages < end) ++from;
  if (from < shelves_.size()) touch(shelves_[from], target);
  // The nearest tier keeps what has no gap.
  const bool has_gap = begin > (extends_ ? shelves_[0].copies[target].pages : 0);
  if (from != 0 && !has_gap) put(0, target, end);
  return from;
}

void chain_model::touch(shelf& on, object_index target) {
  on.order.splice(on.order.end(), on.order, on.copies[target].order);
}

void chain_model::drop(shelf& from, object_index target) {
  copy& gone = from.copies[target];
  from.used -= gone.pages;
  from.order.erase(gone.order);
  gone.pages = 0;
}

void chain_model::put(std::size_t number, object_index target, std::uint32_t pages) {
  shelf& on = shelves_[number];
  if (on.copies[target].pages != 0) drop(on, target);
  if (on.capacity != 0 && pages > on.capacity) {
    if (number + 1 < shelves_.size()) put(number + 1, target, pages);
    return;
  }
  while (on.capacity != 0 && on.used + pages > on.capacity) {
    const object_index leaving = on.order.front();
    const std::uint32_t left = on.copies[leaving].pages;
    drop(on, leaving);
    const bool goes_on = number + 1 < shelves_.size() && shelves_[number + 1].copies[leaving].pages < left;
    if (goes_on) put(number + 1, leaving, left);
  }
  on.copies[target] = {pages, on.order.insert(on.order.end(), target)};
  on.used += pages;
}

}  // namespace halocline::memory::plan
