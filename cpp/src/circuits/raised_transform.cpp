// SPDX-License-Identifier: Apache-2.0
#include "halocline/circuits/raised_transform.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "circuits/key_union.hpp"
#include "circuits/switch_work.hpp"
#include "halocline/backend/scoped_operation.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/key_dot.hpp"
#include "halocline/ckks/key_switch.hpp"
#include "halocline/ckks/recipes.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/rns/mod_down.hpp"
#include "halocline/rns/raise.hpp"

namespace halocline::circuits {
namespace {

using arith::window;
using ckks::ciphertext;
using ckks::poly_pair;
using ckks::raised_ciphertext;
using memory::object_class;
using complex = std::complex<double>;

/// Most rotations whose products are added to a sum together: it is then read and written once for all of
/// them, and compact diagonals of all are expanded.
constexpr std::size_t most_rotations = 32;
/// The same where that takes scratch, which shall not depend on a budget, and the fewest in any case.
constexpr std::size_t few_rotations = 8;
/// Products with a key of one digit, and with a diagonal, that take as long as a rotation under the main
/// secret: 264 and some 17 us for `n16-boot` on one H200.
constexpr double products_per_rotation = 16;

std::uint64_t element_of(const params::parameters& parameters, int diagonal, std::uint32_t step) {
  return parameters.galois_element(std::int64_t{diagonal} + step);
}

bool is_zero(const std::vector<complex>& values) {
  return std::all_of(values.begin(), values.end(), [](complex each) { return each == complex{}; });
}

}  // namespace

/// What is summed for one input.
struct raised_transform::partial_sum {
  poly_pair products;
  bool begun = false;
  double scale = 1;
  ckks::key_id key{};
};

window raised_transform::dropped() const noexcept {
  const params::encapsulation_info& e = *parameters_.encapsulation();
  return {e.raised_special.first, e.raised_special.count + e.raised_scale.count};
}

raised_transform::raised_transform(ckks::evaluator& eval, const diagonal_map& diagonals, unsigned level,
                                   bool compact, std::optional<unsigned> sum_radix)
    : parameters_(eval.context().parameters()), level_(level), sum_radix_(sum_radix) {
  parameters_.require_raised_keys("raised transform");
  slots_ = diagonals.empty() ? 1 : static_cast<std::uint32_t>(diagonals.begin()->second.size());
  HALOCLINE_EXPECTS(std::has_single_bit(slots_) && slots_ <= parameters_.slots(), invalid_argument,
                    "raised transform: diagonals of ", slots_, " entries; expected a power of two up to ",
                    parameters_.slots());
  for (const auto& [index, values] : diagonals) {
    HALOCLINE_EXPECTS(values.size() == slots_, invalid_argument, "raised transform: diagonal ", index,
                      " has ", values.size(), " entries; expected one for each of the ", slots_, " slots");
    if (!is_zero(values)) weights_.push_back(encode(eval, index, values, compact));
  }
  HALOCLINE_EXPECTS(!weights_.empty(), invalid_argument,
                    "raised transform: all diagonals are 0; expected one that is not");
  const std::uint32_t summed = sparse_rotations(parameters_, weights_.size(), slots_, level_, sum_radix_);
  following_ = following_sums(parameters_, slots_, summed, level_, sum_radix_);
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    for (std::uint32_t j = 0; j < summed; ++j) {
      rotations_.push_back({element_of(parameters_, weights_[i].diagonal, j * slots_), i});
    }
  }
}

/// At the scale D, whatever the level: the division takes it off.
raised_transform::weight raised_transform::encode(ckks::evaluator& eval, int diagonal,
                                                  const std::vector<complex>& values, bool compact) const {
  ckks::context& ctx = eval.context();
  double scale = 1;
  const window primes = parameters_.encapsulation()->raised_scale;
  for (std::uint32_t i = primes.first; i < primes.end(); ++i) {
    scale *= static_cast<double>(parameters_.primes()[i]);
  }
  weight result;
  result.diagonal = diagonal;
  result.compact = eval.encoder().encode_compact(values, scale, slots_);
  const std::uint64_t contents = ckks::hash_of(values);
  if (compact) {
    ctx.runtime().set_identity(result.compact.coefficients,
                               ckks::identity_of("compact raised diagonal", contents, 0));
    return result;
  }
  result.expanded = expand(ctx, result.compact, object_class::plaintext);
  std::shared_ptr<const ckks::compact_plaintext> kept;
  if (ctx.runtime().options().keep_sources) {
    kept = std::make_shared<ckks::compact_plaintext>(std::move(result.compact));
  }
  result.compact.coefficients = {};
  ckks::register_plaintext(ctx, result.expanded, ckks::identity_of("raised diagonal", contents, level_),
                           std::move(kept));
  return result;
}

ring::poly raised_transform::expand(ckks::context& ctx, const ckks::compact_plaintext& coefficients,
                                    object_class cls) const {
  ring::poly result(ctx.ring(), dropped(), parameters_.level(level_).q, cls, "raised_transform.diagonal");
  std::vector<backend::encode_job> encodings;
  std::vector<backend::unary_job> transforms;
  for (const backend::limb_view& view : result.views()) {
    encodings.push_back({view, &coefficients.coefficients, 1, coefficients.log_stride(parameters_.log_n())});
    transforms.push_back({view, view});
  }
  ctx.device().encode_expand(ctx.tables(), encodings);
  ctx.device().ntt(ctx.tables(), transforms);
  return result;
}

std::vector<ckks::rotation_stage> raised_transform::following_sums(const params::parameters& parameters,
                                                                   std::uint32_t slots,
                                                                   std::uint32_t sparse_rotations,
                                                                   unsigned level,
                                                                   std::optional<unsigned> sum_radix) {
  const std::uint32_t first = slots * sparse_rotations;
  const auto count = static_cast<std::uint32_t>(parameters.slots() / first);
  const unsigned radix = sum_radix ? *sum_radix : detail::best_sum_radix(parameters, level, count);
  return ckks::sum_stages(first, count, radix);
}

/// The number with the least work. What is measured of a rotation gives that of a sum by the cost model.
std::uint32_t raised_transform::sparse_rotations(const params::parameters& parameters, std::size_t diagonals,
                                                 std::uint32_t slots, unsigned level,
                                                 std::optional<unsigned> sum_radix) {
  const auto copies = static_cast<std::uint32_t>(parameters.slots() / slots);
  const double per_work = products_per_rotation / detail::rotation_work(parameters, level);
  const auto work = [&](std::uint32_t summed) {
    const auto others = following_sums(parameters, slots, summed, level, sum_radix);
    return static_cast<double>(diagonals * summed) + per_work * detail::sum_work(parameters, level, others);
  };
  std::uint32_t best = 1;
  for (std::uint32_t summed = 2; summed <= copies; summed *= 2) {
    if (work(summed) < work(best)) best = summed;
  }
  return best;
}

std::vector<ckks::key_request> raised_transform::key_requests(const params::parameters& parameters,
                                                              std::span<const int> diagonals,
                                                              std::uint32_t slots, unsigned level,
                                                              std::optional<unsigned> sum_radix) {
  detail::key_union keys;
  const std::uint32_t summed = sparse_rotations(parameters, diagonals.size(), slots, level, sum_radix);
  for (const int each : diagonals) {
    for (std::uint32_t j = 0; j < summed; ++j) {
      const std::uint64_t element = element_of(parameters, each, j * slots);
      keys.add({{{ckks::raised_rotation_element(parameters, element), level}}});
    }
  }
  keys.add(ckks::keys_of(parameters, following_sums(parameters, slots, summed, level, sum_radix), level));
  return keys.list();
}

std::vector<ckks::key_request> raised_transform::key_requests() const {
  std::vector<int> diagonals;
  for (const weight& each : weights_) diagonals.push_back(each.diagonal);
  return key_requests(parameters_, diagonals, slots_, level_, sum_radix_);
}

std::size_t raised_transform::bytes() const noexcept {
  std::size_t total = 0;
  for (const weight& each : weights_) total += each.expanded.data().size() + each.compact.bytes();
  return total;
}

void raised_transform::check(ckks::evaluator& eval, const raised_ciphertext& input) const {
  HALOCLINE_EXPECTS(eval.context().parameters() == parameters_ && input.level == level_, invalid_argument,
                    "raised transform: made for level ", level_, " of parameters \"", parameters_.name(),
                    "\", the input is at level ", input.level, " of \"", eval.context().parameters().name(),
                    "\"");
  HALOCLINE_EXPECTS(input.slots == slots_, invalid_argument, "raised transform: the input has ", input.slots,
                    " slots, the transform was made for ", slots_);
}

/// X^g(input * key) over the dropped primes and the chain: jobs for the three runs of primes.
void raised_transform::add_products(ckks::context& ctx, std::uint64_t galois_element,
                                    const ckks::evaluation_key& key, const raised_ciphertext& input,
                                    const poly_pair& product, std::vector<backend::key_job>& jobs) const {
  const params::encapsulation_info& e = *parameters_.encapsulation();
  const ckks::evaluation_key_digit& digit = key.digits.front();
  const memory::buffer* const permutation =
      galois_element == 1 ? nullptr : &ctx.ring().permutation(galois_element);
  const auto add = [&](const auto& part, const backend::limb_view& plus) {
    const backend::limb_view from = part(input.linear);
    backend::key_job job{part(product.first), part(product.second), {}, false};
    job.digits.push_back(
        {from, &digit.b, digit.a ? &digit.a : nullptr, digit.source, e.raised_special.first});
    if (plus.data != nullptr) {
      job.plus0 = plus;
      job.factors = rns::product_of(ctx.ring(), e.raised_special, from.primes);
    }
    job.permutation = permutation;
    jobs.push_back(std::move(job));
  };
  add([&](const ring::poly& p) { return p.special().slice(e.raised_special); }, {});
  add([&](const ring::poly& p) { return p.special().slice(e.raised_scale); }, input.constant.special());
  add([](const ring::poly& p) { return p.chain(); }, input.constant.chain());
}

/// sum += sum over the group of diagonal * X^g(input * key).
void raised_transform::add_group(ckks::evaluator& eval, std::span<const rotation> group,
                                 std::span<const ring::poly> diagonals, const raised_ciphertext& input,
                                 partial_sum& sum) const {
  std::vector<const ckks::evaluation_key*> keys;
  std::vector<const ring::poly*> factors;
  for (const rotation& each : group) {
    keys.push_back(&ckks::matching_key(eval.keys(),
                                       ckks::raised_rotation_element(parameters_, each.galois_element),
                                       level_, sum.key, "raised transform"));
    const ring::poly& kept = weights_[each.weight].expanded;
    factors.push_back(kept ? &kept : &diagonals[each.weight - group.front().weight]);
  }
  const bool joins = std::ranges::all_of(keys, [](const auto* key) { return ckks::takes_key(*key); });
  const std::size_t at_once = joins ? group.size() : few_rotations;
  for (std::size_t first = 0; first < group.size(); first += at_once) {
    const std::size_t count = std::min(at_once, group.size() - first);
    const auto add = joins ? &raised_transform::add_joined : &raised_transform::add_written;
    (this->*add)(eval.context(), group.subspan(first, count), std::span(keys).subspan(first, count),
                 std::span(factors).subspan(first, count), input, sum);
    sum.begun = true;
  }
}

/// In one operation, which writes no rotation.
void raised_transform::add_joined(ckks::context& ctx, std::span<const rotation> group,
                                  std::span<const ckks::evaluation_key* const> keys,
                                  std::span<const ring::poly* const> factors, const raised_ciphertext& input,
                                  const partial_sum& sum) const {
  const params::encapsulation_info& e = *parameters_.encapsulation();
  std::vector<backend::key_dot_job> jobs;
  const auto add = [&](const auto& part, const backend::limb_view& plus) {
    const backend::limb_view from = part(input.linear);
    backend::key_dot_job job;
    backend::weighted_sum total{part(sum.products.first), part(sum.products.second), sum.begun};
    for (std::size_t i = 0; i < group.size(); ++i) {
      const ckks::evaluation_key_digit& digit = keys[i]->digits.front();
      backend::key_term term{{{from, &digit.b, &digit.a, {}, e.raised_special.first}}, plus};
      if (group[i].galois_element != 1) term.permutation = &ctx.ring().permutation(group[i].galois_element);
      job.terms.push_back(std::move(term));
      total.numbers.push_back(static_cast<std::uint32_t>(i));
      total.weights.push_back(part(*factors[i]));
    }
    if (plus.data != nullptr) job.factors = rns::product_of(ctx.ring(), e.raised_special, from.primes);
    job.sums.push_back(std::move(total));
    jobs.push_back(std::move(job));
  };
  add([&](const ring::poly& p) { return p.special().slice(e.raised_special); }, {});
  add([&](const ring::poly& p) { return p.special().slice(e.raised_scale); }, input.constant.special());
  add([](const ring::poly& p) { return p.chain(); }, input.constant.chain());
  ctx.device().key_dot(ctx.tables(), jobs);
}

/// With products that are written and read again, of a few rotations: for keys that are seeded.
void raised_transform::add_written(ckks::context& ctx, std::span<const rotation> group,
                                   std::span<const ckks::evaluation_key* const> keys,
                                   std::span<const ring::poly* const> factors, const raised_ciphertext& input,
                                   const partial_sum& sum) const {
  std::vector<poly_pair> rotated;
  std::vector<backend::key_job> jobs;
  rotated.reserve(group.size());  // jobs point to them
  for (std::size_t i = 0; i < group.size(); ++i) {
    rotated.push_back(make_pair(ctx, "raised_transform.rotated"));
    add_products(ctx, group[i].galois_element, *keys[i], input, rotated.back(), jobs);
  }
  ctx.device().key_multiply_accumulate(ctx.tables(), jobs);
  std::vector<backend::dot_job> sums;
  for (const auto component : {&poly_pair::first, &poly_pair::second}) {
    const std::vector<backend::limb_view> to = (sum.products.*component).views();
    for (std::size_t v = 0; v < to.size(); ++v) {
      backend::dot_job job{to[v], {}, {}, sum.begun};
      for (std::size_t i = 0; i < group.size(); ++i) {
        job.a.push_back((rotated[i].*component).views()[v]);
        job.b.push_back(factors[i]->views()[v]);
      }
      sums.push_back(std::move(job));
    }
  }
  ctx.device().dot(ctx.tables(), sums);
}

poly_pair raised_transform::make_pair(ckks::context& ctx, const char* tag) const {
  return ckks::make_pair(ctx, dropped(), parameters_.level(level_).q, object_class::scratch, tag);
}

ciphertext raised_transform::finish(ckks::context& ctx, partial_sum&& sum) const {
  const window chain = parameters_.level(level_).q;
  const ring::poly* const halves[] = {&sum.products.first, &sum.products.second};
  ciphertext result;
  result.parts = rns::divide(ctx.ring(), ctx.converter(), {dropped(), chain, chain, {}}, halves,
                             object_class::ciphertext, "ciphertext");
  result.level = level_;
  result.slots = slots_;
  result.scale = sum.scale;
  result.key = sum.key;
  return result;
}

/// As many as have keys and diagonals that one call may take; within a budget a few where diagonals are
/// expanded.
std::size_t raised_transform::rotations_at_once(const ckks::context& ctx) const {
  const bool limited = ctx.joining_budget() != 0;
  const bool expands = std::ranges::any_of(weights_, [](const weight& each) { return !each.expanded; });
  if (limited && expands) return few_rotations;
  const std::size_t limbs = parameters_.level(level_).q.count + dropped().count;
  const std::size_t diagonal = limbs * (parameters_.n() * parameters_.word_bits() / 8);
  const std::size_t each = (limited ? 3 : 2) * diagonal;  // without a budget, only keys count
  return std::clamp(ckks::key_dot_bytes(ctx) / each, few_rotations, most_rotations);
}

std::vector<ciphertext> raised_transform::apply(ckks::evaluator& eval,
                                                std::span<const raised_ciphertext> inputs) const {
  const backend::scoped_operation named("raised_transform");
  ckks::context& ctx = eval.context();
  std::vector<partial_sum> sums;
  for (const raised_ciphertext& each : inputs) {
    check(eval, each);
    sums.push_back({make_pair(ctx, "raised_transform.sum"), false, each.scale, each.key});
  }
  const std::size_t at_once = rotations_at_once(ctx);
  for (std::size_t first = 0; first < rotations_.size(); first += at_once) {
    const std::span<const rotation> group =
        std::span(rotations_).subspan(first, std::min(at_once, rotations_.size() - first));
    std::vector<ring::poly> diagonals;
    for (std::size_t i = group.front().weight; i <= group.back().weight; ++i) {
      const weight& each = weights_[i];
      diagonals.push_back(each.expanded ? ring::poly() : expand(ctx, each.compact, object_class::scratch));
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) add_group(eval, group, diagonals, inputs[i], sums[i]);
  }
  std::vector<ciphertext> results;
  for (partial_sum& each : sums) results.push_back(finish(ctx, std::move(each)));
  return following_.empty() ? std::move(results) : eval.sum_rotations(ckks::pointers(results), following_);
}

}  // namespace halocline::circuits
