// SPDX-License-Identifier: Apache-2.0
// What a bootstrapper does with ciphertexts.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "circuits/mode_scope.hpp"
#include "halocline/backend/scoped_operation.hpp"
#include "halocline/circuits/bootstrap.hpp"
#include "halocline/circuits/dft.hpp"
#include "halocline/circuits/mod1.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/scales.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::circuits {
namespace {

using ckks::ciphertext;

/// Factor by which a scale may be off.
constexpr double largest_drift = 2.0;

}  // namespace

void bootstrapper::require_keys(ckks::evaluator& eval) const {
  std::string missing;
  for (const ckks::key_request& each : key_requests()) {
    if (eval.keys().contains(each.galois_element, each.level)) continue;
    missing += missing.empty() ? "" : ", ";
    missing += text(ckks::describe_key(parameters_, each.galois_element), " up to level ", each.level);
  }
  if (missing.empty()) return;
  throw missing_key(text("bootstrap: missing: ", missing,
                         "; generate the keys that key_requests() lists, with their levels"));
}

/// A copy of the input at the level and about the scale with which it enters.
ciphertext bootstrapper::prepared(ckks::evaluator& eval, const ciphertext& input) const {
  ckks::check(eval.context(), input, "bootstrap");
  HALOCLINE_EXPECTS(eval.context().parameters() == parameters_, invalid_argument,
                    "bootstrap: made for other parameters");
  HALOCLINE_EXPECTS(input.parts.size() == 2, invalid_argument, "bootstrap: the input has ",
                    input.parts.size(), " components; relinearize it first");
  HALOCLINE_EXPECTS(input.slots == slots(), invalid_argument, "bootstrap: the input has ", input.slots,
                    " slots, the bootstrapper was made for ", slots());
  const unsigned level = input_level();
  HALOCLINE_EXPECTS(input.level >= level, level_exhausted, "bootstrap: SlotToCoeff comes first and takes ",
                    level, " levels, the input is at level ", input.level, "; ", level - input.level,
                    " more are needed: bootstrap earlier");
  const double canonical = parameters_.level(level).scale;
  if (input.level > level) return eval.adjust(input, level, canonical);
  const double drift = input.scale / canonical;
  HALOCLINE_EXPECTS(drift <= largest_drift && drift >= 1 / largest_drift, scale_mismatch,
                    "bootstrap: the input has scale 2^", std::log2(input.scale), " at level ", level,
                    ", the canonical one is 2^", std::log2(canonical),
                    "; expected one within a factor of 2: rescale or adjust it");
  return ckks::clone(eval.context(), input);
}

/// ModRaise, and the sum over all rotations that leave the slots of a sparse message alone.
bootstrapper::ciphertexts bootstrapper::raised(ckks::evaluator& eval, const ciphertexts& inputs) const {
  ciphertexts result = eval.mod_raise(ckks::pointers(inputs), raised_level_);
  const std::vector<ckks::rotation_stage> stages = sums(*options_.transforms.sum_radix);
  if (!stages.empty()) result = eval.sum_rotations(ckks::pointers(result), stages);
  // From here on the message is its integer coefficients over the canonical scale.
  for (ciphertext& each : result) each.scale = parameters_.level(raised_level_).scale;
  return result;
}

/// ModRaise and CoeffToSlot.
std::vector<bootstrapper::ciphertexts> bootstrapper::slots_of(ckks::evaluator& eval,
                                                              ciphertexts inputs) const {
  if (!options_.transforms.from_sparse) return cts_->apply_batch(eval, raised(eval, inputs));
  std::vector<ckks::raised_ciphertext> sparse = eval.raise_sparse(ckks::pointers(inputs), raised_level_);
  inputs.clear();
  for (ckks::raised_ciphertext& each : sparse) each.scale = parameters_.level(raised_level_).scale;
  return cts_->apply_raised(eval, sparse);
}

/// EvalMod of all parts, as many at once as the options say, and the sum of each real part and i times its
/// imaginary one. The factor is part of the constants of EvalMod: only parts with equal ones go together.
bootstrapper::ciphertexts bootstrapper::take_integers_off(ckks::evaluator& eval,
                                                          std::vector<ciphertexts> parts,
                                                          std::span<const double> factors) const {
  ciphertexts results;
  for (std::size_t first = 0; first < parts.size();) {
    std::vector<const ciphertext*> equal;
    std::size_t end = first;
    for (; end < parts.size() && factors[end] == factors[first]; ++end) {
      // No more than are needed to fill what goes together: all have results before their sum.
      if (end > first && equal.size() + parts[end].size() > *options_.eval_mod.together) break;
      for (const ciphertext& part : parts[end]) equal.push_back(&part);
    }
    ciphertexts made = parts[first].size() == 2
                           ? mod1_->evaluate_complex(eval, equal, factors[first], *options_.eval_mod.together)
                           : mod1_->evaluate(eval, equal, factors[first]);
    for (ciphertext& each : made) {
      // Lowered levels have the primes of the levels of messages below them.
      each.level = message_level_;
      each.scale = parameters_.level(message_level_).scale;
      parts[first++].clear();
      results.push_back(std::move(each));
    }
  }
  return results;
}

bootstrapper::ciphertexts bootstrapper::once(ckks::evaluator& eval, const ciphertexts& inputs) const {
  // After CoeffToSlot a slot is x / divisor(), x = I + a coefficient of the message times a fraction, which
  // EvalMod divides by again.
  std::vector<double> factors;
  ciphertexts entering;
  for (const ciphertext& each : inputs) {
    entering.push_back(joins() ? eval.multiply_constant(each, enlarged_) : ckks::clone(eval.context(), each));
    const double drift = each.scale / parameters_.level(each.level).scale;
    factors.push_back(reduced_ / (unit_fraction() * drift));
    entering.back().scale = parameters_.level(each.level).scale;
  }
  if (!joins()) {
    std::vector<ciphertexts> whole(entering.size());
    for (std::size_t i = 0; i < entering.size(); ++i) whole[i].push_back(std::move(entering[i]));
    entering = stc_->apply_batch(eval, std::move(whole));
  }
  std::vector<ciphertexts> parts = slots_of(eval, std::exchange(entering, {}));
  ciphertexts results = take_integers_off(eval, std::move(parts), factors);
  if (joins()) return stc_->apply_joined(eval, std::move(results));
  for (ciphertext& each : results) {
    if (!unpack_) break;
    each = unpack_->apply(eval, each);
    each.slots = slots();
  }
  return results;
}

/// Meta-BTS: bootstraps what the results are off by, enlarged, and adds it. Every summand is brought down by
/// itself, in one step from its own scale, so that neither its scale nor its factor is rounded coarsely.
void bootstrapper::refine(ckks::evaluator& eval, const ciphertexts& inputs, ciphertexts& results) const {
  const double step = std::exp2(*options_.iterations.bits);
  const double canonical = parameters_.level(output_level()).scale;
  ciphertexts rests;
  ciphertexts sums;
  for (std::size_t j = 0; j < inputs.size(); ++j) {
    rests.push_back(ckks::clone(eval.context(), inputs[j]));
    sums.push_back(eval.adjust(results[j], output_level(), canonical));
  }
  for (unsigned i = 1; i < options_.iterations.count; ++i) {
    ciphertexts enlarged;
    for (std::size_t j = 0; j < inputs.size(); ++j) {
      rests[j] = eval.sub(rests[j], eval.adjust(results[j], inputs[j].level, inputs[j].scale));
      enlarged.push_back(ckks::clone(eval.context(), rests[j]));
      for (double left = std::exp2(i * *options_.iterations.bits); left > 1; left /= std::min(left, 0x1p20)) {
        enlarged[j] = eval.multiply_constant(enlarged[j], std::min(left, 0x1p20));
      }
    }
    results = once(eval, enlarged);
    for (std::size_t j = 0; j < inputs.size(); ++j) {
      const double scale = canonical / results[j].scale *
                           static_cast<double>(ckks::rescale_ratio(parameters_, results[j].level));
      const double part = std::pow(step, -static_cast<double>(i));
      sums[j] = eval.add(sums[j], eval.rescale(eval.multiply_constant_raw(results[j], part, scale)));
      results[j].scale /= part;
    }
  }
  results = std::move(sums);
}

ciphertext bootstrapper::bootstrap(ckks::evaluator& eval, const ciphertext& input) const {
  const ciphertext* const inputs[] = {&input};
  return std::move(bootstrap(eval, inputs).front());
}

bootstrapper::ciphertexts bootstrapper::bootstrap(ckks::evaluator& eval,
                                                  std::span<const ciphertext* const> inputs) const {
  const backend::scoped_operation named("bootstrap");
  require_keys(eval);
  const detail::mode_scope automatic(eval, ckks::maintenance::automatic);
  ciphertexts entering;
  for (const ciphertext* each : inputs) entering.push_back(prepared(eval, *each));
  ciphertexts results = once(eval, entering);
  if (options_.iterations.count > 1) refine(eval, entering, results);
  return results;
}

}  // namespace halocline::circuits
