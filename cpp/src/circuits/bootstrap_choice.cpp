// SPDX-License-Identifier: Apache-2.0
#include "circuits/bootstrap_choice.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "halocline/ckks/keys.hpp"

namespace halocline::circuits::detail {
namespace {

// Constants of the H200, in NTTs of one limb of N = 2^16 and 32-bit words: 0.292 us, fitted to the modelled
// times of bootstraps with 2 to 16 baby steps.

/// To load a limb over the link, at 55 GB/s, and to expand one from a seed.
constexpr double load_work = 16.2;
constexpr double expand_work = 0.86;
/// A product with a seeded key takes longer by this: 1.13 ms for 134 products that are written. The expansion
/// hides behind the half of the key that is not read, the larger the key the better.
constexpr double seed_work = 29;
// Measured within 1 to 5 GiB on one H200.
/// Memory that a plan needs to move nothing, as a multiple of what is live.
constexpr double spare_room = 1.14;
/// Bytes that are moved for each one that does not fit, the part of them that is expanded on the device as
/// long as there are halves with seeds, and the part of the shorter one of loading and computing that the
/// longer one does not hide.
constexpr double moved_of_overflow = 1;
constexpr double expanded_of_moved = 0.5;
constexpr double not_hidden = 0.55;
/// To move anything: the first bytes of a run are waited for.
constexpr double first_wait = 2000;
/// Uses of the relinearization key in EvalMod; of each other key beside the transforms there is one.
constexpr double relinearizations = 22;

/// Parts of the memory for everything that the search tries.
constexpr double tried_parts[] = {4.0, 1.0, 0.8, 0.65, 0.5, 0.4, 0.3, 0.22, 0.16, 0.1};
constexpr unsigned tried_babies[] = {16, 14, 12, 10, 8, 7, 6, 5, 4, 3, 2};
/// Uniform choices from which the search begins.
constexpr std::size_t begins = 2;

/// Keys with the bytes of each, merged from several parts.
struct key_row {
  std::uint64_t galois_element;
  std::size_t bytes;
  double seeded_work;             ///< more with the key seeded
  double written_work = 0;        ///< more with this key and those before it seeded: see `matrix_part`
  std::size_t written_bytes = 0;  ///< workspace that is then needed
};

/// What a choice takes before it is decided which keys stay seeded.
struct demand {
  std::vector<key_row> keys;  ///< the first to be seeded first
  choice_estimate expanded;
};

/// Sorts keys for seeding, most bytes for the work first, and finds those that end a `key_dot`. Of what that
/// takes each of its keys has a share in the order.
void order_for_seeds(std::vector<key_row>& keys, const std::vector<const matrix_part*>& parts) {
  std::map<std::uint64_t, double> work;
  for (const key_row& each : keys) work[each.galois_element] = each.seeded_work;
  for (const matrix_part* part : parts) {
    for (const std::uint64_t element : part->joined) {
      work[element] += part->written_work / static_cast<double>(part->joined.size());
    }
  }
  std::ranges::sort(keys, [&](const key_row& a, const key_row& b) {
    const double left = static_cast<double>(a.bytes) / work[a.galois_element];
    const double right = static_cast<double>(b.bytes) / work[b.galois_element];
    return std::tie(right, a.galois_element) < std::tie(left, b.galois_element);
  });
  for (const matrix_part* part : parts) {
    const auto first = std::ranges::find_if(
        keys, [&](const key_row& key) { return std::ranges::count(part->joined, key.galois_element) != 0; });
    if (first == keys.end()) continue;
    first->written_work += part->written_work;
    first->written_bytes = std::max(first->written_bytes, part->workspace_bytes + part->written_bytes);
  }
}

/// Keeps one more key seeded.
void seed(const key_row& key, choice_estimate& taken) {
  taken.key_bytes -= key.bytes / 2;
  taken.expandable_bytes -= key.bytes / 2;
  taken.work += key.seeded_work + key.written_work;
  taken.workspace_bytes = std::max(taken.workspace_bytes, key.written_bytes);
}

/// The larger the worse: first what cannot be held (where nothing is loaded: whether it does not fit), then
/// time, work or bytes.
using badness = std::pair<double, double>;

/// Ways of all matrices of all chains, one after the other, by their numbers among the candidates of each.
using picks = std::vector<std::size_t>;

/// Whether the key of a use is among those of the room.
bool is_there(const params::parameters& parameters, const bootstrap_room& room, const key_use& use) {
  return !room.keys || std::ranges::any_of(*room.keys, [&](const ckks::key_request& there) {
    return there.galois_element == use.galois_element && there.level >= parameters.key_level(use.level);
  });
}

/// The search with one way to add up rotations.
class choice_search {
 public:
  choice_search(const params::parameters& parameters, const std::vector<chain_shape>& chains,
                const sum_choice& sum, const bootstrap_room& room)
      : parameters_(parameters), sum_(sum), room_(room) {
    for (std::size_t c = 0; c < chains.size(); ++c) {
      for (const matrix_shape& each : matrices_of(chains[c])) add_matrix(each, c);
    }
    for (const ckks::key_request& each : sum_.others) {
      const bool many = each.galois_element == ckks::relinearization_element;
      others_.push_back({each.galois_element, each.level, many ? relinearizations : 1.0});
    }
    possible_ = has(others_) && std::ranges::none_of(parts_, &std::vector<matrix_part>::empty);
  }

  [[nodiscard]] bool possible() const noexcept { return possible_; }

  /// What the search finds for all sizes of memory that it tries.
  [[nodiscard]] std::vector<picks> pool() const {
    const std::vector<picks> uniform = uniform_picks();
    std::size_t most = 0;
    for (const picks& each : uniform) most = std::max(most, of(each).expanded.bytes());
    std::vector<picks> found = uniform;
    for (const double part : tried_parts) {
      const auto memory = static_cast<std::size_t>(part * static_cast<double>(most));
      const auto score = [&](const picks& each) { return best_seeds(each, memory).first; };
      std::vector<std::pair<badness, std::size_t>> order;
      for (std::size_t i = 0; i < uniform.size(); ++i) order.emplace_back(score(uniform[i]), i);
      std::ranges::sort(order);
      for (std::size_t i = 0; i < std::min(begins, order.size()); ++i) {
        found.push_back(improved(uniform[order[i].second], score));
      }
    }
    return found;
  }

  /// How bad it is with the keys seeded for which it is least bad, and how many of them these are.
  [[nodiscard]] std::pair<badness, std::size_t> best_seeds(const picks& chosen, std::size_t memory) const {
    const demand needed = of(chosen);
    choice_estimate now = needed.expanded;
    const bool all = room_.seeded.value_or(false), some = !room_.seeded || all;
    std::pair<badness, std::size_t> best{rate(now, memory), 0};
    for (std::size_t i = 0; some && i < needed.keys.size(); ++i) {
      seed(needed.keys[i], now);
      const badness found = rate(now, memory);
      if (found < best.first || all) best = {found, i + 1};
    }
    return best;
  }

  [[nodiscard]] transform_choice choice(const picks& chosen, std::size_t seeded) const {
    transform_choice result;
    result.sum_radix = sum_.radix;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (chain_of_[i] >= result.ways.size()) result.ways.emplace_back();
      result.ways.back().push_back(ways_[i][chosen[i]]);
    }
    const demand needed = of(chosen);
    for (std::size_t i = 0; i < seeded; ++i) result.seeded.push_back(needed.keys[i].galois_element);
    std::ranges::sort(result.seeded);
    return result;
  }

 private:
  void add_matrix(const matrix_shape& matrix, std::size_t chain) {
    std::vector<transform_way> tried;
    for (const bool compact : {false, true}) {
      if (compact && !can_be_compact(parameters_, matrix)) continue;
      tried.push_back({transform_mode::double_hoisted, {}, compact});
      if (matrix.raised) continue;
      for (const unsigned babies : tried_babies) {
        tried.push_back({transform_mode::double_hoisted, babies, compact});
      }
      tried.push_back({transform_mode::small_key, {}, compact});
    }
    ways_.emplace_back();
    parts_.emplace_back();
    for (const transform_way& way : tried) {
      matrix_part part = part_of(parameters_, matrix, way, sum_.radix);
      if (!has(part.keys)) continue;
      ways_.back().push_back(way);
      parts_.back().push_back(std::move(part));
    }
    chain_of_.push_back(chain);
    shortest_.push_back(matrix.raised ? 0 : matrix.shortest);
  }

  [[nodiscard]] bool has(const std::vector<key_use>& keys) const {
    return std::ranges::all_of(keys, [&](const key_use& use) { return is_there(parameters_, room_, use); });
  }

  /// All matrices done alike, as far as the keys of each allow.
  [[nodiscard]] std::vector<picks> uniform_picks() const {
    std::set<std::tuple<transform_mode, unsigned, bool>> wanted;
    for (const auto& each : ways_) {
      for (const transform_way& way : each) wanted.emplace(way.mode, way.baby_count.value_or(0), way.compact);
    }
    std::vector<picks> result;
    for (const auto& [mode, babies, compact] : wanted) {
      picks made;
      for (const auto& each : ways_) made.push_back(nearest(each, mode, babies, compact));
      if (std::ranges::find(result, made) == result.end()) result.push_back(std::move(made));
    }
    return result;
  }

  /// The candidate that differs least.
  [[nodiscard]] static std::size_t nearest(const std::vector<transform_way>& among, transform_mode mode,
                                           unsigned babies, bool compact) {
    const auto distance = [&](const transform_way& way) {
      return 4 * (way.mode != mode) + 2 * (way.baby_count.value_or(0) != babies) + (way.compact != compact);
    };
    return static_cast<std::size_t>(std::ranges::min_element(among, {}, distance) - among.begin());
  }

  /// Changes one matrix, or two that share rotations, as long as that helps.
  [[nodiscard]] picks improved(picks now, const std::function<badness(const picks&)>& score) const {
    badness least = score(now);
    for (bool changed = true; changed;) {
      changed = false;
      picks best = now;
      const auto consider = [&](const picks& tried) {
        if (tried == now) return;
        const badness found = score(tried);
        if (!(found < least)) return;
        least = found;
        best = tried;
        changed = true;
      };
      for (std::size_t i = 0; i < now.size(); ++i) {
        for (std::size_t way = 0; way < ways_[i].size(); ++way) {
          picks tried = now;
          tried[i] = way;
          consider(tried);
          const transform_way& like = ways_[i][way];
          for (std::size_t other = i + 1; other < now.size(); ++other) {
            if (shortest_[other] == 0 || shortest_[other] != shortest_[i]) continue;
            picks both = tried;
            both[other] = nearest(ways_[other], like.mode, like.baby_count.value_or(0),
                                  ways_[other][now[other]].compact);
            consider(both);
          }
        }
      }
      now = best;
    }
    return now;
  }

  [[nodiscard]] demand of(const picks& chosen) const {
    demand result;
    result.expanded.work = sum_.work;
    std::map<std::uint64_t, std::pair<unsigned, double>> merged;
    const auto merge = [&](const std::vector<key_use>& keys) {
      for (const key_use& each : keys) {
        auto& [level, uses] = merged[each.galois_element];
        level = std::max(level, parameters_.key_level(each.level));
        uses += each.uses;
      }
    };
    std::vector<const matrix_part*> parts;
    merge(others_);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const matrix_part& part = parts_[i][chosen[i]];
      merge(part.keys);
      parts.push_back(&part);
      result.expanded.diagonal_bytes += part.diagonal_bytes;
      result.expanded.workspace_bytes = std::max(result.expanded.workspace_bytes, part.workspace_bytes);
      result.expanded.work += part.work;
    }
    for (const auto& [element, found] : merged) {
      result.keys.push_back({element, bytes_of(element, found.first), found.second * seed_work});
      result.expanded.key_bytes += result.keys.back().bytes;
    }
    result.expanded.expandable_bytes = result.expanded.key_bytes / 2;
    order_for_seeds(result.keys, parts);
    return result;
  }

  [[nodiscard]] std::size_t bytes_of(std::uint64_t element, unsigned level) const {
    const auto [place, is_new] = bytes_.try_emplace({element, level}, 0);
    if (is_new) place->second = key_bytes(parameters_, {element, level});
    return place->second;
  }

  [[nodiscard]] badness rate(const choice_estimate& taken, std::size_t memory) const {
    if (room_.loads) {
      // Plans move keys and diagonals, not workspace: where that is too large, less of it comes before time.
      const std::size_t beyond = taken.workspace_bytes > memory ? taken.workspace_bytes - memory : 0;
      return {static_cast<double>(beyond), loading_time(parameters_, taken, memory)};
    }
    if (taken.bytes() <= memory) return {0.0, taken.work};
    return {1.0, static_cast<double>(taken.bytes())};
  }

  const params::parameters& parameters_;
  const sum_choice& sum_;
  const bootstrap_room& room_;
  std::vector<key_use> others_;
  std::vector<std::vector<transform_way>> ways_;  ///< candidates for each matrix
  std::vector<std::vector<matrix_part>> parts_;   ///< what each takes
  std::vector<std::size_t> chain_of_;
  std::vector<std::uint32_t> shortest_;
  bool possible_ = true;
  mutable std::map<std::pair<std::uint64_t, unsigned>, std::size_t> bytes_;
};

}  // namespace

double loading_time(const params::parameters& parameters, const choice_estimate& taken, std::size_t memory) {
  const auto limb = static_cast<double>(parameters.limb_bytes());
  const double overflow = spare_room * static_cast<double>(taken.bytes()) - static_cast<double>(memory);
  const double moved = moved_of_overflow * std::max(0.0, overflow) / limb;
  const double expanded =
      std::min(expanded_of_moved * moved, static_cast<double>(taken.expandable_bytes) / limb);
  const double link = (moved - expanded) * load_work, work = taken.work + expanded * expand_work;
  return std::max(work, link) + not_hidden * std::min(work, link) + (overflow > 0 ? first_wait : 0.0);
}

choice_estimate estimate(const params::parameters& parameters, const std::vector<chain_shape>& chains,
                         const sum_choice& sum, const transform_choice& choice) {
  choice_estimate result;
  result.work = sum.work;
  const auto seeded = [&](std::uint64_t element) {
    return std::ranges::binary_search(choice.seeded, element);
  };
  std::map<std::uint64_t, std::pair<unsigned, double>> keys;
  for (const ckks::key_request& each : sum.others) {
    const bool many = each.galois_element == ckks::relinearization_element;
    keys[each.galois_element] = {parameters.key_level(each.level), many ? relinearizations : 1.0};
  }
  for (std::size_t c = 0; c < chains.size(); ++c) {
    const std::vector<matrix_shape> matrices = matrices_of(chains[c]);
    for (std::size_t i = 0; i < matrices.size(); ++i) {
      const matrix_part part = part_of(parameters, matrices[i], choice.ways[c][i], choice.sum_radix);
      for (const key_use& each : part.keys) {
        auto& [level, uses] = keys[each.galois_element];
        level = std::max(level, parameters.key_level(each.level));
        uses += each.uses;
      }
      const bool written = std::ranges::any_of(part.joined, seeded);
      result.diagonal_bytes += part.diagonal_bytes;
      result.workspace_bytes =
          std::max(result.workspace_bytes, part.workspace_bytes + (written ? part.written_bytes : 0));
      result.work += part.work + (written ? part.written_work : 0.0);
    }
  }
  for (const auto& [element, found] : keys) {
    const std::size_t half = key_bytes(parameters, {element, found.first}) / 2;
    result.key_bytes += seeded(element) ? half : 2 * half;
    result.expandable_bytes += seeded(element) ? 0 : half;
    if (seeded(element)) result.work += found.second * seed_work;
  }
  return result;
}

bool fits_unchanged(const params::parameters& parameters, const std::vector<chain_shape>& chains,
                    const sum_choice& sum, const choice_limits& limits) {
  if (limits.room.seeded.value_or(false)) return false;
  const auto there = [&](const key_use& use) { return is_there(parameters, limits.room, use); };
  transform_choice unchanged{{}, sum.radix, {}};
  bool all = std::ranges::all_of(sum.others, [&](const ckks::key_request& each) {
    return there({each.galois_element, each.level, 1});
  });
  for (const chain_shape& chain : chains) {
    const std::vector<matrix_shape> matrices = matrices_of(chain);
    unchanged.ways.emplace_back(matrices.size());
    for (const matrix_shape& each : matrices) {
      all = all && std::ranges::all_of(part_of(parameters, each, {}, sum.radix).keys, there);
    }
  }
  const choice_estimate taken = estimate(parameters, chains, sum, unchanged);
  return all && spare_room * static_cast<double>(taken.bytes()) <= static_cast<double>(limits.memory);
}

std::optional<transform_choice> choose_within(const params::parameters& parameters,
                                              const std::vector<chain_shape>& chains,
                                              const std::vector<sum_choice>& sums,
                                              const choice_limits& limits) {
  const std::vector<sum_choice> ways = sums.empty() ? std::vector<sum_choice>{{}} : sums;
  std::optional<transform_choice> best;
  badness least;
  for (const sum_choice& way : ways) {
    const choice_search search(parameters, chains, way, limits.room);
    if (!search.possible()) continue;
    for (const picks& each : search.pool()) {
      const auto [found, seeded] = search.best_seeds(each, limits.memory);
      if (best && !(found < least)) continue;
      best = search.choice(each, seeded);
      least = found;
    }
  }
  return best;
}

}  // namespace halocline::circuits::detail
