// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/engine_keys.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "halocline/ckks/context.hpp"
#include "halocline/ckks/key_generator.hpp"
#include "halocline/ckks/recipes.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::ckks {

namespace {

/// Calls `each` with the halves of all digits of a key that the runtime keeps.
template <typename EachT>
void for_halves(const evaluation_key& key, const EachT& each) {
  for (const evaluation_key_digit& digit : key.digits) {
    if (digit.b) each(digit.b);
    if (digit.a) each(digit.a);
  }
}

}  // namespace

engine_keys::engine_keys(context& ctx, bool keep_seeds)
    : ctx_(ctx), keep_seeds_(keep_seeds), held_(ctx.parameters()) {}

void engine_keys::add(evaluation_key key) {
  if (!keeps_seeds(key.galois_element)) expand(ctx_, key);
  register_key(ctx_, key);
  bound_.erase(key.galois_element);
  if (!in_use_) name_key(ctx_, key, false);
  held_.add(std::move(key));
}

void engine_keys::keep_more_seeds(const std::set<std::uint64_t>& elements) {
  seeded_.insert(elements.begin(), elements.end());
  for (const std::uint64_t element : elements) held_.drop_uniform_halves(element);
}

void engine_keys::add_source(std::unique_ptr<key_source> source) {
  for (const key_request& each : source->list()) {
    offers_[each.galois_element].push_back({source.get(), each.level});
  }
  sources_.push_back(std::move(source));
}

std::unique_ptr<engine_keys> engine_keys::make_empty() const {
  auto made = std::make_unique<engine_keys>(ctx_, keep_seeds_);
  made->seeded_ = seeded_;
  made->in_use_ = false;
  return made;
}

void engine_keys::exchange(engine_keys& other) {
  HALOCLINE_EXPECTS(&other.ctx_ == &ctx_ && in_use_ && !other.in_use_, invalid_argument,
                    "exchange_keys: expected a key set that this engine made and that is not in use");
  name_held(false);
  std::swap(held_, other.held_);
  std::swap(sources_, other.sources_);
  std::swap(offers_, other.offers_);
  std::swap(bound_, other.bound_);
  name_held(true);
  other.set_spare(true);
  set_spare(false);
}

void engine_keys::name_held(bool named) {
  for (const auto& [element, key] : held_.keys()) name_key(ctx_, key, named);
}

void engine_keys::set_spare(bool spare) {
  for (const auto& [element, key] : held_.keys()) {
    for_halves(key, [&](const memory::buffer& half) { ctx_.runtime().set_spare(half, spare); });
  }
}

const engine_keys::offer* engine_keys::find(std::uint64_t galois_element, unsigned level) const {
  const auto found = offers_.find(galois_element);
  if (found == offers_.end()) return nullptr;
  const auto fits = std::ranges::find_if(found->second, [&](const offer& o) { return o.level >= level; });
  return fits == found->second.end() ? nullptr : &*fits;
}

void engine_keys::load(std::uint64_t galois_element, const offer& from) {
  if (!held_.contains(galois_element, from.level)) add(from.source->load(galois_element));
}

const engine_keys::offer& engine_keys::offered(std::uint64_t galois_element) const {
  const offer* const found = find(galois_element, 0);
  HALOCLINE_EXPECTS(found != nullptr, missing_key, "load: no key store of this engine has the ",
                    describe_key(ctx_.parameters(), galois_element));
  return *found;
}

void engine_keys::load(std::uint64_t galois_element) { load(galois_element, offered(galois_element)); }

void engine_keys::bind(std::uint64_t galois_element) {
  const offer& from = offered(galois_element);
  if (held_.contains(galois_element, from.level)) return;
  evaluation_key key = from.source->bind(galois_element);
  const std::vector<key_digit_layout> layouts = key_layout(ctx_.parameters(), {galois_element, key.level});
  std::vector<bool> made(key.digits.size());
  for (std::size_t j = 0; j < key.digits.size() && !keeps_seeds(galois_element); ++j) {
    made[j] = !key.digits[j].a;
    if (!made[j]) continue;
    key.digits[j].a = ctx_.runtime().allocate(layouts[j].limbs() * ctx_.tables().limb_bytes(),
                                              memory::object_class::evaluation_key, "evaluation_key.a");
  }
  register_key(ctx_, key);
  if (!in_use_) name_key(ctx_, key, false);
  for (std::size_t j = 0; j < key.digits.size(); ++j) {
    if (made[j]) ctx_.runtime().leave_to_recipe(key.digits[j].a);
  }
  held_.add(std::move(key));
  bound_.insert(galois_element);
}

memory::fetched engine_keys::bring(std::span<const std::uint64_t> elements) {
  for (const std::uint64_t element : elements) bind(element);
  memory::fetched worst = memory::fetched::done;
  for (const std::uint64_t element : elements) {
    // Halves that are made of seeds on the device come nearer by themselves.
    for_halves(held_.get(element, 0), [&](const memory::buffer& half) {
      const memory::fetched now = ctx_.runtime().fetch(half);
      if (worst != memory::fetched::near && now != memory::fetched::done) worst = now;
    });
  }
  return worst;
}

void engine_keys::evict(bool copies) {
  for (const auto& [element, key] : held_.keys()) {
    for_halves(key, [&](const memory::buffer& half) { ctx_.runtime().leave_fast(half, copies); });
  }
}

const evaluation_key& engine_keys::get(std::uint64_t galois_element, unsigned level) {
  if (!held_.contains(galois_element, level)) {
    const offer* const found = find(galois_element, ctx_.parameters().key_level(level));
    if (found != nullptr) load(galois_element, *found);
  }
  return held_.get(galois_element, level);
}

bool engine_keys::contains(std::uint64_t galois_element, unsigned level) const {
  return held_.contains(galois_element, level) ||
         find(galois_element, ctx_.parameters().key_level(level)) != nullptr;
}

std::vector<key_request> engine_keys::list() const {
  std::map<std::uint64_t, unsigned> levels;
  for (const auto& [element, found] : offers_) {
    for (const offer& each : found) levels[element] = std::max(levels[element], each.level);
  }
  for (const key_request& each : held_.list()) {
    unsigned& level = levels[each.galois_element];
    level = std::max(level, each.level);
  }
  std::vector<key_request> result;
  for (const auto& [element, level] : levels) result.push_back({element, level});
  return result;
}

}  // namespace halocline::ckks
