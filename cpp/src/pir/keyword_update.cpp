// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <limits>
#include <unordered_set>

#include "halocline/core/expects.hpp"
#include "halocline/pir/keyword_table.hpp"
#include "pir/keyword_entries.hpp"
#include "pir/keyword_hash.hpp"

namespace halocline::pir {
namespace {

constexpr std::size_t no_step = std::numeric_limits<std::size_t>::max();

/// A bucket that can be reached: entry `slot` of the bucket of step `from` may move to it.
struct search_step {
  std::uint64_t bucket = 0;
  std::size_t from = no_step;
  std::uint32_t slot = 0;
};

/// Where the search for room has ended: at an empty slot of the bucket of a step.
struct room {
  std::size_t step = 0;
  std::uint32_t slot = 0;
};

std::vector<std::byte> read_checked(const keyword_layout& at, const bucket_access& access,
                                    std::uint64_t bucket) {
  std::vector<std::byte> bytes = access.read(bucket);
  check_bucket(at, bytes);
  return bytes;
}

/// Breadth-first search for an empty slot over the moves of entries.
class room_search {
 public:
  room_search(const keyword_layout& at, const bucket_access& access, std::size_t max_reads)
      : at_(at), access_(access), max_reads_(max_reads) {}

  void begin(const candidate_list& candidates) {
    for (unsigned i = 0; i < at_.hashes; ++i) reach({candidates[i], no_step, 0});
  }

  /// @return nothing when there is no room within the reads that are allowed
  std::optional<room> find() {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const auto bytes = read_checked(at_, access_, steps_[i].bucket);
      if (const auto slot = empty_slot(at_, bytes)) return room{i, *slot};
      if (at_.tag_bytes == key_digest{}.size()) expand(i, bytes);
    }
    return std::nullopt;
  }

  /// Moves the entries on the way to the room, the last one first.
  /// @return where the first one was: the place for a new entry
  [[nodiscard]] std::pair<std::uint64_t, std::uint32_t> clear(room target) const {
    for (; steps_[target.step].from != no_step;
         target = {steps_[target.step].from, steps_[target.step].slot}) {
      const search_step& to = steps_[target.step];
      auto receiver = read_checked(at_, access_, to.bucket);
      const auto giver = read_checked(at_, access_, steps_[to.from].bucket);
      const auto moved = slot_of(at_, std::span<const std::byte>(giver), to.slot);
      std::ranges::copy(moved, slot_of(at_, std::span<std::byte>(receiver), target.slot).begin());
      access_.write(to.bucket, receiver);
    }
    return {steps_[target.step].bucket, target.slot};
  }

 private:
  void reach(const search_step& step) {
    if (steps_.size() < std::max<std::size_t>(max_reads_, at_.hashes) &&
        reached_.insert(step.bucket).second) {
      steps_.push_back(step);
    }
  }

  void expand(std::size_t step, std::span<const std::byte> bytes) {
    for (std::uint32_t s = 0; s < at_.slots; ++s) {
      key_digest digest{};
      std::memcpy(digest.data(), slot_of(at_, bytes, s).data(), digest.size());
      const candidate_list others = candidates_of(at_, digest);
      for (unsigned i = 0; i < at_.hashes; ++i) reach({others[i], step, s});
    }
  }

  const keyword_layout& at_;
  const bucket_access& access_;
  std::size_t max_reads_;
  std::vector<search_step> steps_;
  std::unordered_set<std::uint64_t> reached_;
};

/// Applies `change` to the candidates of a key and writes those in which it found the key.
template <typename ChangeT>
bool change_entry(const keyword_layout& at, const bucket_access& access, std::span<const std::byte> key,
                  const ChangeT& change) {
  bool found = false;
  for (const std::uint64_t bucket : candidate_buckets(at, key)) {
    std::vector<std::byte> bytes = access.read(bucket);
    if (!change(bytes)) continue;
    access.write(bucket, bytes);
    found = true;
  }
  return found;
}

}  // namespace

void insert(const keyword_layout& at, const bucket_access& access, std::span<const std::byte> key,
            std::span<const std::byte> value, std::size_t max_reads) {
  check(at, tag_rule::any);
  check_value(at, key, value.size());
  const key_digest digest = digest_of(at, key);
  const candidate_list candidates = candidates_of(at, digest);
  for (unsigned i = 0; i < at.hashes; ++i) {
    HALOCLINE_EXPECTS(!slot_with_tag(at, read_checked(at, access, candidates[i]), digest), invalid_argument,
                      "key ", printable_key(key), " is in the table already; replace its value instead");
  }
  room_search search(at, access, max_reads);
  search.begin(candidates);
  const std::optional<room> found = search.find();
  HALOCLINE_EXPECTS(found.has_value(), invalid_argument, "key ", printable_key(key), ": its ", at.hashes,
                    " buckets of ", at.slots, " entries are full",
                    at.tag_bytes == digest.size() ? " and no entry can move within the reads allowed" : "",
                    "; expected a free slot. Build the table again with more keys in its request (spare), or "
                    "with movable entries");
  const auto [bucket, slot] = search.clear(*found);
  auto bytes = read_checked(at, access, bucket);
  write_entry(at, slot_of(at, std::span<std::byte>(bytes), slot), digest, value);
  access.write(bucket, bytes);
}

bool replace(const keyword_layout& at, const bucket_access& access, std::span<const std::byte> key,
             std::span<const std::byte> value) {
  return change_entry(at, access, key,
                      [&](std::span<std::byte> bytes) { return replace_entry(at, bytes, key, value); });
}

bool erase(const keyword_layout& at, const bucket_access& access, std::span<const std::byte> key) {
  return change_entry(at, access, key,
                      [&](std::span<std::byte> bytes) { return erase_entry(at, bytes, key); });
}

}  // namespace halocline::pir
