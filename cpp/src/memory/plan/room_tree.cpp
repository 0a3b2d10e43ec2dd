// SPDX-License-Identifier: Apache-2.0
#include "memory/plan/room_tree.hpp"

#include <algorithm>
#include <limits>

namespace halocline::memory::plan {
namespace {

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max() / 4;

}  // namespace

room_tree::room_tree(const std::vector<std::int64_t>& room) {
  while (leaves_ < room.size()) leaves_ *= 2;
  nodes_.resize(2 * leaves_);
  for (std::size_t i = 0; i < leaves_; ++i) nodes_[leaves_ + i].least = i < room.size() ? room[i] : unlimited;
  for (std::size_t i = leaves_ - 1; i > 0; --i) {
    nodes_[i].least = std::min(nodes_[2 * i].least, nodes_[2 * i + 1].least);
  }
}

void room_tree::add(step_index begin, step_index end, std::int64_t pages) {
  if (begin < end) add({1, 0, leaves_}, begin, end, pages);
}

std::int64_t room_tree::least(step_index begin, step_index end) const {
  return begin < end ? least({1, 0, leaves_}, begin, end) : unlimited;
}

step_index room_tree::earliest(step_index begin, step_index end, std::int64_t pages) const {
  const std::size_t found = begin < end ? last_short({1, 0, leaves_}, begin, end, pages) : none;
  return found == none ? std::min(begin, end) : static_cast<step_index>(found + 1);
}

step_index room_tree::first_short(step_index begin, step_index end, std::int64_t pages) const {
  const std::size_t found = begin < end ? next_short({1, 0, leaves_}, begin, end, pages) : none;
  return found == none ? end : static_cast<step_index>(found);
}

void room_tree::add(const range& here, std::size_t begin, std::size_t end, std::int64_t pages) {
  if (end <= here.begin || here.end <= begin) return;
  node& mine = nodes_[here.at];
  if (begin <= here.begin && here.end <= end) {
    mine.least += pages;
    mine.added += pages;
    return;
  }
  add(here.left(), begin, end, pages);
  add(here.right(), begin, end, pages);
  mine.least = std::min(nodes_[2 * here.at].least, nodes_[2 * here.at + 1].least) + mine.added;
}

std::int64_t room_tree::least(const range& here, std::size_t begin, std::size_t end) const {
  if (end <= here.begin || here.end <= begin) return unlimited;
  const node& mine = nodes_[here.at];
  if (begin <= here.begin && here.end <= end) return mine.least;
  return std::min(least(here.left(), begin, end), least(here.right(), begin, end)) + mine.added;
}

std::size_t room_tree::last_short(const range& here, std::size_t begin, std::size_t end,
                                  std::int64_t pages) const {
  const node& mine = nodes_[here.at];
  if (end <= here.begin || here.end <= begin || mine.least >= pages) return none;
  if (here.at >= leaves_) return here.begin;
  const std::size_t found = last_short(here.right(), begin, end, pages - mine.added);
  return found != none ? found : last_short(here.left(), begin, end, pages - mine.added);
}

std::size_t room_tree::next_short(const range& here, std::size_t begin, std::size_t end,
                                  std::int64_t pages) const {
  const node& mine = nodes_[here.at];
  if (end <= here.begin || here.end <= begin || mine.least >= pages) return none;
  if (here.at >= leaves_) return here.begin;
  const std::size_t found = next_short(here.left(), begin, end, pages - mine.added);
  return found != none ? found : next_short(here.right(), begin, end, pages - mine.added);
}

}  // namespace halocline::memory::plan
