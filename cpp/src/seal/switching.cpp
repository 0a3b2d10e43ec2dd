// SPDX-License-Identifier: Apache-2.0
#include "seal/switching.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "halocline/core/expects.hpp"

namespace halocline::seal {
namespace {

using arith::window;
using backend::limb_view;

memory::buffer scratch(context& on, std::size_t limbs, const char* tag) {
  return on.runtime().allocate(limbs * on.tables().limb_bytes(), memory::object_class::scratch, tag);
}

/// The key switches of a batch.
class key_switches {
 public:
  key_switches(context& on, std::span<const switch_item> items)
      : on_(on),
        items_(items),
        count_(items.front().target.primes.count),
        group_(on.switch_group(items.size() * count_, count_ + 1)),
        joined_(on.joins_limbs() && group_ > 1),
        coefficients_(scratch(on, items.size() * count_, "seal.coefficients")),
        digits_(scratch(on, items.size() * count_ * group_, "seal.digits")),
        sums_(scratch(on, items.size() * 2 * (std::size_t{count_} + 1), "seal.sums")) {}

  void run() {
    std::vector<backend::unary_job> inverse;
    for (std::uint32_t x = 0; x < items_.size(); ++x) {
      inverse.push_back({{&coefficients_, x * count_, {0, count_}}, items_[x].target});
    }
    on_.device().intt(on_.tables(), inverse);
    // Targets are the special prime, then those of the level.
    for (std::uint32_t first = 0; first <= count_; first += group_) {
      const std::uint32_t end = std::min(first + group_, count_ + 1), begin = std::max(first, 1U);
      pass(first == 0, {begin - 1, end - begin});
    }
    std::vector<dividend> sums;
    for (std::uint32_t x = 0; x < items_.size(); ++x) {
      sums.push_back({special_sum(x, 0), chain_sum(x, 0), items_[x].dst0});
      sums.push_back({special_sum(x, 1), chain_sum(x, 1), items_[x].dst1});
    }
    divide(on_, on_.special(), sums);
  }

 private:
  [[nodiscard]] limb_view special_sum(std::uint32_t x, std::uint32_t k) const {
    return {&sums_, (2 * x + k) * (count_ + 1), {on_.special(), 1}};
  }
  [[nodiscard]] limb_view chain_sum(std::uint32_t x, std::uint32_t k) const {
    return {&sums_, (2 * x + k) * (count_ + 1) + 1, {0, count_}};
  }
  /// Digit `i` of item `x` modulo some primes, of which the first one is the `place`-th of the pass.
  [[nodiscard]] limb_view digit(std::uint32_t x, std::uint32_t i, std::uint32_t place, window primes) const {
    return {&digits_, (x * count_ + i) * group_ + place, primes};
  }

  /// The primes of `chain` that digit `i` is raised to. Its own limb is that of the target, or made again.
  [[nodiscard]] std::array<window, 2> parts_of(window chain, std::uint32_t i) const {
    if (joined_) return {chain, window{}};
    const std::uint32_t before = std::clamp(i, chain.first, chain.end());
    const std::uint32_t behind = std::clamp(i + 1, chain.first, chain.end());
    return {window{chain.first, before - chain.first}, window{behind, chain.end() - behind}};
  }

  /// Digits modulo some primes, and their products with keys.
  void pass(bool special, window chain) {
    std::vector<backend::reduce_job> jobs;
    const std::uint32_t shift = special ? 1 : 0;
    for (std::uint32_t x = 0; x < items_.size(); ++x) {
      for (std::uint32_t i = 0; i < count_; ++i) {
        const limb_view from{&coefficients_, x * count_ + i, {i, 1}};
        if (special) jobs.push_back({digit(x, i, 0, {on_.special(), 1}), from});
        for (const window part : parts_of(chain, i)) {
          if (part.count > 0) jobs.push_back({digit(x, i, shift + part.first - chain.first, part), from});
        }
      }
    }
    on_.device().ntt_reduced(on_.tables(), jobs);
    std::vector<backend::key_job> products;
    for (std::uint32_t x = 0; x < items_.size(); ++x) {
      if (special) products.push_back(product(x, {on_.special(), 1}, 0));
      const std::uint32_t step = joined_ ? std::max(1U, chain.count) : 1;
      for (std::uint32_t p = chain.first; p < chain.end(); p += step) {
        products.push_back(product(x, {p, step}, shift + p - chain.first));
      }
    }
    on_.device().key_multiply_accumulate(on_.tables(), products);
  }

  /// The sums of item `x` modulo the special prime, or some others. What is added is multiplied by the
  /// special prime first: the division then gives exactly what adding after it would.
  [[nodiscard]] backend::key_job product(std::uint32_t x, window primes, std::uint32_t place) const {
    const switch_item& item = items_[x];
    const bool special = primes.first == on_.special();
    const auto sum = [&](std::uint32_t k) {
      return special ? special_sum(x, k) : chain_sum(x, k).slice(primes);
    };
    backend::key_job job{sum(0), sum(1), {}};
    for (std::uint32_t i = 0; i < count_; ++i) {
      const bool own = !joined_ && i == primes.first;
      const limb_view view = own ? item.target.slice(primes) : digit(x, i, place, primes);
      job.digits.push_back({view, &(*item.key)[i].b.data(), &(*item.key)[i].a.data()});
    }
    if (special) return job;
    job.plus0 = item.plus0.slice(primes);
    if (item.plus1.data != nullptr) job.plus1 = item.plus1.slice(primes);
    const auto factors = on_.special_residues().begin() + primes.first;
    job.factors.assign(factors, factors + primes.count);
    return job;
  }

  context& on_;
  std::span<const switch_item> items_;
  std::uint32_t count_;  ///< digits of an item, and primes of its target
  std::uint32_t group_;  ///< primes of a pass
  bool joined_;          ///< digits have all limbs of a pass behind each other
  memory::buffer coefficients_, digits_, sums_;
};

}  // namespace

void divide(context& on, std::uint32_t divisor, std::span<const dividend> items) {
  if (items.empty()) return;
  const division_plan& plan = on.division(divisor, items.front().dst.primes.count);
  const memory::buffer last = scratch(on, items.size(), "seal.last");
  std::vector<backend::unary_job> transforms;
  std::vector<backend::reduce_job> quotients;
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    const limb_view mine{&last, i, {divisor, 1}};
    transforms.push_back({mine, items[i].last});
    quotients.push_back({items[i].dst, mine, true, items[i].kept, plan.inverse, plan.negative});
  }
  on.device().intt(on.tables(), transforms);
  on.device().ntt_reduced(on.tables(), quotients);
}

void switch_keys(context& on, std::span<const switch_item> items) {
  if (!items.empty()) key_switches(on, items).run();
}

}  // namespace halocline::seal
