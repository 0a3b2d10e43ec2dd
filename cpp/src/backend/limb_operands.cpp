// SPDX-License-Identifier: Apache-2.0
// Operands of the operations that descriptors.hpp, key_jobs.hpp and reduce_jobs.hpp describe.
#include <algorithm>

#include "backend/conversion_targets.hpp"
#include "backend/operands.hpp"

namespace halocline::backend::operands {
namespace {

void unary(operand_list& list, const unary_job& job) {
  list.same_primes(job.src, job.dst);
  list.read(job.src);
  list.write(job.dst);
}

void transform(operand_list& list, const unary_job& job) {
  unary(list, job);
  list.read_moduli(job.dst.primes);
  list.read_roots(job.dst.primes);
}

void binary(operand_list& list, const binary_job& job) {
  list.same_primes(job.a, job.dst);
  list.same_primes(job.b, job.dst);
  list.read(job.a);
  list.read(job.b);
  list.write(job.dst);
  list.read_moduli(job.dst.primes);
}

void scalar(operand_list& list, const scalar_job& job) {
  list.same_primes(job.src, job.dst);
  list.one_per_limb(job.scalars.size(), job.dst);
  list.read(job.src);
  list.write(job.dst);
  list.read_moduli(job.dst.primes);
}

void combination(operand_list& list, const linear_job& job) {
  list.same_primes(job.a, job.dst);
  list.one_per_limb(job.factor_a.size(), job.dst);
  list.one_per_limb(job.factor_b.size(), job.dst);
  list.read(job.a);
  list.write(job.dst);
  if (job.conversion == nullptr) {
    list.same_primes(job.b, job.dst);
    list.read(job.b);
  }
  list.read_moduli(job.dst.primes);
}

/// Requires that the primes of `views`, concatenated, are `primes`.
void match_primes(const std::vector<limb_view>& views, const std::vector<std::uint32_t>& primes,
                  const char* side) {
  std::size_t position = 0;
  for (const limb_view& view : views) {
    for (std::uint32_t i = 0; i < view.primes.count; ++i, ++position) {
      HALOCLINE_EXPECTS(position < primes.size() && primes[position] == view.primes.first + i,
                        invalid_argument, "base_convert: ", side, " prime ", view.primes.first + i,
                        " is not entry ", position, " of the table");
    }
  }
  HALOCLINE_EXPECTS(position == primes.size(), invalid_argument, "base_convert: ", position, " ", side,
                    " limbs for a table of ", primes.size());
}

/// Whether two views share no limb.
bool apart(const limb_view& a, const limb_view& b) {
  return a.data != b.data || a.limb >= b.limb + b.primes.count || b.limb >= a.limb + a.primes.count;
}

/// What b is made of in a job with a conversion.
void conversion_of(operand_list& list, const linear_job& job) {
  const conversion_table& table = *job.conversion;
  HALOCLINE_EXPECTS(table.sources.size() <= max_joined_sources, invalid_argument,
                    "ntt_linear_combine: ", table.sources.size(),
                    " sources of a conversion; expected at most ", max_joined_sources,
                    ", use base_convert first");
  match_primes(job.from, table.sources, "source");
  (void)first_target(table, job.dst.primes);
  HALOCLINE_EXPECTS(apart(job.a, job.dst) || std::count(job.factor_a.begin(), job.factor_a.end(), 0U) ==
                                                 static_cast<std::ptrdiff_t>(job.factor_a.size()),
                    invalid_argument,
                    "ntt_linear_combine: with a conversion, dst is a; expected another one");
  list.read_bytes(&table.data, 0, table.data.size());
  for (const limb_view& view : job.from) {
    list.read_moduli(view.primes);
    list.read(view);
  }
}

void permutation_of(operand_list& list, const memory::buffer* permutation) {
  list.read_bytes(permutation, 0, list.ring().n() * sizeof(std::uint32_t));
}

/// Half of a key of which a product modulo `primes` is made.
void half_key(operand_list& list, const key_digit& digit, const memory::buffer* half, window primes) {
  const std::size_t bytes = list.ring().limb_bytes();
  list.read_bytes(half, (primes.first - digit.first_prime) * bytes, primes.count * bytes);
}

void term_of(operand_list& list, const key_dot_job& job, const key_term& term) {
  const limb_view& reference = job.sums.front().dst0;
  HALOCLINE_EXPECTS(term.digits.size() <= most_dot_digits, invalid_argument, "key_dot: a term of ",
                    term.digits.size(), " digits; expected at most ", most_dot_digits);
  for (const key_digit& digit : term.digits) {
    list.same_primes(digit.digit, reference);
    HALOCLINE_EXPECTS(digit.key_a != nullptr && digit.first_prime <= reference.primes.first, invalid_argument,
                      "key_dot: a key that is ", digit.key_a == nullptr ? "seeded" : "from a later prime on",
                      "; expected both halves, from the first prime of the job on or an earlier one");
    HALOCLINE_EXPECTS(!digit.coefficients, invalid_argument,
                      "key_dot: a digit in coefficient form; expected NTT form");
    list.read(digit.digit);
    half_key(list, digit, digit.key_b, reference.primes);
    half_key(list, digit, digit.key_a, reference.primes);
  }
  for (const limb_view* plus : {&term.plus0, &term.plus1}) {
    if (plus->data == nullptr) continue;
    list.one_per_limb(job.factors.size(), reference);
    list.same_primes(*plus, reference);
    list.read(*plus);
  }
  if (term.permutation != nullptr) permutation_of(list, term.permutation);
}

void sum_of(operand_list& list, const key_dot_job& job, const weighted_sum& sum) {
  const limb_view& reference = job.sums.front().dst0;
  HALOCLINE_EXPECTS(sum.numbers.size() == sum.weights.size(), invalid_argument,
                    "key_dot: ", sum.numbers.size(), " terms with ", sum.weights.size(),
                    " weights; expected one each");
  for (std::size_t i = 0; i < sum.numbers.size(); ++i) {
    HALOCLINE_EXPECTS(sum.numbers[i] < job.terms.size() && (i == 0 || sum.numbers[i - 1] < sum.numbers[i]),
                      invalid_argument, "key_dot: term ", sum.numbers[i], " of ", job.terms.size(),
                      "; expected ascending numbers of terms");
    HALOCLINE_EXPECTS(sum.weights[i].limb == sum.weights.front().limb, invalid_argument,
                      "key_dot: weights from limb ", sum.weights.front().limb, " and ", sum.weights[i].limb,
                      " of their buffers on; expected the same");
    list.same_primes(sum.weights[i], reference);
    list.read_repeated(sum.weights[i]);
  }
  for (const limb_view* dst : {&sum.dst0, &sum.dst1}) {
    list.same_primes(*dst, reference);
    if (sum.accumulate) list.read(*dst);
    list.write(*dst);
  }
}

}  // namespace

void ntt(operand_list& list, const unary_job& job) { transform(list, job); }
void intt(operand_list& list, const unary_job& job) { transform(list, job); }
void add(operand_list& list, const binary_job& job) { binary(list, job); }
void sub(operand_list& list, const binary_job& job) { binary(list, job); }
void multiply(operand_list& list, const binary_job& job) { binary(list, job); }
void scalar_multiply(operand_list& list, const scalar_job& job) { scalar(list, job); }
void scalar_add(operand_list& list, const scalar_job& job) { scalar(list, job); }

void negate(operand_list& list, const unary_job& job) {
  unary(list, job);
  list.read_moduli(job.dst.primes);
}

void multiply_add(operand_list& list, const binary_job& job) {
  binary(list, job);
  list.read(job.dst);
}

void dot(operand_list& list, const dot_job& job) {
  HALOCLINE_EXPECTS(!job.a.empty() && job.a.size() == job.b.size(), invalid_argument, "dot: ", job.a.size(),
                    " and ", job.b.size(), " factors; expected the same positive number");
  for (std::size_t i = 0; i < job.a.size(); ++i) {
    list.same_primes(job.a[i], job.dst);
    list.same_primes(job.b[i], job.dst);
    list.read(job.a[i]);
    list.read_repeated(job.b[i]);
  }
  if (job.accumulate) list.read(job.dst);
  list.write(job.dst);
  list.read_moduli(job.dst.primes);
}

void tensor(operand_list& list, const tensor_job& job) {
  for (const limb_view* view : {&job.a0, &job.a1, &job.b0, &job.b1}) {
    list.same_primes(*view, job.d0);
    list.read(*view);
  }
  for (const limb_view* view : {&job.d0, &job.d1, &job.d2}) {
    list.same_primes(*view, job.d0);
    list.write(*view);
  }
  list.read_moduli(job.d0.primes);
}

void tensor_matrix(operand_list& list, const matrix_job& job) {
  HALOCLINE_EXPECTS(job.c.rows > 0 && job.c.columns > 0 && job.a.columns > 0 && job.a.rows == job.c.rows &&
                        job.b.columns == job.c.columns && job.a.columns == job.b.rows,
                    invalid_argument, "tensor_matrix: ", job.c.rows, " by ", job.c.columns, " entries of ",
                    job.a.rows, " by ", job.a.columns, " times ", job.b.rows, " by ", job.b.columns,
                    "; expected m by n of m by k times k by n");
  list.read_moduli(job.primes);
  list.read_entries(job.a, 2, job.primes);
  list.read_entries(job.b, 2, job.primes);
  if (job.accumulate) list.read_entries(job.c, 3, job.primes);
  list.write_entries(job.c, 3, job.primes);
}

void linear_combine(operand_list& list, const linear_job& job) {
  combination(list, job);
  HALOCLINE_EXPECTS(job.conversion == nullptr, invalid_argument,
                    "linear_combine: a job with a conversion; only ntt_linear_combine takes one");
}

void ntt_linear_combine(operand_list& list, const linear_job& job) {
  combination(list, job);
  list.read_roots(job.dst.primes);
  job.conversion != nullptr ? conversion_of(list, job) : list.write(job.b);
}

void ntt_reduced(operand_list& list, const reduce_job& job) {
  HALOCLINE_EXPECTS(job.src.primes.count == 1, invalid_argument, "ntt_reduced: a source of ",
                    job.src.primes.count, " limbs; expected one");
  HALOCLINE_EXPECTS(apart(job.src, job.dst), invalid_argument,
                    "ntt_reduced: dst shares limbs with src; expected others");
  list.read(job.src);
  list.read_moduli(job.src.primes);
  const bool combined = job.a.data != nullptr;
  if (combined) {
    HALOCLINE_EXPECTS(apart(job.a, job.dst), invalid_argument,
                      "ntt_reduced: dst shares limbs with a; expected others");
    list.same_primes(job.a, job.dst);
    list.one_per_limb(job.factor_a.size(), job.dst);
    list.one_per_limb(job.factor_b.size(), job.dst);
    list.read(job.a);
  }
  HALOCLINE_EXPECTS(combined || (job.factor_a.empty() && job.factor_b.empty()), invalid_argument,
                    "ntt_reduced: factors without a; expected none");
  list.read_moduli(job.dst.primes);
  list.read_roots(job.dst.primes);
  list.write(job.dst);
}

void automorphism(operand_list& list, const automorphism_job& job) {
  HALOCLINE_EXPECTS(apart(job.src, job.dst), invalid_argument,
                    "automorphism: dst shares limbs with src; expected others");
  list.same_primes(job.src, job.dst);
  list.read(job.src);
  permutation_of(list, job.permutation);
  list.write(job.dst);
}

void negacyclic_shift(operand_list& list, const shift_job& job) {
  HALOCLINE_EXPECTS(job.exponent < 2 * list.ring().n(), invalid_argument, "negacyclic_shift: exponent ",
                    job.exponent, "; expected less than ", 2 * list.ring().n(), ", twice the ring degree");
  HALOCLINE_EXPECTS(apart(job.src, job.dst), invalid_argument,
                    "negacyclic_shift: dst shares limbs with src; expected others");
  list.same_primes(job.src, job.dst);
  list.read(job.src);
  list.write(job.dst);
  list.read_moduli(job.dst.primes);
}

void base_convert(operand_list& list, const convert_job& job) {
  match_primes(job.src, job.table->sources, "source");
  match_primes(job.dst, job.table->targets, "target");
  list.read_bytes(&job.table->data, 0, job.table->data.size());
  for (const limb_view& view : job.src) {
    list.read_moduli(view.primes);
    list.read(view);
  }
  for (const limb_view& view : job.dst) {
    list.read_moduli(view.primes);
    list.write(view);
  }
}

namespace {

/// One sum of a job: its digits, what they are multiplied with, and its automorphism.
void key_sum(operand_list& list, const key_job& job, const std::vector<key_digit>& digits,
             const memory::buffer* permutation) {
  const std::size_t limb_bytes = list.ring().limb_bytes();
  const std::size_t bytes = job.dst0.primes.count * limb_bytes;
  for (const key_digit& digit : digits) {
    list.same_primes(digit.digit, job.dst0);
    HALOCLINE_EXPECTS(digit.first_prime <= job.dst0.primes.first, invalid_argument,
                      "key_multiply_accumulate: a key from prime ", digit.first_prime,
                      " on for a product from prime ", job.dst0.primes.first, " on; expected an earlier one");
    const std::size_t offset = (job.dst0.primes.first - digit.first_prime) * limb_bytes;
    list.read(digit.digit);
    if (digit.coefficients) {
      list.read_roots(digit.digit.primes);
      list.write(digit.digit);
      list.rename(transforming_key_product);
    }
    list.read_bytes(digit.key_b, offset, bytes);
    if (digit.key_a != nullptr) {
      list.read_bytes(digit.key_a, offset, bytes);
    } else {
      list.rename(seeded_key_product);
    }
  }
  if (permutation != nullptr) permutation_of(list, permutation);
}

}  // namespace

void key_multiply_accumulate(operand_list& list, const key_job& job) {
  list.same_primes(job.dst1, job.dst0);
  list.read_moduli(job.dst0.primes);
  key_sum(list, job, job.digits, job.permutation);
  std::vector<const limb_view*> addends{&job.plus0, &job.plus1};
  for (const key_part& each : job.more) {
    key_sum(list, job, each.digits, each.permutation);
    addends.insert(addends.end(), {&each.plus0, &each.plus1});
  }
  if (job.accumulate) {
    list.read(job.dst0);
    list.read(job.dst1);
  }
  if (!job.factors.empty()) {
    list.one_per_limb(job.factors.size(), job.dst0);
    for (const limb_view* plus : addends) {
      if (plus->data == nullptr) continue;
      list.same_primes(*plus, job.dst0);
      list.read(*plus);
    }
  }
  list.write(job.dst0);
  list.write(job.dst1);
}

void key_dot(operand_list& list, const key_dot_job& job) {
  HALOCLINE_EXPECTS(!job.sums.empty(), invalid_argument,
                    "key_dot: a job without sums; expected at least one");
  const limb_view& first = job.sums.front().dst0;
  list.read_moduli(first.primes);
  for (const key_term& term : job.terms) term_of(list, job, term);
  for (const weighted_sum& sum : job.sums) sum_of(list, job, sum);
}

void encode_expand(operand_list& list, const encode_job& job) {
  HALOCLINE_EXPECTS(job.words == 1 || job.words == 2, invalid_argument, "encode_expand: ", job.words,
                    " words per coefficient; expected 1 or 2");
  HALOCLINE_EXPECTS(job.log_stride < list.ring().log_n, invalid_argument, "encode_expand: stride 2^",
                    job.log_stride, " in a ring of degree ", list.ring().n());
  const std::size_t integers = list.ring().n() >> job.log_stride;
  list.read_bytes(job.coefficients, 0, integers * job.words * sizeof(std::uint64_t));
  list.read_moduli(job.dst.primes);
  list.write(job.dst);
}

void sample_uniform(operand_list& list, const uniform_job& job) {
  list.read_moduli(job.dst.primes);
  list.write(job.dst);
}

void copy(operand_list& list, const unary_job& job) {
  list.same_primes(job.src, job.dst);
  list.read(job.src);
  list.write_repeated(job.dst);
}

void set_zero(operand_list& list, const limb_view& view) { list.write(view); }

}  // namespace halocline::backend::operands
