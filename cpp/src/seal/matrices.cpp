// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "halocline/core/expects.hpp"
#include "halocline/seal/evaluator.hpp"
#include "seal/operand_checks.hpp"

namespace halocline::seal {
namespace {

backend::matrix_view view_of(const ciphertext_matrix& of) {
  return {&of.parts.data(), 0, of.rows, of.columns};
}

}  // namespace

ciphertext_matrix batch_evaluator::make_matrix(ciphertexts entries, std::uint32_t rows,
                                               std::uint32_t columns) {
  HALOCLINE_EXPECTS(!entries.empty() && entries.size() == std::uint64_t{rows} * columns, invalid_argument,
                    "make_matrix: ", entries.size(), " ciphertexts for ", rows, " by ", columns,
                    " entries; expected one each, and one at least");
  check_operands(entries, "make_matrix");
  const std::uint32_t primes = entries[0]->parts.primes();
  HALOCLINE_EXPECTS(entries[0]->parts.size() == 2, invalid_argument, "make_matrix: ciphertexts of ",
                    entries[0]->parts.size(), " polynomials; expected 2, so relinearize them");
  for (const ciphertext* each : entries) detail::check_scales(entries[0]->scale, each->scale, "make_matrix");
  ciphertext_matrix made{
      polynomials(*ctx_, 2 * rows * columns, primes, memory::object_class::ciphertext, "seal.matrix"), rows,
      columns, 2, entries[0]->scale};
  std::vector<backend::unary_job> jobs;
  for (std::uint32_t i = 0; i < made.parts.size(); ++i) {
    jobs.push_back({made.parts.part(i), entries[i / 2]->parts.part(i % 2)});
  }
  ctx_->device().copy(ctx_->tables(), jobs);
  return made;
}

batch_evaluator::results batch_evaluator::entries(const ciphertext_matrix& of,
                                                  std::span<const std::uint32_t> numbers) {
  detail::check_operand(*ctx_, of.parts, "entries");
  results made;
  for (const std::uint32_t number : numbers) {
    HALOCLINE_EXPECTS(number < std::uint64_t{of.rows} * of.columns, invalid_argument, "entries: number ",
                      number, " of a matrix with ", of.rows, " rows and ", of.columns, " columns");
    made.push_back(
        {polynomials(*ctx_, of.size, of.parts.primes(), memory::object_class::ciphertext, "ciphertext"),
         of.scale});
  }
  std::vector<backend::unary_job> jobs;
  for (std::size_t e = 0; e < numbers.size(); ++e) {
    for (std::uint32_t i = 0; i < of.size; ++i) {
      jobs.push_back({made[e].parts.part(i), of.parts.part(numbers[e] * of.size + i)});
    }
  }
  ctx_->device().copy(ctx_->tables(), jobs);
  return made;
}

void batch_evaluator::matrix_product(const ciphertext_matrix& c, const ciphertext_matrix& a,
                                     const ciphertext_matrix& b, bool accumulate) {
  const backend::matrix_job job{view_of(c), view_of(a), view_of(b), {0, a.parts.primes()}, accumulate};
  ctx_->device().tensor_matrix(ctx_->tables(), {&job, 1});
}

ciphertext_matrix batch_evaluator::multiply(const ciphertext_matrix& a, const ciphertext_matrix& b) {
  detail::check_operand(*ctx_, a.parts, "multiply");
  detail::check_operand(*ctx_, b.parts, "multiply");
  HALOCLINE_EXPECTS(a.size == 2 && b.size == 2 && a.parts.primes() == b.parts.primes() && a.columns == b.rows,
                    invalid_argument, "multiply: a matrix of ", a.rows, " by ", a.columns, " ciphertexts of ",
                    a.size, " polynomials and ", a.parts.primes(), " primes times one of ", b.rows, " by ",
                    b.columns, " of ", b.size, " and ", b.parts.primes(),
                    "; expected m by k times k by n, of 2 polynomials and equal primes");
  detail::check_scale(*ctx_, a.scale * b.scale, a.parts.primes(), "multiply");
  ciphertext_matrix made{polynomials(*ctx_, 3 * a.rows * b.columns, a.parts.primes(),
                                     memory::object_class::ciphertext, "seal.matrix"),
                         a.rows, b.columns, 3, a.scale * b.scale};
  matrix_product(made, a, b, false);
  return made;
}

void batch_evaluator::add_product(ciphertext_matrix& c, const ciphertext_matrix& a,
                                  const ciphertext_matrix& b) {
  for (const ciphertext_matrix* each : {static_cast<const ciphertext_matrix*>(&c), &a, &b}) {
    detail::check_operand(*ctx_, each->parts, "add_product");
    HALOCLINE_EXPECTS(each->parts.primes() == a.parts.primes(), invalid_argument,
                      "add_product: matrices with ", a.parts.primes(), " and ", each->parts.primes(),
                      " primes; expected equal numbers");
  }
  HALOCLINE_EXPECTS(a.size == 2 && b.size == 2 && c.size == 3, invalid_argument, "add_product: entries of ",
                    c.size, ", ", a.size, " and ", b.size,
                    " polynomials; expected 3 of the sum, which multiply makes, and 2 of the factors");
  detail::check_scales(c.scale, a.scale * b.scale, "add_product");
  matrix_product(c, a, b, true);
}

}  // namespace halocline::seal
