// SPDX-License-Identifier: Apache-2.0
// Terms of sums that one division finishes later: multiples by constants, without divisions of their own.
#include <cmath>
#include <utility>
#include <vector>

#include "ckks/evaluator_detail.hpp"
#include "halocline/backend/scoped_operation.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/evaluator.hpp"
#include "halocline/ckks/scales.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::ckks {
namespace {

using namespace detail;

/// Whether c is the same on both halves of the points, or the field has i there.
bool has_residues(const params::parameters& parameters, std::complex<double> c) {
  return c.imag() == 0.0 || parameters.galois_generator() % 4 == 1;
}

std::complex<long double> scaled(std::complex<double> c, double factor) {
  return {c.real() * static_cast<long double>(factor), c.imag() * static_cast<long double>(factor)};
}

/// sums[i] += addends[i] on the components that the addends have.
void add_in_place(context& ctx, std::vector<ciphertext>& sums, ciphertext_span addends) {
  std::vector<backend::binary_job> jobs;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    for (std::size_t i = 0; i < addends[k]->parts.size(); ++i) {
      jobs.push_back({part(sums[k], i), part(sums[k], i), part(*addends[k], i)});
    }
  }
  ctx.device().add(ctx.tables(), jobs);
}

}  // namespace

std::vector<ciphertext> evaluator::multiples(ciphertext_span many, std::complex<double> c, unsigned level,
                                             double scale) {
  const backend::scoped_operation named("multiply_constant");
  require_alike(ctx_, many, "multiply");
  const params::parameters& parameters = ctx_.parameters();
  const ciphertext& a = *many.front();
  require_primes(parameters, a, level, "multiply");
  const double factor = scale / a.scale;
  if (!has_residues(parameters, c)) {
    std::vector<ciphertext> made = multiply_constant_raw(pointers(adjust(many, level, a.scale)), c, factor);
    for (ciphertext& each : made) each.scale = scale;
    return made;
  }
  const arith::window primes = parameters.level(level).q;
  std::vector<ciphertext> results;
  for (const ciphertext* each : many) {
    ciphertext shape;
    shape.level = level;
    shape.scale = scale;
    shape.slots = each->slots;
    shape.key = each->key;
    results.push_back(make_like(ctx_, shape, each->parts.size()));
  }
  require_room(parameters, results.front(), c, factor, "multiply");
  const std::vector<backend::scalar_pair> residues = constant_residues(ctx_, primes, scaled(c, factor));
  std::vector<backend::scalar_job> jobs;
  for (std::size_t k = 0; k < many.size(); ++k) {
    for (std::size_t i = 0; i < many[k]->parts.size(); ++i) {
      jobs.push_back({part(results[k], i), part(*many[k], i).slice(primes), residues});
    }
  }
  ctx_.device().scalar_multiply(ctx_.tables(), jobs);
  return results;
}

void evaluator::add_multiples(std::vector<ciphertext>& sums, ciphertext_span many, std::complex<double> c) {
  const backend::scoped_operation named("multiply_constant");
  require_alike(ctx_, pointers(sums), "add");
  require_alike(ctx_, many, "multiply");
  const ciphertext& sum = sums.front();
  HALOCLINE_EXPECTS(sums.size() == many.size() && sum.parts.size() >= many.front()->parts.size(),
                    invalid_argument, "add_multiples: ", sums.size(), " sums of ", sum.parts.size(),
                    " components, ", many.size(), " ciphertexts of ", many.front()->parts.size(),
                    "; expected as many, and no fewer components in the sums");
  require_primes(ctx_.parameters(), *many.front(), sum.level, "add_multiples");
  for (std::size_t k = 0; k < sums.size(); ++k) sums[k].key = common_key_of(sums[k], *many[k], "add");
  const double factor = sum.scale / many.front()->scale;
  if (c.imag() != 0.0) {
    add_in_place(ctx_, sums, pointers(multiples(many, c, sum.level, sum.scale)));
    return;
  }
  require_room(ctx_.parameters(), sum, c, factor, "multiply");
  const arith::window primes = part(sum, 0).primes;
  std::vector<std::uint64_t> residues;
  for (const backend::scalar_pair& each : constant_residues(ctx_, primes, scaled(c, factor))) {
    residues.push_back(each.low);
  }
  const std::vector<std::uint64_t> ones(primes.count, 1);
  std::vector<backend::linear_job> jobs;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    for (std::size_t i = 0; i < many[k]->parts.size(); ++i) {
      jobs.push_back({part(sums[k], i), part(sums[k], i), part(*many[k], i).slice(primes), ones, residues});
    }
  }
  ctx_.device().linear_combine(ctx_.tables(), jobs);
}

void evaluator::add_constants(std::vector<ciphertext>& sums, std::complex<double> c) {
  const backend::scoped_operation named("add_constant");
  require_alike(ctx_, pointers(sums), "add_constants");
  const ciphertext& a = sums.front();
  if (!has_residues(ctx_.parameters(), c)) {
    sums = add_constant(pointers(sums), c);
    return;
  }
  require_room(ctx_.parameters(), a, c, a.scale, "add");
  const std::vector<backend::scalar_pair> residues =
      constant_residues(ctx_, part(a, 0).primes, scaled(c, a.scale));
  std::vector<backend::scalar_job> jobs;
  for (ciphertext& each : sums) {
    each.seed.reset();
    jobs.push_back({part(each, 0), part(each, 0), residues});
  }
  ctx_.device().scalar_add(ctx_.tables(), jobs);
}

}  // namespace halocline::ckks
