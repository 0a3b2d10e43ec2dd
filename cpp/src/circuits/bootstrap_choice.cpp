// SPDX-License-Identifier: Apache-2.0
#include "circuits/bootstrap_choice.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#include "circuits/key_union.hpp"
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

/// One matrix of a chain: butterflies with half-lengths from `shortest` to `longest`; the unit matrix if 0.
struct matrix_shape {
  std::uint32_t shortest, longest;
  unsigned level;
  bool raised;
};

std::vector<matrix_shape> matrices_of(const chain_shape& chain) {
  std::vector<matrix_shape> result;
  const bool down = chain.direction == dft_direction::coeff_to_slot;
  std::uint32_t next = down ? chain.slots / 2 : 1;
  unsigned level = chain.level;
  for (const unsigned stages : chain.stages) {
    const std::uint32_t span = 1U << (stages == 0 ? 0 : stages - 1);
    const bool raised = chain.from_raised && result.empty();
    if (raised && stages == 0) {
      result.push_back({0, 0, level, true});
      continue;
    }
    result.push_back(down ? matrix_shape{std::max(1U, next / span), std::max(1U, next), level, raised}
                          : matrix_shape{next, next * span, level, false});
    if (!raised) --level;
    next = down ? next / (2 * span) : next * 2 * span;
  }
  return result;
}

/// Indices of the diagonals of a matrix: multiples of the shortest half-length, up to the sum of all.
std::vector<int> diagonals_of(const matrix_shape& matrix, std::uint32_t slots) {
  if (matrix.longest == 0) return {0};
  const auto step = static_cast<int>(matrix.shortest);
  const auto reach = static_cast<int>(2 * matrix.longest - matrix.shortest);
  const bool wraps = 2 * matrix.longest >= slots;
  std::vector<int> result;
  for (int d = wraps ? 0 : -reach; d <= reach && d < static_cast<int>(slots); d += step) result.push_back(d);
  return result;
}

std::size_t bytes_of(const params::parameters& parameters, const ckks::key_request& request) {
  std::size_t limbs = 0;
  for (const ckks::key_digit_layout& each : ckks::key_layout(parameters, request)) limbs += 2 * each.limbs();
  return limbs * parameters.limb_bytes();
}

/// Adds what a raised matrix takes: a key and a product for each of its rotations, and the sums that follow.
void add_raised(const params::parameters& parameters, const matrix_shape& matrix, std::uint32_t slots,
                const transform_choice& choice, key_union& keys, choice_estimate& result) {
  constexpr std::size_t polynomials_at_once = 2 * 9;
  const std::vector<int> diagonals = diagonals_of(matrix, slots);
  keys.add(raised_transform::key_requests(parameters, diagonals, slots, matrix.level, choice.sum_radix));
  const params::encapsulation_info& primes = *parameters.encapsulation();
  const std::size_t limbs =
      parameters.level(matrix.level).q.count + primes.raised_special.count + primes.raised_scale.count;
  const std::size_t whole = limbs * parameters.limb_bytes();
  const std::size_t each = choice.compact ? parameters.n() * sizeof(std::int64_t) : whole;
  result.diagonal_bytes += diagonals.size() * each;
  result.workspace_bytes = std::max(result.workspace_bytes, polynomials_at_once * whole);
  // Products with both halves of a key and with a diagonal: elementwise passes.
  const std::uint32_t summed =
      raised_transform::sparse_rotations(parameters, diagonals.size(), slots, matrix.level, choice.sum_radix);
  const std::size_t products = diagonals.size() * summed;
  const auto following =
      raised_transform::following_sums(parameters, slots, summed, matrix.level, choice.sum_radix);
  result.work += sum_work(parameters, matrix.level, following);
  const double passes = static_cast<double>(products * limbs) * 4 * 2 / parameters.log_n();
  result.work += passes + (choice.compact ? static_cast<double>(diagonals.size() * limbs) : 0.0);
}

/// Adds what one matrix takes.
void add_matrix(const params::parameters& parameters, const matrix_shape& matrix, std::uint32_t slots,
                const transform_choice& choice, key_union& keys, choice_estimate& result) {
  if (matrix.raised) return add_raised(parameters, matrix, slots, choice, keys, result);
  const std::vector<int> diagonals = diagonals_of(matrix, slots);
  const transform_plan plan(parameters, diagonals, {choice.mode, matrix.level, slots, choice.baby_count});
  const transform_usage usage = plan.full_usage();
  keys.add(rotation_requests(parameters, plan.required_rotations(usage), matrix.level));
  const bool extended = choice.mode == transform_mode::double_hoisted;
  const std::size_t limbs =
      parameters.level(matrix.level).q.count + (extended ? parameters.special_count() : 0);
  const std::size_t whole = limbs * parameters.limb_bytes();
  const unsigned points = static_cast<unsigned>(std::bit_width(std::min(2 * matrix.longest, slots)));
  const unsigned spare = parameters.log_n() - std::min(points, parameters.log_n());
  const bool repeated = spare >= backend::least_log_repeat;
  const bool kept_small = choice.compact && !repeated;
  const std::size_t each = repeated     ? whole >> spare
                           : kept_small ? (parameters.n() >> spare) * sizeof(std::int64_t)
                                        : whole;
  result.diagonal_bytes += diagonals.size() * each;
  const std::size_t babies = usage.babies.front().size();
  const std::size_t polynomials =
      2 * (babies + pairs_beside_babies) + parameters.digit_count() + (kept_small ? babies : 0);
  result.workspace_bytes = std::max(result.workspace_bytes, polynomials * whole);
  result.work += plan.cost(usage).work + (kept_small ? static_cast<double>(diagonals.size() * limbs) : 0.0);
}

}  // namespace

choice_estimate estimate(const params::parameters& parameters, const std::vector<chain_shape>& chains,
                         const std::vector<ckks::key_request>& others, const transform_choice& choice) {
  choice_estimate result;
  key_union keys;
  keys.add(others);
  for (const chain_shape& chain : chains) {
    for (const matrix_shape& matrix : matrices_of(chain)) {
      add_matrix(parameters, matrix, chain.slots, choice, keys, result);
    }
  }
  for (const ckks::key_request& each : keys.list()) result.key_bytes += bytes_of(parameters, each);
  return result;
}

transform_choice choose_within(const params::parameters& parameters, const std::vector<chain_shape>& chains,
                               const std::vector<sum_choice>& sums, std::size_t memory) {
  std::vector<transform_choice> candidates;
  for (const bool compact : {false, true}) {
    candidates.push_back({transform_mode::double_hoisted, {}, compact});
    for (const unsigned babies : {16U, 12U, 10U, 8U, 6U, 5U, 4U, 3U}) {
      candidates.push_back({transform_mode::double_hoisted, babies, compact});
    }
    candidates.push_back({transform_mode::small_key, {}, compact});
  }
  const std::vector<sum_choice> ways = sums.empty() ? std::vector<sum_choice>{{}} : sums;
  std::optional<transform_choice> best;
  choice_estimate found;
  for (transform_choice each : candidates) {
    for (const sum_choice& way : ways) {
      each.sum_radix = way.radix;
      choice_estimate one = estimate(parameters, chains, way.others, each);
      one.work += way.work;
      const bool fits = one.bytes() <= memory, had = best && found.bytes() <= memory;
      const bool better = fits && had ? one.work < found.work : fits || (!had && one.bytes() < found.bytes());
      if (best && !better) continue;
      best = each;
      found = one;
    }
  }
  return *best;
}

}  // namespace halocline::circuits::detail
