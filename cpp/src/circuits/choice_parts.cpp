// SPDX-License-Identifier: Apache-2.0
#include "circuits/choice_parts.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "circuits/switch_work.hpp"
#include "circuits/transform_executor.hpp"
#include "halocline/circuits/raised_transform.hpp"
#include "halocline/ckks/key_generator.hpp"
#include "halocline/ckks/keys.hpp"

namespace halocline::circuits::detail {
namespace {

/// Pairs of polynomials of a step beside the baby steps: sums that are made together, the total and a
/// product.
constexpr std::size_t pairs_beside_babies = 6;

/// Launches of a step with a small key, in NTTs, and what an NTT of a diagonal costs that is kept as
/// coefficients, with its residues: fitted to the model of the H200.
constexpr double small_step = 145;
/// Launches of a giant step, in NTTs: on one H200 bootstraps with 18 giant steps more and as many baby steps
/// less take 3 ms more, of which their work is 1.9.
constexpr double giant_step = 170;
constexpr double expansion = 1.75;

/// Products with a key of one digit, and with a diagonal, that take as long as a rotation under the main
/// secret: in `key_dot`, and where they are written. 17 and 46 us of 264 on an H200.
constexpr double joined_per_rotation = 16;
constexpr double written_per_rotation = 6;

/// Indices of the diagonals of a matrix: multiples of the shortest half-length, up to the sum of all.
/// Those of `dft_matrices` where the sum wraps around: from -n/2, without it, to n/2.
std::vector<int> diagonals_of(const matrix_shape& matrix) {
  if (matrix.longest == 0) return {0};
  const auto step = static_cast<int>(matrix.shortest), half = static_cast<int>(matrix.entries / 2);
  const auto reach = static_cast<int>(2 * matrix.longest - matrix.shortest);
  const bool wraps = 2 * matrix.longest >= matrix.entries;
  std::vector<int> result;
  for (int d = wraps ? step - half : -reach; d <= (wraps ? half : reach); d += step) {
    result.push_back((d + matrix.rotated) % static_cast<int>(matrix.slots));
  }
  return result;
}

/// log2 of how often the values of a diagonal repeat themselves.
unsigned spare_bits(const params::parameters& parameters, const matrix_shape& matrix) {
  const auto points = static_cast<unsigned>(std::bit_width(matrix.period));
  return parameters.log_n() - std::min(points, parameters.log_n());
}

/// How often each rotation of a plan is taken.
std::map<std::int64_t, double> rotations_of(const transform_plan& plan, const transform_usage& usage) {
  std::map<std::int64_t, double> uses;
  const std::vector<int>& babies = usage.babies.front();
  if (plan.mode() == transform_mode::small_key) {
    if (babies.back() > 0) uses[plan.rotation(1, plan.baby_step())] += babies.back();
  } else {
    for (const int baby : babies) uses[plan.rotation(baby, plan.baby_step())] += 1;
  }
  const std::vector<int> order = transform_plan::walk(usage.giants.front());
  for (std::size_t i = 0; i < order.size() && order[i] != 0; ++i) {
    for (const int turn : plan.turns(order[i], plan.next(order, i))) {
      uses[plan.rotation(turn, plan.giant_step())] += 1;
    }
  }
  uses.erase(0);
  return uses;
}

/// A raised matrix takes a key and a product for each of its rotations, and the sums that follow.
matrix_part raised_part(const params::parameters& parameters, const matrix_shape& matrix,
                        const transform_way& way, unsigned sum_radix) {
  constexpr std::size_t polynomials_at_once = 2 * 9;
  const std::vector<int> diagonals = diagonals_of(matrix);
  matrix_part result;
  for (const ckks::key_request& each :
       raised_transform::key_requests(parameters, diagonals, matrix.slots, matrix.level, sum_radix)) {
    result.keys.push_back({each.galois_element, each.level});
  }
  const params::encapsulation_info& primes = *parameters.encapsulation();
  const std::size_t limbs =
      parameters.level(matrix.level).q.count + primes.raised_special.count + primes.raised_scale.count;
  const std::size_t whole = limbs * parameters.limb_bytes();
  result.diagonal_bytes = diagonals.size() * (way.compact ? parameters.n() * sizeof(std::int64_t) : whole);
  result.workspace_bytes = polynomials_at_once * whole;
  const std::uint32_t summed =
      raised_transform::sparse_rotations(parameters, diagonals.size(), matrix.slots, matrix.level, sum_radix);
  const std::size_t products = diagonals.size() * summed;
  result.work =
      sum_work(parameters, matrix.level,
               raised_transform::following_sums(parameters, matrix.slots, summed, matrix.level, sum_radix));
  const double product = static_cast<double>(products) * rotation_work(parameters, matrix.level);
  result.work += product / joined_per_rotation;
  result.written_work = product * (1 / written_per_rotation - 1 / joined_per_rotation);
  for (const key_use& each : result.keys) {
    const bool raised = ckks::raised_rotation_of(parameters, each.galois_element).has_value();
    if (raised) result.joined.push_back(each.galois_element);
  }
  if (way.compact) result.work += expansion * static_cast<double>(diagonals.size() * limbs);
  return result;
}

/// What it takes more to write all babies of a transform with double hoisting, and the keys of them.
void add_written(const params::parameters& parameters, const transform_plan& plan,
                 const transform_usage& usage, std::size_t limbs, matrix_part& result) {
  const switch_work w = work_at(parameters, plan.level());
  for (const int baby : usage.babies.front()) {
    const std::int64_t rotation = plan.rotation(baby, plan.baby_step());
    if (rotation != 0) result.joined.push_back(parameters.galois_element(rotation));
  }
  result.written_work =
      static_cast<double>(result.joined.size()) * (w.multiply - w.join) +
      static_cast<double>(usage.products * limbs) * (written_product - joined_product) * w.pass;
}

}  // namespace

std::vector<matrix_shape> matrices_of(const chain_shape& chain) {
  std::vector<matrix_shape> result;
  const bool down = chain.direction == dft_direction::coeff_to_slot;
  std::uint32_t next = down ? chain.slots / 2 : 1;
  unsigned level = chain.level;
  for (std::size_t i = 0; i < chain.stages.size(); ++i) {
    const unsigned stages = chain.stages[i];
    const std::uint32_t span = 1U << (stages == 0 ? 0 : stages - 1);
    matrix_shape made{};
    made.shortest = down ? std::max(1U, next / span) : next;
    made.longest = down ? std::max(1U, next) : next * span;
    made.level = level;
    made.raised = chain.from_raised && i == 0;
    // Both parts behind each other: the last matrix of CoeffToSlot makes them, the first of SlotToCoeff takes
    // them, and that and all after it have twice the slots.
    const bool differ = chain.packed && (down ? i + 1 == chain.stages.size() : i == 0);
    made.entries = chain.slots;
    made.slots = chain.packed && (differ || !down) ? 2 * chain.slots : chain.slots;
    made.period = differ ? made.slots : std::min(2 * made.longest, chain.slots);
    const auto behind = [&](std::size_t at) { return rotation_behind(chain.direction, chain.stages, at); };
    made.rotated = static_cast<int>(behind(i) - (i == 0 ? 0 : behind(i - 1)));
    if (made.raised && stages == 0) {
      made.shortest = made.longest = 0;
      made.period = 1;
      result.push_back(made);
      continue;
    }
    result.push_back(made);
    if (!made.raised) --level;
    next = down ? next / (2 * span) : next * 2 * span;
  }
  return result;
}

transform_shape shape_of(const params::parameters& parameters, std::span<const int> diagonals,
                         const transform_way& way, unsigned level, std::uint32_t slots) {
  transform_shape made{way.mode, level, slots, way.baby_count};
  made.joined = true;
  // Keys of one digit are a tenth as large as those of the highest levels, and kernels are short there. A
  // given number of babies, as in choices within a budget, means few keys.
  made.direct =
      way.mode == transform_mode::double_hoisted && !way.baby_count && digits_at(parameters, level) == 1;
  if (way.baby_count || (way.mode != transform_mode::double_hoisted && way.mode != transform_mode::bsgs)) {
    return made;
  }
  constexpr double worth_a_key = 1.04;
  const auto work = [&](const transform_plan& plan) { return plan.cost(plan.full_usage()).work; };
  const transform_plan best(parameters, diagonals, made);
  const auto most = static_cast<unsigned>(std::max(1, best.giant_step() / best.baby_step()));
  for (unsigned babies = 1; babies < most; ++babies) {
    made.baby_count = babies;
    if (work(transform_plan(parameters, diagonals, made)) <= worth_a_key * work(best)) return made;
  }
  made.baby_count = most;
  return made;
}

bool can_be_compact(const params::parameters& parameters, const matrix_shape& matrix) {
  return matrix.raised || spare_bits(parameters, matrix) < backend::least_log_repeat;
}

matrix_part part_of(const params::parameters& parameters, const matrix_shape& matrix,
                    const transform_way& way, unsigned sum_radix) {
  if (matrix.raised) return raised_part(parameters, matrix, way, sum_radix);
  const std::vector<int> diagonals = diagonals_of(matrix);
  const transform_plan plan(parameters, diagonals,
                            shape_of(parameters, diagonals, way, matrix.level, matrix.slots));
  const transform_usage usage = plan.full_usage();
  matrix_part result;
  for (const auto& [rotation, uses] : rotations_of(plan, usage)) {
    result.keys.push_back({parameters.galois_element(rotation), matrix.level, uses});
  }
  std::ranges::sort(result.keys, {}, &key_use::galois_element);
  const bool extended = way.mode == transform_mode::double_hoisted;
  const std::size_t limbs =
      parameters.level(matrix.level).q.count + (extended ? parameters.special_count() : 0);
  const std::size_t whole = limbs * parameters.limb_bytes();
  const bool kept_small = way.compact && can_be_compact(parameters, matrix);
  const unsigned spare = spare_bits(parameters, matrix);
  const std::size_t each = kept_small ? (parameters.n() >> spare) * sizeof(std::int64_t)
                           : spare >= backend::least_log_repeat ? whole >> spare
                                                                : whole;
  result.diagonal_bytes = diagonals.size() * each;
  const std::size_t babies = usage.babies.front().size(), giants = usage.giants.front().size();
  const std::size_t held = extended ? giants : babies;  // `key_dot` writes no babies, but all sums
  const std::size_t polynomials =
      2 * (held + pairs_beside_babies) + parameters.digit_count() + (kept_small ? babies : 0);
  result.workspace_bytes = polynomials * whole;
  const transform_cost cost = plan.cost(usage);
  result.work = cost.work;
  if (extended) add_written(parameters, plan, usage, limbs, result);
  if (extended && babies > giants) result.written_bytes = 2 * (babies - giants) * whole;
  if (kept_small) result.work += expansion * static_cast<double>(diagonals.size() * limbs);
  const bool small = way.mode == transform_mode::small_key;
  result.work += (small ? small_step : giant_step) * static_cast<double>(small ? cost.key_switches : giants);
  return result;
}

std::size_t key_bytes(const params::parameters& parameters, const ckks::key_request& request) {
  std::size_t limbs = 0;
  for (const ckks::key_digit_layout& each : ckks::key_layout(parameters, request)) limbs += 2 * each.limbs();
  return limbs * parameters.limb_bytes();
}

}  // namespace halocline::circuits::detail
