// SPDX-License-Identifier: Apache-2.0
#include "halocline/circuits/bootstrap.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <iterator>
#include <numbers>
#include <utility>

#include "circuits/bootstrap_choice.hpp"
#include "circuits/key_union.hpp"
#include "circuits/switch_work.hpp"
#include "halocline/circuits/dft.hpp"
#include "halocline/circuits/mod1.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/scales.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/params/raise_range.hpp"

namespace halocline::circuits {
namespace {

/// Stages of the transforms in one matrix of sparse messages: 31 diagonals.
constexpr unsigned stages_per_matrix = 4;
/// Up to 2^11 slots the first, raised matrix does nothing but a part of the sum: rotations of the sum are
/// then as cheap as one diagonal, and worth more than smaller matrices behind.
constexpr unsigned most_stages_behind_sum = 11;
/// Most ciphertexts that go through EvalMod together. Far fewer fill any device; each needs memory.
constexpr unsigned most_together = 64;
/// Largest radix of the sum. Beyond 8, keys cost more than decompositions save.
constexpr unsigned most_radix = 64;
/// A raised matrix is followed by rotations that are summed, whose key switches add noise: its result loses
/// least when its entries are so many bits larger than those of other matrices, measured with `n16-boot`.
constexpr double sum_noise_bits = 10;
/// Defaults of `bootstrap_eval_mod::fraction`. A slot of magnitude 1 may be 2^-13 of Q_0: the sine is off by
/// 2^-23 there, about as much as noise is. Coefficients reach their bound rarely and may be larger.
constexpr double fraction_of_coefficients = 0x1p-10;
constexpr double fraction_of_slots = 0x1p-13;
/// Bits between what a bootstrap is forecast to reach and what the next one of an iteration relies on.
constexpr unsigned iteration_margin = 4;

const params::bootstrap_literal& levels_of(const params::parameters& parameters) {
  HALOCLINE_EXPECTS(
      parameters.bootstrapping(), invalid_argument, "bootstrap: parameters \"", parameters.name(),
      "\" have no levels for bootstrapping; expected a set that has, such as the preset n16-boot");
  return *parameters.bootstrapping();
}

/// Stages of CoeffToSlot from the sparse secret, for messages of few slots: none in the first matrix.
std::vector<unsigned> stages_behind_sum(const params::parameters& parameters,
                                        const bootstrap_options& options) {
  const unsigned matrices = *options.transforms.cts_levels;
  const auto stages = static_cast<unsigned>(std::bit_width(*options.slots)) - 1;
  const bool few = *options.slots < parameters.slots() && stages <= most_stages_behind_sum &&
                   matrices <= stages && stages <= matrices * stages_per_matrix;
  if (!few) return {};
  std::vector<unsigned> result = dft_stages(dft_direction::coeff_to_slot, *options.slots, matrices);
  result.insert(result.begin(), 0);
  return result;
}

/// Checks the options of the first matrix of CoeffToSlot, and chooses its stages.
void complete_first_matrix(const params::parameters& parameters, bootstrap_options& options) {
  bootstrap_transforms& transforms = options.transforms;
  const std::vector<unsigned>& given = transforms.cts_stages;
  const std::size_t matrices = *transforms.cts_levels + (transforms.from_sparse ? 1 : 0);
  HALOCLINE_EXPECTS(given.empty() || given.size() == matrices, invalid_argument, "bootstrap: stages of ",
                    given.size(), " matrices of CoeffToSlot; expected those of ", matrices);
  if (!transforms.from_sparse) return;
  parameters.require_raised_keys("bootstrap with from_sparse");
  HALOCLINE_EXPECTS(*options.slots >= 4, invalid_argument, "bootstrap: from_sparse with ", *options.slots,
                    " slots; expected at least 4, for two matrices: leave it out");
  if (given.empty()) transforms.cts_stages = stages_behind_sum(parameters, options);
}

void check_radix(std::optional<unsigned> radix) {
  HALOCLINE_EXPECTS(!radix || (*radix >= 2 && *radix <= most_radix && std::has_single_bit(*radix)),
                    invalid_argument, "bootstrap: sum_radix ", *radix, "; expected a power of two from 2 to ",
                    most_radix);
}

/// Replaces default options by values, and checks the options that do not depend on EvalMod.
bootstrap_options completed(const params::parameters& parameters, bootstrap_options options) {
  const params::bootstrap_literal& made_for = levels_of(parameters);
  const std::uint32_t slots = options.slots.value_or(static_cast<std::uint32_t>(parameters.slots()));
  HALOCLINE_EXPECTS(std::has_single_bit(slots) && slots <= parameters.slots(), invalid_argument,
                    "bootstrap: ", slots, " slots; expected a power of two up to ", parameters.slots());
  options.slots = slots;
  // Few slots need few diagonals; the levels of the parameters are meant for full slots.
  const auto stages = static_cast<unsigned>(std::bit_width(slots)) - 1;
  const unsigned enough = slots < parameters.slots()
                              ? std::max(1u, (stages + stages_per_matrix - 1) / stages_per_matrix)
                              : stages;
  bootstrap_transforms& transforms = options.transforms;
  if (!transforms.cts_levels) transforms.cts_levels = std::min(enough, made_for.coeff_to_slot.levels);
  if (!transforms.stc_levels) transforms.stc_levels = std::min(enough, made_for.slot_to_coeff_levels);
  HALOCLINE_EXPECTS(*transforms.cts_levels >= 1 && *transforms.stc_levels >= 1, invalid_argument,
                    "bootstrap: ", *transforms.cts_levels, " levels of CoeffToSlot and ",
                    *transforms.stc_levels,
                    " of SlotToCoeff; expected at least 1 of each, or none given to have them chosen");
  HALOCLINE_EXPECTS(*transforms.stc_levels <= parameters.max_level(), level_exhausted,
                    "bootstrap: SlotToCoeff takes ", *transforms.stc_levels, " levels; the parameters have ",
                    parameters.max_level(), " for messages; ",
                    *transforms.stc_levels - parameters.max_level(), " more are needed");
  HALOCLINE_EXPECTS(options.iterations.count >= 1 && options.iterations.bits != 0U, invalid_argument,
                    "bootstrap: ", options.iterations.count, " iterations of ",
                    options.iterations.bits.value_or(1), " bits; expected 1 or more of both");
  bootstrap_eval_mod& mod = options.eval_mod;
  if (!mod.fraction) {
    mod.fraction = options.order == bootstrap_order::cts_first ? fraction_of_coefficients : fraction_of_slots;
  }
  HALOCLINE_EXPECTS(mod.message_bound > 0 && *mod.fraction > 0 && *mod.fraction <= 0.2, invalid_argument,
                    "bootstrap: message bound ", mod.message_bound, ", fraction ", *mod.fraction,
                    "; expected a positive bound and a fraction up to 0.2");
  HALOCLINE_EXPECTS(!mod.together || (*mod.together >= 1 && *mod.together <= most_together), invalid_argument,
                    "bootstrap: ", *mod.together, " ciphertexts in EvalMod together; expected 1 to ",
                    most_together);
  check_radix(options.transforms.sum_radix);
  complete_first_matrix(parameters, options);
  return options;
}

/// Q_0 over the scale of level 0: what 1 in a coefficient is smaller than the modulus by.
double message_ratio(const params::parameters& parameters) {
  return parameters.base_modulus() / parameters.level(0).scale;
}

/// log2 of the entries that a matrix has before its share, at the scale with which it is encoded.
double entry_bits(const params::parameters& parameters, const dft_options& made, dft_direction direction,
                  unsigned matrix) {
  // Towards the slots every stage halves.
  const unsigned halvings =
      direction == dft_direction::coeff_to_slot ? stages_of(direction, made)[matrix] : 0;
  // A raised matrix has a larger scale, which needs no larger entries: its result would only be smaller, and
  // lose more to rounding. It counts as if it had the scale of its level.
  const unsigned level = *made.level - (made.from_raised && matrix > 0 ? matrix - 1 : matrix);
  const double scale = ckks::matching_plain_scale(parameters, level, parameters.level(level).scale);
  const bool sums = made.from_raised && matrix == 0 && *made.slots < parameters.slots();
  return std::log2(scale) - halvings - (sums ? sum_noise_bits : 0.0);
}

/// Shares of a factor with which all matrices have entries of the same size in their encodings, so that no
/// matrix dominates the rounding error; a raised matrix has a share of 1 at most.
std::vector<double> even_shares(const params::parameters& parameters, const dft_options& made,
                                dft_direction direction, double factor) {
  std::vector<double> bits;
  double even = std::log2(factor);
  for (unsigned i = 0; i < made.matrices; ++i) {
    bits.push_back(entry_bits(parameters, made, direction, i));
    even += bits.back();
  }
  even /= made.matrices;
  for (double& each : bits) each = std::exp2(even - each);
  if (made.from_raised && bits.front() > 1) {  // larger entries would not fit their scale
    const double others = std::pow(bits.front(), 1.0 / (made.matrices - 1));
    for (double& each : bits) each *= others;
    bits.front() = 1;
  }
  return bits;
}

/// Relative error that rounding the entries of all matrices causes: sqrt(N / 12) in a slot of each diagonal.
double rounding_of_entries(const params::parameters& parameters, const dft_options& made,
                           dft_direction direction) {
  const unsigned last = made.matrices - 1;  // not a raised one
  const double bits = entry_bits(parameters, made, direction, last) + std::log2(made.shares[last]);
  return std::sqrt(static_cast<double>(parameters.n() * made.matrices) / 12.0) * std::exp2(-bits);
}

/// Error of a slot after a rescale: the fractions of coefficients, times the secret.
double rounding_noise(const params::parameters& parameters) {
  const params::secret_distribution& secret = parameters.secret();
  const auto n = static_cast<double>(parameters.n());
  const double weight = secret.kind == params::secret_kind::sparse ? secret.hamming_weight : 2.0 * n / 3.0;
  return std::sqrt(n * (weight + 1) / 12.0);
}

detail::chain_shape shape_of(dft_direction direction, const dft_options& made) {
  const bool packed = made.parts == dft_parts::packed;
  return {direction, *made.slots, stages_of(direction, made), *made.level, made.from_raised, packed};
}

}  // namespace

bootstrapper::bootstrapper(ckks::evaluator& eval, const bootstrap_options& options)
    : options_(completed(eval.context().parameters(), options)), parameters_(eval.context().parameters()) {
  if (!options_.eval_mod.together) options_.eval_mod.together = eval.context().cache_bytes() != 0 ? 2 : 1;
  choose_mod1(parameters_);
  choose_levels();
  if (options_.transforms.memory_bytes && options_.transforms.cts_ways.empty() &&
      options_.transforms.stc_ways.empty()) {
    choose_transforms();
  }
  options_.transforms.sum_radix = usual_radix();
  make_transforms(eval);
  if (!options_.iterations.bits) {
    const double reached = forecast().worst_bits;
    options_.iterations.bits = static_cast<unsigned>(std::max(1.0, std::floor(reached) - iteration_margin));
  }
  const double step = options_.iterations.count > 1 ? parameters_.level(output_level() + 1).log2_modulus -
                                                          parameters_.level(output_level()).log2_modulus
                                                    : HUGE_VAL;
  HALOCLINE_EXPECTS((options_.iterations.count - 1) * *options_.iterations.bits + 8 <= step, invalid_argument,
                    "bootstrap: ", options_.iterations.count, " iterations of ", *options_.iterations.bits,
                    " bits; messages have a scale of 2^", step,
                    ", which is not worth more than one at a time: take fewer iterations or bits");
}

/// Whether the real and the imaginary parts of sparse messages go through EvalMod in one ciphertext, although
/// SlotToCoeff, which would join them, comes first. A matrix joins them behind EvalMod, and takes a level:
/// only where results are asked for that leave it.
bool bootstrapper::unpacks() const noexcept {
  if (joins() || options_.real_only || slots() == parameters_.slots() || !options_.output_level) return false;
  return *options_.output_level + (options_.iterations.count > 1 ? 1 : 0) < parameters_.max_level();
}

/// Levels that a bootstrap takes of what EvalMod gives.
unsigned bootstrapper::levels_after() const noexcept {
  return (joins() ? stc_levels() : 0) + (unpacks() ? 1 : 0) + (options_.iterations.count > 1 ? 1 : 0);
}

void bootstrapper::choose_levels() {
  const unsigned highest = parameters_.max_level();
  const unsigned needed = mod1_->levels() + cts_levels();
  HALOCLINE_EXPECTS(highest + needed <= parameters_.top_level(), level_exhausted, "bootstrap: EvalMod takes ",
                    mod1_->levels(), " levels and CoeffToSlot ", cts_levels(), "; the parameters have ",
                    parameters_.top_level() - highest, " for both, ",
                    highest + needed - parameters_.top_level(), " more are needed");
  HALOCLINE_EXPECTS(levels_after() <= highest, level_exhausted,
                    "bootstrap: iterations take a level more than the parameters have");
  const unsigned most = highest - levels_after() + (unpacks() ? 1 : 0);
  const unsigned wanted = options_.output_level.value_or(most);
  // Below, a bootstrap gives no level that its input does not have.
  const unsigned least = input_level() + 1;
  HALOCLINE_EXPECTS(wanted <= most && (!options_.output_level || wanted >= least), invalid_argument,
                    "bootstrap: results of level ", wanted, " requested; expected ", least, " to ", most,
                    ", or no output_level for the most");
  const auto offset = parameters_.lowered_offset(wanted + levels_after());
  HALOCLINE_EXPECTS(offset.has_value(), invalid_argument, "bootstrap: results of level ", wanted,
                    " requested; parameters \"", parameters_.name(), "\" have no lowered levels for that: ",
                    parameters_.word_bits() == 64
                        ? "with 64-bit words each level has its own prime of its own size"
                        : "their primes make no levels of that size",
                    "; expected level ", most, ": leave output_level out, or choose 32-bit words");
  options_.output_level = wanted;
  message_level_ = wanted + levels_after();
  offset_ = *offset;
  raised_level_ = offset_ + message_level_ + needed;
}

void bootstrapper::choose_mod1(const params::parameters& parameters) {
  const unsigned weight = params::raise_weight(parameters);
  const std::size_t coefficients = 2 * std::size_t{slots()};
  if (!options_.eval_mod.range) {
    options_.eval_mod.range = params::overflow_range(weight, options_.eval_mod.log2_failure, coefficients);
  }
  log2_failure_ = params::log2_overflow_probability(weight, *options_.eval_mod.range, coefficients);
  HALOCLINE_EXPECTS(
      options_.eval_mod.allow_failure || log2_failure_ <= std::min(options_.eval_mod.log2_failure, -32.0),
      invalid_argument, "bootstrap: some coefficient leaves the range ", *options_.eval_mod.range,
      " of EvalMod with a probability of 2^", log2_failure_, "; expected at most 2^",
      std::min(options_.eval_mod.log2_failure, -32.0), "; choose a larger range, or allow it");
  mod1_options made;
  made.range = *options_.eval_mod.range;
  const double room =
      *options_.eval_mod.fraction * message_ratio(parameters) / options_.eval_mod.message_bound;
  // Primes miss the powers of two that were asked for: a quarter of a bit is allowed for that. SlotToCoeff
  // has the factor in its matrices, so the message may become smaller as well.
  const double least = options_.order == bootstrap_order::stc_first ? -20.0 : 0.0;
  enlarged_ = std::exp2(std::clamp(std::floor(std::log2(room) + 0.25), least, 20.0));
  made.fraction = unit_fraction() * options_.eval_mod.message_bound;
  HALOCLINE_EXPECTS(
      made.fraction < 0.25, invalid_argument, "bootstrap: a coefficient of ", options_.eval_mod.message_bound,
      " is ", made.fraction,
      " of the modulus Q_0; expected less than a quarter: choose parameters with a larger base, or "
      "smaller messages");
  made.tolerance = options_.eval_mod.tolerance;
  made.max_levels = levels_of(parameters).eval_mod.levels;
  made.double_angles = options_.eval_mod.double_angles;
  made.arcsine_degree = options_.eval_mod.arcsine_degree;
  mod1_ = std::make_shared<const circuits::mod1>(made);
}

/// CoeffToSlot but for its shares.
dft_options bootstrapper::cts_options() const {
  const bool packs = slots() < parameters_.slots() && (joins() || unpacks());
  const bootstrap_transforms& transforms = options_.transforms;
  dft_options made;
  made.slots = slots();
  made.level = raised_level_;
  made.from_raised = transforms.from_sparse;
  made.matrices = cts_levels() + (made.from_raised ? 1 : 0);
  made.stages = transforms.cts_stages;
  made.parts = options_.real_only ? dft_parts::real : packs ? dft_parts::packed : dft_parts::separate;
  made.mode = transforms.cts_mode;
  made.compact = transforms.compact;
  made.baby_count = transforms.baby_count;
  made.ways = transforms.cts_ways;
  made.sum_radix = transforms.sum_radix;
  return made;
}

/// SlotToCoeff but for its shares. Where it follows EvalMod, it joins the parts that CoeffToSlot gave.
dft_options bootstrapper::stc_options() const {
  dft_options made = cts_options();
  made.level = joins() ? message_level_ : stc_levels();
  made.from_raised = false;
  made.matrices = stc_levels();
  made.stages.clear();
  if (!joins()) made.parts = dft_parts::whole;
  made.mode = options_.transforms.stc_mode;
  made.ways = options_.transforms.stc_ways;
  return made;
}

/// The radix of the sum where nothing else decides.
unsigned bootstrapper::usual_radix() const {
  const bootstrap_transforms& transforms = options_.transforms;
  const auto copies = static_cast<std::uint32_t>(parameters_.slots() / slots());
  const bool few_keys = transforms.cts_mode == transform_mode::small_key;
  return transforms.sum_radix.value_or(few_keys ? 2
                                                : detail::best_sum_radix(parameters_, raised_level_, copies));
}

/// Stages of the sum after ModRaise; none where CoeffToSlot does it.
std::vector<ckks::rotation_stage> bootstrapper::sums(unsigned radix) const {
  if (options_.transforms.from_sparse) return {};
  return ckks::sum_stages(slots(), static_cast<std::uint32_t>(parameters_.slots() / slots()), radix);
}

void bootstrapper::choose_transforms() {
  bootstrap_transforms& transforms = options_.transforms;
  const std::vector<detail::chain_shape> chains{shape_of(dft_direction::coeff_to_slot, cts_options()),
                                                shape_of(dft_direction::slot_to_coeff, stc_options())};
  const detail::choice_limits limits{*transforms.memory_bytes, transforms.room};
  const unsigned usual = usual_radix();
  if (transforms.room.loads &&
      detail::fits_unchanged(parameters_, chains, {usual, keys_beside_transforms(usual)}, limits)) {
    return;
  }
  std::vector<unsigned> radixes(std::begin(detail::sum_radixes), std::end(detail::sum_radixes));
  if (transforms.sum_radix) radixes = {*transforms.sum_radix};
  std::vector<detail::sum_choice> ways;
  for (const unsigned radix : radixes) {
    const double work = detail::sum_work(parameters_, raised_level_, sums(radix));
    ways.push_back({radix, keys_beside_transforms(radix), work + eval_mod_work()});
  }
  const std::optional<detail::transform_choice> chosen =
      detail::choose_within(parameters_, chains, ways, limits);
  if (!chosen) return;
  transforms.cts_ways = chosen->ways.front();
  transforms.stc_ways = chosen->ways.back();
  transforms.sum_radix = chosen->sum_radix;
  seeded_keys_ = chosen->seeded;
}

/// Of the parts of a ciphertext, all products at the level in the middle. With rescales, constants and sums
/// it takes 2.2 times as long as these, by the model of the H200.
double bootstrapper::eval_mod_work() const {
  const unsigned level = message_level_ + mod1_->levels() / 2;
  const unsigned parts = cts_options().parts == dft_parts::separate ? 2 : 1;
  constexpr double all_of_it = 2.2;
  return all_of_it * parts * static_cast<double>(mod1_->key_switches()) *
         detail::rotation_work(parameters_, level);
}

/// Both transforms with their constants. The coefficients t = x + Q_0 I of the raised ciphertext, at scale
/// s_top, become t / (Q_0 divisor) at the scale of EvalMod. SlotToCoeff takes what arrives from EvalMod, at
/// its scale, for the canonical one of its level, and makes up for it.
void bootstrapper::make_transforms(ckks::evaluator& eval) {
  const double copies = static_cast<double>(parameters_.slots()) / slots();
  dft_options cts = cts_options();
  cts.shares = even_shares(
      parameters_, cts, dft_direction::coeff_to_slot,
      parameters_.level(raised_level_).scale / (parameters_.base_modulus() * mod1_->divisor() * copies));
  cts_ = std::make_shared<const circuits::coeff_to_slot>(eval, cts);

  // The scale falls by this below EvalMod. One half, or all of it where no matrix follows, is left to
  // EvalMod, whose last rescale has bits to spare; the matrices would lose them in their entries.
  const params::level_info& last = parameters_.level(offset_ + message_level_);
  const double border = last.scale / last.arrival_scale;
  reduced_ = joins() || unpacks() ? std::sqrt(border) : border;
  dft_options stc = stc_options();
  stc.shares =
      even_shares(parameters_, stc, dft_direction::slot_to_coeff, joins() ? border / reduced_ : enlarged_);
  stc_ = std::make_shared<const circuits::slot_to_coeff>(eval, stc);
  if (unpacks()) make_unpack(eval, border / reduced_);
}

/// (re, im) of 2n slots becomes (re + i im, re + i im), which is a ciphertext of n slots.
void bootstrapper::make_unpack(ckks::evaluator& eval, double factor) {
  const auto ends = [&](std::complex<double> first, std::complex<double> second) {
    std::vector<std::complex<double>> values(slots(), factor * first);
    values.resize(2 * std::size_t{slots()}, factor * second);
    return values;
  };
  const std::complex<double> i(0, 1);
  const diagonal_map matrix{{0, ends(1, i)}, {static_cast<int>(slots()), ends(i, 1)}};
  transform_options made;
  made.mode = options_.transforms.stc_mode;
  made.level = message_level_;
  made.slots = 2 * slots();
  unpack_ = std::make_shared<const linear_transform>(eval, matrix, made);
}

const dft_chain& bootstrapper::coeff_to_slot() const noexcept { return *cts_; }

const dft_chain& bootstrapper::slot_to_coeff() const noexcept { return *stc_; }

std::size_t bootstrapper::bytes() const noexcept {
  return cts_->bytes() + stc_->bytes() + (unpack_ ? unpack_->bytes() : 0);
}

unsigned bootstrapper::input_level() const noexcept { return joins() ? 0 : stc_levels(); }

unsigned bootstrapper::output_level() const noexcept { return message_level_ - levels_after(); }

std::vector<ckks::key_request> bootstrapper::key_requests() const {
  detail::key_union keys;
  keys.add(keys_beside_transforms(*options_.transforms.sum_radix));
  keys.add(cts_->key_requests());
  keys.add(stc_->key_requests());
  std::vector<ckks::key_request> requests = keys.list();
  for (ckks::key_request& each : requests) each.level = parameters_.key_level(each.level);
  return requests;
}

std::vector<ckks::key_request> bootstrapper::keys_beside_transforms(unsigned radix) const {
  detail::key_union keys;
  if (parameters_.encapsulation()) keys.add({{{ckks::encapsulation_element, raised_level_}}});
  keys.add(ckks::keys_of(parameters_, sums(radix), raised_level_));
  keys.add(mod1_->key_requests(raised_level_ - cts_levels()));
  if (unpacks()) keys.add({{{parameters_.galois_element(slots()), message_level_}}});
  return keys.list();
}

double bootstrapper::unit_fraction() const { return enlarged_ / message_ratio(parameters_); }

/// A rescale errs by sqrt(N (h + 1) / 12) in a slot. In EvalMod that of T_2 = 2 u^2 - 1 counts most: with w =
/// 2 pi divisor() the slope of the sine in T_2 is w^2 / (8 pi) where u is small. Coefficients of a message
/// with random slots in the unit disc are normal with 1 / (2 sqrt(n)), of which the sine's cubic error is the
/// square root of 15 cubes; with SlotToCoeff first they are the slots, x^3 is 0.28 there.
bootstrap_forecast bootstrapper::forecast() const {
  const double rounding = rounding_noise(parameters_);
  const double kept = 2.0 * rounding / parameters_.level(output_level()).scale;
  double sigma = noise_of_one(rounding);
  if (options_.iterations.count > 1 && options_.iterations.bits) {
    // What is left is the error of the last bootstrap, made smaller again, and what the rests are rounded by.
    const double smaller = std::exp2((options_.iterations.count - 1.0) * *options_.iterations.bits);
    sigma = std::hypot(sigma / smaller, kept, 2.0 * rounding / parameters_.level(input_level()).scale);
  } else {
    sigma = std::hypot(sigma, kept);
  }
  // The error of a slot is the larger one of two normal parts: 1.13 sigma on average.
  const double count = slots();
  return {-std::log2(1.13 * sigma), -std::log2(sigma * std::sqrt(2 * std::log(2 * count) + 1))};
}

/// Error of a slot after one bootstrap, but for the rounding of the result.
double bootstrapper::noise_of_one(double rounding) const {
  const auto count = static_cast<double>(slots());
  const double w = 2 * std::numbers::pi * mod1_->divisor();
  const double steepest =
      rounding / parameters_.level(raised_level_ - cts_levels()).scale * 0.7 * w * w / (8 * std::numbers::pi);
  const double integers = std::sqrt((params::raise_weight(parameters_) + 1) / 12.0);
  const double encoded =
      integers * rounding_of_entries(parameters_, cts_->options(), dft_direction::coeff_to_slot);
  const double inside = std::hypot(steepest, encoded, mod1_->max_error());
  const double cubes = joins() ? std::sqrt(15.0) * std::pow(4 * count, -1.5) : 0.28;
  const double cubic = mod1_->options().arcsine_degree != 0
                           ? 0.0
                           : std::pow(2 * std::numbers::pi * unit_fraction(), 2) / 6 * cubes;
  const double last = rounding / (parameters_.level(offset_ + message_level_).arrival_scale * reduced_);
  const double coefficient = std::hypot(inside / unit_fraction(), cubic, last);
  return std::hypot(coefficient * (joins() ? std::sqrt(count) : 1.0),
                    0.5 * rounding_of_entries(parameters_, stc_->options(), dft_direction::slot_to_coeff));
}

}  // namespace halocline::circuits
