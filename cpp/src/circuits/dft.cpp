// SPDX-License-Identifier: Apache-2.0
#include "halocline/circuits/dft.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "circuits/choice_parts.hpp"
#include "circuits/key_union.hpp"
#include "halocline/backend/scoped_operation.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::circuits {
namespace {

using ckks::ciphertext;
using complex = std::complex<double>;

dft_options completed(const params::parameters& parameters, dft_options options) {
  if (!options.slots) options.slots = static_cast<std::uint32_t>(parameters.slots());
  if (!options.level) options.level = parameters.max_level();
  HALOCLINE_EXPECTS(std::has_single_bit(*options.slots) && *options.slots <= parameters.slots(),
                    invalid_argument, "dft: ", *options.slots, " slots; expected a power of two up to ",
                    parameters.slots());
  HALOCLINE_EXPECTS(parameters.galois_generator() == 5, invalid_argument,
                    "dft: the parameters have the Galois generator ", parameters.galois_generator(),
                    ", whose slots are no Fourier transform in this order; use parameters with generator 5");
  HALOCLINE_EXPECTS(options.parts != dft_parts::packed || *options.slots < parameters.slots(),
                    invalid_argument, "dft: both parts of ", *options.slots, " slots need ",
                    2 * std::uint64_t{*options.slots}, " slots; there are ", parameters.slots(),
                    "; use separate parts");
  HALOCLINE_EXPECTS(options.shares.empty() || options.shares.size() == options.matrices, invalid_argument,
                    "dft: ", options.shares.size(), " shares for ", options.matrices, " matrices");
  HALOCLINE_EXPECTS(options.stages.empty() || options.stages.size() == options.matrices, invalid_argument,
                    "dft: stages of ", options.stages.size(), " matrices for ", options.matrices);
  HALOCLINE_EXPECTS(options.ways.empty() || options.ways.size() == options.matrices, invalid_argument,
                    "dft: ways of ", options.ways.size(), " matrices for ", options.matrices);
  HALOCLINE_EXPECTS(!options.from_raised || (*options.slots >= 4 && options.matrices >= 2), invalid_argument,
                    "dft: a raised first matrix for ", *options.slots, " slots and ", options.matrices,
                    " matrices; expected at least 4 slots and 2 matrices");
  const unsigned levels = options.matrices - (options.from_raised ? 1 : 0);
  HALOCLINE_EXPECTS(*options.level >= levels, level_exhausted, "dft: ", levels,
                    " matrices take a level each, the input is at level ", *options.level, "; ",
                    levels - *options.level, " more are needed");
  return options;
}

std::vector<complex> halves(std::uint32_t slots, complex first, complex second) {
  std::vector<complex> result(2 * std::size_t{slots}, first);
  std::fill(result.begin() + slots, result.end(), second);
  return result;
}

/// The last matrix gives half of w, or (w / 2, -i w / 2) packed: adding the conjugate leaves the real numbers
/// that are wanted.
void split_parts(std::vector<diagonal_map>& matrices, const dft_options& options) {
  if (options.parts == dft_parts::whole) return;
  if (options.parts == dft_parts::packed) {
    matrices.back() = doubled(matrices.back());
    scale_rows(matrices.back(), halves(*options.slots, 0.5, complex(0, -0.5)));
  } else {
    scale_rows(matrices.back(), std::vector<complex>(*options.slots, 0.5));
  }
}

/// The first matrix takes (re, im) for (re, i im): the sum of both halves of the result is the transform of
/// re + i im. Of a message with real slots, a_(2n-j) = -a_j, so twice the real part of the transform of
/// (a_0 / 2, a_1, a_2, ...) is the message.
void join_parts(std::vector<diagonal_map>& matrices, const dft_options& options) {
  if (options.parts == dft_parts::packed) {
    for (diagonal_map& each : matrices) each = doubled(each);
    scale_columns(matrices.front(), halves(*options.slots, 1.0, complex(0, 1)));
  } else if (options.parts == dft_parts::real) {
    std::vector<complex> columns(*options.slots, 1.0);
    columns.front() = 0.5;
    scale_columns(matrices.front(), columns);
  }
}

/// What is rotated between two matrices, so that all but the one that wraps around have diagonals on one side
/// of 0: see `rotation_behind`.
void rotate_between(std::vector<diagonal_map>& matrices, dft_direction direction,
                    std::span<const unsigned> stages) {
  std::int64_t before = 0;
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    const std::int64_t behind = rotation_behind(direction, stages, i);
    diagonal_map rotated;
    for (auto& [index, diagonal] : matrices[i]) {
      const auto slots = static_cast<std::int64_t>(diagonal.size());
      const std::int64_t first = (behind % slots + slots) % slots;
      std::rotate(diagonal.begin(), diagonal.begin() + first, diagonal.end());
      rotated[static_cast<int>((index + behind - before) % slots)] = std::move(diagonal);
    }
    matrices[i] = std::move(rotated);
    before = behind;
  }
}

void check_slots(const ciphertext& value, std::uint32_t slots) {
  HALOCLINE_EXPECTS(value.slots == slots, invalid_argument, "dft: the input has ", value.slots,
                    " slots, the transform was made for ", slots);
}

}  // namespace

std::vector<unsigned> stages_of(dft_direction direction, const dft_options& options) {
  return options.stages.empty() ? dft_stages(direction, *options.slots, options.matrices) : options.stages;
}

std::vector<transform_way> ways_of(const dft_options& options) {
  if (!options.ways.empty()) return options.ways;
  return std::vector<transform_way>(options.matrices, {options.mode, options.baby_count, options.compact});
}

dft_chain::dft_chain(ckks::evaluator& eval, const dft_options& options, dft_direction direction)
    : options_(completed(eval.context().parameters(), options)) {
  const bool to_slots = direction == dft_direction::coeff_to_slot;
  HALOCLINE_EXPECTS(to_slots || !options_.from_raised, invalid_argument,
                    "dft: a raised first matrix of SlotToCoeff; only CoeffToSlot follows ModRaise");
  std::vector<diagonal_map> matrices =
      dft_matrices(direction, *options_.slots, stages_of(direction, options_), options_.factor);
  to_slots ? split_parts(matrices, options_) : join_parts(matrices, options_);
  const params::parameters& parameters = eval.context().parameters();
  std::vector<transform_way> ways = ways_of(options_);
  for (std::size_t i = 0; i < options_.shares.size(); ++i) {
    scale_rows(matrices[i], std::vector<complex>(2 * std::size_t{*options_.slots}, options_.shares[i]));
  }
  rotate_between(matrices, direction, stages_of(direction, options_));
  if (options_.from_raised) {
    raised_.emplace(eval, matrices.front(), *options_.level, ways.front().compact, options_.sum_radix);
    matrices.erase(matrices.begin());
    ways.erase(ways.begin());
  }
  unsigned level = *options_.level;
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    const auto slots = static_cast<std::uint32_t>(matrices[i].begin()->second.size());
    std::vector<int> diagonals;
    for (const auto& [index, diagonal] : matrices[i]) diagonals.push_back(index);
    const transform_shape shape = detail::shape_of(parameters, diagonals, ways[i], level--, slots);
    transforms_.emplace_back(
        eval, matrices[i],
        transform_options{shape.mode, shape.level, slots, shape.baby_count, ways[i].compact, shape.direct});
    matrices[i].clear();
  }
  const bool conjugates = to_slots ? options_.parts != dft_parts::whole : options_.parts == dft_parts::real;
  if (conjugates) extra_keys_.push_back({parameters.conjugation_element(), level});
  if (!to_slots && options_.parts == dft_parts::packed) {
    extra_keys_.push_back({parameters.galois_element(*options_.slots), level});
  }
}

std::vector<ckks::key_request> dft_chain::key_requests() const {
  detail::key_union keys;
  if (raised_) keys.add(raised_->key_requests());
  for (const linear_transform& each : transforms_) keys.add(each.key_requests());
  keys.add(extra_keys_);
  return keys.list();
}

std::size_t dft_chain::bytes() const noexcept {
  std::size_t total = raised_ ? raised_->bytes() : 0;
  for (const linear_transform& each : transforms_) total += each.bytes();
  return total;
}

void dft_chain::apply_all(ckks::evaluator& eval, std::vector<ciphertext>& values) const {
  for (const linear_transform& each : transforms_) {
    for (ciphertext& value : values) {
      // The same values twice are the same polynomial.
      value.slots = std::max(value.slots, each.plan().slots());
      value = each.apply(eval, value);
    }
  }
}

coeff_to_slot::coeff_to_slot(ckks::evaluator& eval, const dft_options& options)
    : dft_chain(eval, options, dft_direction::coeff_to_slot) {}

std::vector<ciphertext> coeff_to_slot::apply(ckks::evaluator& eval, const ciphertext& input) const {
  std::vector<ciphertext> inputs;
  inputs.push_back(ckks::clone(eval.context(), input));
  return std::move(apply_batch(eval, std::move(inputs)).front());
}

std::vector<std::vector<ciphertext>> coeff_to_slot::apply_batch(ckks::evaluator& eval,
                                                                std::vector<ciphertext> inputs) const {
  const backend::scoped_operation named("coeff_to_slot");
  HALOCLINE_EXPECTS(!raised_, invalid_argument,
                    "coeff_to_slot: made for raised ciphertexts under the sparse secret; use apply_raised");
  for (const ciphertext& each : inputs) check_slots(each, *options_.slots);
  return split(eval, std::move(inputs));
}

std::vector<std::vector<ciphertext>> coeff_to_slot::apply_raised(
    ckks::evaluator& eval, std::span<const ckks::raised_ciphertext> inputs) const {
  const backend::scoped_operation named("coeff_to_slot");
  HALOCLINE_EXPECTS(raised_, invalid_argument,
                    "coeff_to_slot: not made for raised ciphertexts; expected dft_options::from_raised");
  return split(eval, raised_->apply(eval, inputs));
}

/// The matrices that take levels, and both parts of the result.
std::vector<std::vector<ciphertext>> coeff_to_slot::split(ckks::evaluator& eval,
                                                          std::vector<ciphertext> inputs) const {
  apply_all(eval, inputs);
  std::vector<std::vector<ciphertext>> results(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ciphertext half = std::move(inputs[i]);
    if (options_.parts == dft_parts::whole) {
      results[i].push_back(ckks::clone(eval.context(), half));
      continue;
    }
    const ciphertext mirrored = eval.conjugate(half);
    results[i].push_back(eval.add(half, mirrored));
    if (options_.parts == dft_parts::separate) {
      results[i].push_back(eval.multiply_by_i(eval.sub(mirrored, half)));
    }
  }
  return results;
}

slot_to_coeff::slot_to_coeff(ckks::evaluator& eval, const dft_options& options)
    : dft_chain(eval, options, dft_direction::slot_to_coeff) {}

ciphertext slot_to_coeff::apply(ckks::evaluator& eval, std::span<const ciphertext> parts) const {
  std::vector<std::vector<ciphertext>> inputs(1);
  for (const ciphertext& each : parts) inputs.front().push_back(ckks::clone(eval.context(), each));
  return std::move(apply_batch(eval, std::move(inputs)).front());
}

std::vector<ciphertext> slot_to_coeff::apply_batch(ckks::evaluator& eval,
                                                   std::vector<std::vector<ciphertext>> inputs) const {
  const backend::scoped_operation named("slot_to_coeff");
  const std::size_t expected = options_.parts == dft_parts::separate ? 2 : 1;
  std::vector<ciphertext> joined;
  for (std::vector<ciphertext>& parts : inputs) {
    HALOCLINE_EXPECTS(parts.size() == expected, invalid_argument, "slot_to_coeff: ", parts.size(),
                      " ciphertexts; it was made for ", expected);
    for (const ciphertext& each : parts) check_entering(each);
    joined.push_back(expected == 2 ? eval.add(parts[0], eval.multiply_by_i(parts[1]))
                                   : std::move(parts.front()));
    parts.clear();
  }
  return apply_joined(eval, std::move(joined));
}

std::vector<ciphertext> slot_to_coeff::apply_joined(ckks::evaluator& eval,
                                                    std::vector<ciphertext> results) const {
  const backend::scoped_operation named("slot_to_coeff");
  for (const ciphertext& each : results) check_entering(each);
  apply_all(eval, results);
  for (ciphertext& each : results) {
    if (options_.parts == dft_parts::real) each = eval.add(each, eval.conjugate(each));
    if (options_.parts == dft_parts::packed) each = eval.add(each, eval.rotate(each, *options_.slots));
    each.slots = *options_.slots;
  }
  return results;
}

void slot_to_coeff::check_entering(const ciphertext& each) const {
  const bool packed = options_.parts == dft_parts::packed;
  check_slots(each, packed ? 2 * *options_.slots : *options_.slots);
}

}  // namespace halocline::circuits
