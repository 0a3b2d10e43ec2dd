// SPDX-License-Identifier: Apache-2.0
#include "pir/keyword_placement.hpp"

#include <algorithm>
#include <cstring>

namespace halocline::pir {
namespace {

/// Keys between two reports.
constexpr std::uint64_t report_period = 65536;

}  // namespace

placement::placement(const keyword_layout& at, std::span<const stored_key> keys)
    : at_(at), keys_(keys), slots_(at.buckets * at.slots), used_(at.buckets) {
  // The walk needs numbers that are spread well and the same in every build, not secret ones.
  random_ = placement_word(at, {}, max_keyword_hashes);
}

std::uint64_t placement::draw(std::uint64_t bound) {
  // SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
  random_ += 0x9e3779b97f4a7c15U;
  std::uint64_t z = random_;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
  z = (z ^ z >> 27) * 0x94d049bb133111ebU;
  return scaled(z ^ z >> 31, bound);
}

bool placement::put_if_free(std::uint32_t key, const candidate_list& candidates) {
  std::uint64_t emptiest = candidates[0];
  for (unsigned i = 1; i < at_.hashes; ++i) {
    if (used_[candidates[i]] < used_[emptiest]) emptiest = candidates[i];
  }
  if (used_[emptiest] == at_.slots) return false;
  slots_[emptiest * at_.slots + used_[emptiest]++] = key;
  return true;
}

bool placement::put(std::uint32_t key, std::uint64_t kicks) {
  std::uint64_t left = at_.buckets;  // the bucket that the key was moved out of: none yet
  for (std::uint64_t k = 0;; ++k) {
    const candidate_list candidates = candidates_of(at_, keys_[key].digest);
    if (put_if_free(key, candidates)) return true;
    if (at_.hashes == 1 || k == kicks) return false;
    std::uint64_t target = left;
    while (target == left) target = candidates[draw(at_.hashes)];
    std::swap(key, slots_[target * at_.slots + draw(at_.slots)]);
    left = target;
  }
}

bool placement::may_be_taken_for(std::uint32_t looked_up, std::uint32_t other) const {
  const candidate_list candidates = candidates_of(at_, keys_[looked_up].digest);
  return std::any_of(candidates.begin(), candidates.begin() + at_.hashes, [&](std::uint64_t each) {
    const auto there = bucket(each);
    return std::find(there.begin(), there.end(), other) != there.end();
  });
}

bool placement::tags_are_distinct() const {
  // Equal tags follow each other because the keys are sorted and tags are first bytes of digests.
  for (std::uint32_t first = 0; first < keys_.size(); ++first) {
    for (std::uint32_t next = first + 1; next < keys_.size(); ++next) {
      if (std::memcmp(keys_[first].digest.data(), keys_[next].digest.data(), at_.tag_bytes) != 0) break;
      if (may_be_taken_for(first, next) || may_be_taken_for(next, first)) return false;
    }
  }
  return true;
}

bool placement::fill(std::uint64_t kicks, const std::function<void(std::uint64_t, std::uint64_t)>& done) {
  for (std::uint32_t key = 0; key < keys_.size(); ++key) {
    if (done && key % report_period == 0) done(key, keys_.size());
    if (!put(key, kicks)) return false;
  }
  if (done) done(keys_.size(), keys_.size());
  return tags_are_distinct();
}

}  // namespace halocline::pir
