// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/sim/key_cache.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "halocline/core/expects.hpp"

namespace halocline::memory::sim {
namespace {

constexpr std::size_t never = ~std::size_t{0};

struct cached_key {
  std::uint64_t key = 0;
  std::size_t loaded = 0;
  std::size_t last_use = 0;
  std::size_t next_use = never;
};

std::vector<std::size_t> next_uses(std::span<const std::uint64_t> keys) {
  std::vector<std::size_t> result(keys.size(), never);
  std::unordered_map<std::uint64_t, std::size_t> following;
  for (std::size_t i = keys.size(); i-- > 0;) {
    if (const auto found = following.find(keys[i]); found != following.end()) result[i] = found->second;
    following[keys[i]] = i;
  }
  return result;
}

/// Of two keys, whether `a` leaves first.
class leaves_first {
 public:
  leaves_first(key_replacement rule, std::size_t now, std::size_t look_ahead) : rule_(rule) {
    horizon_ = look_ahead < never - now ? now + look_ahead : never - 1;
  }

  bool operator()(const cached_key& a, const cached_key& b) const {
    if (rule_ == key_replacement::fifo) return a.loaded < b.loaded;
    if (rule_ == key_replacement::lru) return a.last_use < b.last_use;
    const bool known_a = a.next_use <= horizon_;
    const bool known_b = b.next_use <= horizon_;
    if (known_a != known_b) return known_b;
    return known_a ? a.next_use > b.next_use : a.last_use < b.last_use;
  }

 private:
  key_replacement rule_;
  std::size_t horizon_;
};

}  // namespace

std::uint64_t key_loads(std::span<const std::uint64_t> keys, std::size_t capacity, key_replacement rule,
                        std::size_t look_ahead) {
  HALOCLINE_EXPECTS(capacity > 0, invalid_argument, "a key cache needs room for at least one key");
  const std::vector<std::size_t> following = next_uses(keys);
  std::vector<cached_key> cache;
  std::uint64_t loads = 0;
  for (std::size_t now = 0; now < keys.size(); ++now) {
    auto found = std::find_if(cache.begin(), cache.end(),
                              [&](const cached_key& each) { return each.key == keys[now]; });
    if (found == cache.end()) {
      ++loads;
      if (cache.size() < capacity) {
        found = cache.emplace(cache.end());
      } else {
        found = std::min_element(cache.begin(), cache.end(), leaves_first(rule, now, look_ahead));
      }
      found->key = keys[now];
      found->loaded = now;
    }
    found->last_use = now;
    found->next_use = following[now];
  }
  return loads;
}

}  // namespace halocline::memory::sim
