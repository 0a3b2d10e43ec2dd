// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/keyword_builder.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "halocline/core/expects.hpp"
#include "halocline/pir/geometry.hpp"
#include "pir/keyword_entries.hpp"
#include "pir/keyword_hash.hpp"
#include "pir/keyword_placement.hpp"

namespace halocline::pir {
namespace {

constexpr std::uint64_t most_keys = std::numeric_limits<std::uint32_t>::max() - 1;
constexpr std::size_t chunk_bytes = std::size_t{16} << 20;
constexpr std::size_t written_bytes = std::size_t{4} << 20;

/// Eight bytes of a digest: words are compared as the bytes are.
std::uint64_t big_endian(const key_digest& digest, unsigned first) {
  std::uint64_t word = 0;
  for (unsigned i = 0; i < 8; ++i) word = word << 8 | digest[first + i];
  return word;
}

/// Values one after the other, in chunks: growing copies nothing.
class value_arena {
 public:
  const std::byte* keep(std::span<const std::byte> value) {
    if (value.size() > left_) {
      const std::size_t bytes = std::max(chunk_bytes, value.size());
      // For overwriting: a chunk is touched as it is filled.
      chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
      next_ = chunks_.back().get();
      left_ = bytes;
    }
    std::byte* const place = next_;
    if (!value.empty()) std::memcpy(place, value.data(), value.size());
    next_ += value.size();
    left_ -= value.size();
    return place;
  }

 private:
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::byte* next_ = nullptr;
  std::size_t left_ = 0;
};

/// Numbers of keys by digest: open addressing with linear probing, at most 3/4 full. Digests are
/// pseudorandom, so their first word is the hash.
class digest_index {
 public:
  /// @return whether the digest was new; key number `number` has it then
  bool insert(std::span<const stored_key> keys, const key_digest& digest, std::uint32_t number) {
    if (4 * (used_ + 1) > 3 * places_.size()) grow(keys, std::max<std::size_t>(16, 2 * places_.size()));
    std::uint32_t& place = find(keys, digest);
    if (place != none) return false;
    place = number;
    ++used_;
    return true;
  }
  void reserve(std::span<const stored_key> keys, std::uint64_t count) {
    if (4 * count > 3 * places_.size()) grow(keys, count + count / 3 + 16);
  }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t& find(std::span<const stored_key> keys, const key_digest& digest) {
    std::uint64_t word = 0;
    std::memcpy(&word, digest.data(), sizeof word);
    for (std::uint64_t at = scaled(word, places_.size());; at = at + 1 == places_.size() ? 0 : at + 1) {
      if (places_[at] == none || keys[places_[at]].digest == digest) return places_[at];
    }
  }
  void grow(std::span<const stored_key> keys, std::size_t places) {
    places_.assign(places, none);
    for (std::uint32_t i = 0; i < used_; ++i) find(keys, keys[i].digest) = i;
  }

  std::vector<std::uint32_t> places_;
  std::uint64_t used_ = 0;
};

}  // namespace

struct keyword_builder::state {
  keyword_layout at;
  keyword_build_options options;
  std::vector<stored_key> keys;
  value_arena values;
  digest_index index;
  bool closed = false;  ///< the index is gone: no more keys
  std::optional<placement> placed;

  bool attempt() {
    placement made(at, keys);
    if (!made.fill(options.kicks, options.progress)) return false;
    placed.emplace(std::move(made));
    return true;
  }

  void grow() {
    at.buckets += at.buckets / 50 + 1;
    check(at, options.tags);
  }

  std::string failure(std::uint64_t tried) const {
    return text("keyword table: ", tried, " placements of ", keys.size(), " keys in ", at.buckets,
                " buckets of ", at.slots, " entries with ", at.hashes, " hash functions failed; ",
                keys.size() > at.buckets * at.slots ? "there are too few entries" : "the load is too high",
                ". Take more buckets (spare, growths), more slots, or two or three hash functions",
                options.tags == tag_rule::any ? ", or longer tags" : "");
  }
};

keyword_builder::keyword_builder(const keyword_layout& at, keyword_build_options options)
    : state_(std::make_unique<state>()) {
  check(at, options.tags);
  HALOCLINE_EXPECTS(options.attempts >= 1 && options.attempts <= 1000 && options.growths <= 1000,
                    invalid_argument, "keyword table: ", options.attempts, " attempts and ", options.growths,
                    " growths; expected 1 to 1000 and at most 1000");
  state_->at = at;
  state_->options = std::move(options);
}

keyword_builder::keyword_builder(keyword_builder&&) noexcept = default;
keyword_builder::~keyword_builder() = default;

void keyword_builder::reserve(std::uint64_t keys) {
  state_->keys.reserve(std::min(keys, most_keys));
  state_->index.reserve(state_->keys, std::min(keys, most_keys));
}

void keyword_builder::add(std::span<const std::byte> key, std::span<const std::byte> value) {
  state& s = *state_;
  HALOCLINE_EXPECTS(!s.closed, invalid_argument, "keyword table: key ", printable_key(key),
                    " comes after `place`; add all keys before it");
  HALOCLINE_EXPECTS(s.keys.size() < most_keys, invalid_argument, "keyword table: more than ", most_keys,
                    " keys; divide them among several tables");
  check_value(s.at, key, value.size());
  const key_digest digest = digest_of(s.at, key);
  // The key is stored first, because an exception must leave the index without it.
  const auto number = static_cast<std::uint32_t>(s.keys.size());
  s.keys.push_back({digest, s.values.keep(value), static_cast<std::uint32_t>(value.size())});
  bool fresh = false;
  try {
    fresh = s.index.insert(s.keys, digest, number);
  } catch (...) {
    s.keys.pop_back();
    throw;
  }
  if (fresh) return;
  s.keys.pop_back();
  throw invalid_argument(text("keyword table: key ", printable_key(key),
                              " is there twice; expected each key once. Remove one of them"));
}

std::uint64_t keyword_builder::keys() const noexcept { return state_->keys.size(); }

double keyword_builder::load() const noexcept {
  return static_cast<double>(keys()) /
         (double{1} * state_->at.slots * static_cast<double>(state_->at.buckets));
}

keyword_layout keyword_builder::place() {
  state& s = *state_;
  if (s.placed) return s.at;
  s.closed = true;
  s.index = {};
  std::ranges::sort(s.keys, {}, [](const stored_key& each) {
    return std::pair(big_endian(each.digest, 0), big_endian(each.digest, 8));
  });
  std::uint64_t tried = 0;
  for (unsigned growth = 0; growth <= s.options.growths; ++growth) {
    if (growth != 0) s.grow();
    for (unsigned i = 0; i < s.options.attempts && s.keys.size() <= s.at.buckets * s.at.slots; ++i, ++tried) {
      if (s.attempt()) return s.at;
      ++s.at.attempt;
    }
  }
  throw invalid_argument(s.failure(tried));
}

void keyword_builder::write(
    const std::function<void(std::uint64_t first, std::span<const std::byte> bytes)>& sink) {
  const keyword_layout at = place();
  const state& s = *state_;
  const std::uint64_t size = at.bucket_bytes();
  const std::uint64_t group = std::min(at.buckets, std::max<std::uint64_t>(1, written_bytes / size));
  std::vector<std::byte> bytes;
  for (std::uint64_t first = 0; first < at.buckets; first += group) {
    const std::uint64_t count = std::min(group, at.buckets - first);
    bytes.assign(count * size, std::byte{0});
    for (std::uint64_t b = 0; b < count; ++b) {
      const auto record = std::span(bytes).subspan(b * size, size);
      std::uint32_t slot = 0;
      for (const std::uint32_t number : s.placed->bucket(first + b)) {
        const stored_key& key = s.keys[number];
        write_entry(at, slot_of(at, record, slot++), key.digest, {key.value, key.value_bytes});
      }
    }
    sink(first, bytes);
    if (s.options.progress) s.options.progress(first + count, at.buckets);
  }
}

}  // namespace halocline::pir
