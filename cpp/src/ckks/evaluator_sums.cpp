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
  require_room(parameters, level, c, factor, "multiply");
  return times_integer(ctx_, many, level, scale, scaled(c, factor));
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
  require_room(ctx_.parameters(), sum.level, c, factor, "multiply");
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
  require_room(ctx_.parameters(), a.level, c, a.scale, "add");
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
