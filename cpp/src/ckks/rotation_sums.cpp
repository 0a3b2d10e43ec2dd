// SPDX-License-Identifier: Apache-2.0
// Sums of rotations. A stage decomposes once, multiplies with all of its keys and adds up the rotated
// products over special + chain primes. Only the second component is divided by P between stages, as it is to
// be decomposed again; the first one joins the products undivided.
#include "halocline/ckks/rotation_sums.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <set>
#include <utility>

#include "ckks/evaluator_detail.hpp"
#include "halocline/backend/scoped_operation.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/evaluator.hpp"
#include "halocline/ckks/key_switch.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/rns/mod_down.hpp"

namespace halocline::ckks {
namespace {

using memory::object_class;

constexpr const char* operation = "sum_rotations";
constexpr const char* sum_tag = "sum_rotations.sum";

/// Galois elements of a stage but that of the operand itself.
struct stage_elements {
  std::vector<std::uint64_t> turned;
  bool itself = false;
};

stage_elements elements_of(const params::parameters& parameters, const rotation_stage& stage) {
  HALOCLINE_EXPECTS(!stage.empty(), invalid_argument, operation, ": no rotations; expected at least one");
  stage_elements result;
  std::set<std::uint64_t> seen;
  for (const std::int64_t step : stage) {
    const std::uint64_t element = parameters.galois_element(step);
    HALOCLINE_EXPECTS(seen.insert(element).second, invalid_argument, operation, ": the rotation by ", step,
                      " is there twice; expected different ones: multiply the result of one");
    if (element == 1) {
      result.itself = true;
    } else {
      result.turned.push_back(element);
    }
  }
  return result;
}

/// The sum so far: a ciphertext, and after a stage its components times P over special + chain primes.
class running_sum {
 public:
  running_sum(context& ctx, const ciphertext& input)
      : ctx_(ctx), input_(input), chain_(ctx.parameters().level(input.level).q), key_(input.key) {}

  void apply(key_set& keys, const stage_elements& stage) {
    if (stage.turned.empty()) return;
    std::vector<switch_term> terms;
    for (const std::uint64_t element : stage.turned) {
      terms.push_back({&matching_key(keys, element, input_.level, key_, operation), element});
    }
    if (!total_.first) {
      begin(terms, stage.itself);
    } else {
      go_on(terms, stage.itself);
    }
  }

  [[nodiscard]] ciphertext finish() && {
    if (!total_.first) return clone(ctx_, input_);
    const auto total = std::exchange(total_, {});  // a batch has one for each ciphertext until it is divided
    ciphertext result;
    result.parts = finish_switch(ctx_, total, input_.level, input_.level);
    result.level = input_.level;
    result.scale = input_.scale;
    result.slots = input_.slots;
    result.key = key_;
    return result;
  }

 private:
  [[nodiscard]] ring::poly make_poly() const {
    return {ctx_.ring(), ctx_.parameters().special_window(), chain_, object_class::scratch, sum_tag};
  }

  void begin(std::span<const switch_term> terms, bool itself) {
    total_ = {make_poly(), make_poly()};
    const switch_source source{detail::part(input_, 1), detail::part(input_, 0)};
    switch_sum(ctx_, source, terms, total_, false);
    if (!itself) return;
    add_times_special(ctx_, total_, detail::part(input_, 0), detail::part(input_, 1));
  }

  /// The products are added to the second component where it lies: what is read of it was divided before.
  void go_on(std::span<const switch_term> terms, bool itself) {
    const rns::division step{ctx_.parameters().special_window(), chain_, chain_, {}};
    const ring::poly* const second[] = {&total_.second};
    const std::vector<ring::poly> divided =
        rns::divide(ctx_.ring(), ctx_.converter(), step, second, object_class::scratch, sum_tag);
    ring::poly first = make_poly();
    if (itself) {
      std::vector<backend::unary_job> copies;
      for (std::size_t i = 0; i < first.views().size(); ++i) {
        copies.push_back({first.views()[i], total_.first.views()[i]});
      }
      ctx_.device().copy(ctx_.tables(), copies);
    }
    const ring::poly before = std::exchange(total_.first, std::move(first));
    switch_source source{divided.front().chain()};
    source.extended0 = &before;
    switch_sum(ctx_, source, terms, total_, itself);
  }

  context& ctx_;
  const ciphertext& input_;
  arith::window chain_;
  key_id key_;
  poly_pair total_;
};

}  // namespace

std::vector<rotation_stage> sum_stages(std::int64_t stride, std::uint32_t count, unsigned radix) {
  HALOCLINE_EXPECTS(std::has_single_bit(count), invalid_argument, "sum of rotations: a count of ", count,
                    "; expected a power of two: inner_sum with radix 2 sums any number");
  HALOCLINE_EXPECTS(radix >= 2 && std::has_single_bit(radix), invalid_argument, "sum of rotations: radix ",
                    radix, "; expected a power of two from 2 on");
  HALOCLINE_EXPECTS(stride > std::numeric_limits<std::int64_t>::min() / count &&
                        stride < std::numeric_limits<std::int64_t>::max() / count,
                    invalid_argument, "sum of rotations: a stride of ", stride, " is too large");
  const unsigned bits = std::countr_zero(count), most = std::countr_zero(radix);
  const unsigned number = (bits + most - 1) / most;
  std::vector<rotation_stage> stages(number);
  for (unsigned i = 0; i < number; ++i) {
    const std::int64_t taken = std::int64_t{1} << (bits / number + (i < bits % number ? 1 : 0));
    for (std::int64_t each = 0; each < taken; ++each) stages[i].push_back(stride * each);
    stride *= taken;
  }
  return stages;
}

std::vector<key_request> keys_of(const params::parameters& parameters, std::span<const rotation_stage> stages,
                                 unsigned level) {
  std::set<std::uint64_t> elements;
  for (const rotation_stage& stage : stages) {
    for (const std::uint64_t each : elements_of(parameters, stage).turned) elements.insert(each);
  }
  std::vector<key_request> result;
  for (const std::uint64_t each : elements) result.push_back({each, level});
  return result;
}

ciphertext evaluator::sum_rotations(const ciphertext& a, std::span<const std::int64_t> steps) {
  const rotation_stage stage(steps.begin(), steps.end());
  const ciphertext* const one[] = {&a};
  return detail::only(sum_rotations(one, {&stage, 1}));
}

std::vector<ciphertext> evaluator::sum_rotations(ciphertext_span many,
                                                 std::span<const rotation_stage> stages) {
  const backend::scoped_operation named(operation);
  std::vector<running_sum> sums;
  for (const ciphertext* each : many) {
    check(ctx_, *each, operation);
    HALOCLINE_EXPECTS(each->parts.size() == 2, invalid_argument, operation, ": the ciphertext has ",
                      each->parts.size(), " components; relinearize it first");
    sums.emplace_back(ctx_, *each);
  }
  for (const rotation_stage& stage : stages) {
    const stage_elements elements = elements_of(ctx_.parameters(), stage);
    for (running_sum& each : sums) each.apply(keys_, elements);
  }
  std::vector<ciphertext> results;
  for (running_sum& each : sums) results.push_back(std::move(each).finish());
  return results;
}

ciphertext evaluator::inner_sum(const ciphertext& a, std::int64_t stride, std::uint32_t count,
                                unsigned radix) {
  if (radix == 2) return inner_sum(a, stride, count);
  const backend::scoped_operation named("inner_sum");
  const ciphertext* const one[] = {&a};
  return detail::only(sum_rotations(one, sum_stages(stride, count, radix)));
}

}  // namespace halocline::ckks
