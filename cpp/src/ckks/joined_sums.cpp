// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/joined_sums.hpp"

#include <cmath>

#include "ckks/evaluator_detail.hpp"
#include "halocline/backend/scoped_operation.hpp"
#include "halocline/ckks/scales.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::ckks {
namespace {

using namespace detail;

/// Residues of a constant modulo the primes of its level.
std::vector<backend::scalar_pair> residues_of(context& ctx, const multiple& of) {
  const params::parameters& parameters = ctx.parameters();
  require_primes(parameters, *of.value, of.level, "multiply");
  require_room(parameters, of.level, of.constant, of.scale, "multiply");
  return constant_residues(ctx, parameters.level(of.level).q, scaled(of.constant, of.scale));
}

/// Checks the operands of an addition in place. Jobs for the components that the second ones have.
std::vector<backend::binary_job> jobs_in_place(std::span<ciphertext* const> sums, ciphertext_span others,
                                               const char* operation) {
  std::vector<backend::binary_job> jobs;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    HALOCLINE_EXPECTS(same_scale(sums[k]->scale, others[k]->scale, scale_tolerance), scale_mismatch,
                      operation, ": scales 2^", std::log2(sums[k]->scale), " and 2^",
                      std::log2(others[k]->scale), " of sum ", k, " differ; adjust one");
    sums[k]->key = common_key_of(*sums[k], *others[k], operation);
    for (std::size_t i = 0; i < others[k]->parts.size(); ++i) {
      jobs.push_back({part(*sums[k], i), part(*sums[k], i), part(*others[k], i)});
    }
  }
  return jobs;
}

}  // namespace

std::vector<ciphertext> multiples(context& ctx, std::span<const multiple> some) {
  const backend::scoped_operation named("multiply_constant");
  std::vector<ciphertext> results;
  std::vector<backend::scalar_job> jobs;
  for (const multiple& each : some) {
    const std::vector<backend::scalar_pair> residues = residues_of(ctx, each);
    ciphertext shape;
    shape.level = each.level;
    shape.scale = each.value->scale * each.scale;
    shape.slots = each.value->slots;
    shape.key = each.value->key;
    const ciphertext& made = results.emplace_back(make_like(ctx, shape, each.value->parts.size()));
    const arith::window primes = ctx.parameters().level(each.level).q;
    for (std::size_t i = 0; i < made.parts.size(); ++i) {
      jobs.push_back({part(made, i), part(*each.value, i).slice(primes), residues});
    }
  }
  ctx.device().scalar_multiply(ctx.tables(), jobs);
  return results;
}

void add_multiples(context& ctx, std::span<ciphertext* const> sums, std::span<const multiple> some) {
  const backend::scoped_operation named("multiply_constant");
  std::vector<backend::linear_job> jobs;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    const ciphertext& value = *some[k].value;
    std::vector<std::uint64_t> residues;
    for (const backend::scalar_pair& each : residues_of(ctx, some[k])) residues.push_back(each.low);
    const std::vector<std::uint64_t> ones(residues.size(), 1);
    sums[k]->key = common_key_of(*sums[k], value, "add");
    for (std::size_t i = 0; i < value.parts.size(); ++i) {
      const backend::limb_view sum = part(*sums[k], i);
      jobs.push_back({sum, sum, part(value, i).slice(sum.primes), ones, residues});
    }
  }
  ctx.device().linear_combine(ctx.tables(), jobs);
}

void add_to(context& ctx, std::span<ciphertext* const> sums, ciphertext_span addends) {
  const backend::scoped_operation named("add");
  ctx.device().add(ctx.tables(), jobs_in_place(sums, addends, "add"));
}

void subtract_from(context& ctx, std::span<ciphertext* const> sums, ciphertext_span subtrahends) {
  const backend::scoped_operation named("sub");
  ctx.device().sub(ctx.tables(), jobs_in_place(sums, subtrahends, "subtract"));
}

void add_constants(context& ctx, std::span<ciphertext* const> sums, std::span<const double> constants) {
  const backend::scoped_operation named("add_constant");
  std::vector<backend::scalar_job> jobs;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    ciphertext& sum = *sums[k];
    require_room(ctx.parameters(), sum.level, constants[k], sum.scale, "add");
    sum.seed.reset();
    jobs.push_back({part(sum, 0), part(sum, 0),
                    constant_residues(ctx, part(sum, 0).primes, scaled(constants[k], sum.scale))});
  }
  ctx.device().scalar_add(ctx.tables(), jobs);
}

}  // namespace halocline::ckks
