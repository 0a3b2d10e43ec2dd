// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "circuits/polynomial_plan.hpp"
#include "circuits/power_basis.hpp"
#include "halocline/ckks/evaluator.hpp"

/// Polynomial evaluation in rounds: what does not depend on each other goes through the backend together.
namespace halocline::circuits::detail {

/// Level and scale of the results of one polynomial.
struct polynomial_target {
  unsigned level;
  double scale;
};

/// How many ciphertexts go through a key switch at `level` together, at least one. More than one only where
/// launches of kernels cost more than memory, which is on a device with a cache and without a budget, and
/// only as many as have room in one group of primes: their raised digits and sums take four times the cache.
[[nodiscard]] std::size_t switched_together(ckks::context& ctx, unsigned level);

/// Whether a plan is carried out in rounds: on such devices, for real coefficients. Those that are not real
/// may need an encoding for each node.
[[nodiscard]] bool goes_in_rounds(const ckks::context& ctx, const evaluation_plan& plan);

/// Values of every polynomial of a plan for all variables of `powers`: the integers of an evaluation of one
/// node after the other. Powers and nodes whose results have one level are a round, from the highest level
/// on: as many key switches follow each other as the polynomial takes levels.
[[nodiscard]] std::vector<std::vector<ckks::ciphertext>> evaluate_in_rounds(
    ckks::evaluator& eval, power_basis& powers, const evaluation_plan& plan,
    std::span<const polynomial_target> targets);

}  // namespace halocline::circuits::detail
