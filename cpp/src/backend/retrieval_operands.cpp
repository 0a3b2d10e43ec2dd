// SPDX-License-Identifier: Apache-2.0
// Operands of the operations that retrieval_jobs.hpp describes.
#include <algorithm>
#include <bit>
#include <vector>

#include "backend/operands.hpp"

namespace halocline::backend::operands {
namespace {

/// Most terms of a `digit_product`.
constexpr std::uint64_t max_terms = 64;

/// Collects arrays, checking them against the ring.
class array_list {
 public:
  array_list(operand_list& list, const char* op)
      : list_(list), op_(op), limbs_(static_cast<std::uint32_t>(list.ring().primes.size())) {
    HALOCLINE_EXPECTS(list.ring().word_bits == 32, invalid_argument, op, ": a ring with words of ",
                      list.ring().word_bits, " bits; expected 32");
  }

  [[nodiscard]] std::uint32_t limbs() const noexcept { return limbs_; }
  [[nodiscard]] std::size_t n() const noexcept { return list_.ring().n(); }

  /// Bytes from the first polynomial of an array to its last one, and what `read` and `write` take: arrays of
  /// `count` polynomials, or of ciphertexts, which have two.
  [[nodiscard]] memory::operand range(const poly_array& array, std::uint64_t count,
                                      std::uint32_t polynomials) const {
    HALOCLINE_EXPECTS(count == 1 || array.stride >= polynomials * limbs_, invalid_argument, op_,
                      ": entries of an array follow each other after ", array.stride,
                      " limbs; expected at least ", polynomials * limbs_);
    const std::size_t limb = list_.ring().limb_bytes();
    return {array.data, array.first * limb,
            ((count - 1) * array.stride + std::size_t{polynomials} * limbs_) * limb};
  }
  [[nodiscard]] memory::operand range(const point_matrix& matrix) const {
    HALOCLINE_EXPECTS(matrix.block == points_per_block || matrix.block == 1, invalid_argument, op_,
                      ": a matrix with blocks of ", matrix.block, " points; expected ", points_per_block,
                      " or 1");
    return {matrix.data, 0, std::size_t{matrix.rows} * limbs_ * list_.ring().limb_bytes()};
  }
  void read(const memory::operand& part) { list_.read_bytes(part.data, part.offset, part.bytes); }
  void write(const memory::operand& part) { list_.write_bytes(part.data, part.offset, part.bytes); }
  void read_moduli() { list_.read_moduli({0, limbs_}); }
  void read_roots() {
    read_moduli();
    list_.read_roots({0, limbs_});
  }
  void read_permutation(const memory::buffer* permutation) {
    list_.read_bytes(permutation, 0, n() * sizeof(std::uint32_t));
  }

  void positive(std::uint64_t count, const char* of) const {
    HALOCLINE_EXPECTS(count > 0, invalid_argument, op_, ": no ", of, "; expected at least one");
  }
  void one_per_prime(std::size_t factors) const {
    HALOCLINE_EXPECTS(factors == limbs_, invalid_argument, op_, ": ", factors, " factors for ", limbs_,
                      " primes; expected one for each");
  }
  void whole_blocks() const {
    HALOCLINE_EXPECTS(n() >= points_per_block, invalid_argument, op_, ": ring degree ", n(),
                      "; expected at least ", points_per_block);
  }
  void sum_of(std::uint64_t terms) const {
    HALOCLINE_EXPECTS(terms >= 1 && terms <= max_terms, invalid_argument, op_, ": ", terms,
                      " terms; expected 1 to ", max_terms);
  }
  /// Digits are residues without a division where no prime is twice another one.
  void splittable(const digit_split& split) const {
    HALOCLINE_EXPECTS(split.digits >= 1 && split.digits <= 8 && split.base_bits >= 3 && split.base_bits <= 30,
                      invalid_argument, op_, ": ", split.digits, " digits in base 2^", split.base_bits,
                      "; expected 1 to 8 in base 2^3 to 2^30");
    const auto [least, most] = std::minmax_element(list_.ring().primes.begin(), list_.ring().primes.end());
    HALOCLINE_EXPECTS(*most < 2 * *least, invalid_argument, op_, ": primes from ", *least, " to ", *most,
                      "; expected none that is twice another one");
    HALOCLINE_EXPECTS(static_cast<unsigned>(std::bit_width(*most)) <= split.base_bits * split.digits,
                      invalid_argument, op_, ": ", split.digits, " digits in base 2^", split.base_bits,
                      " do not cover the prime ", *most, "; give more digits or a larger base");
  }

  [[nodiscard]] static bool same(const poly_array& a, const poly_array& b, std::uint64_t count) noexcept {
    return a.data == b.data && a.first == b.first && (count == 1 || a.stride == b.stride);
  }
  void apart(const memory::operand& result, const memory::operand& source) const {
    HALOCLINE_EXPECTS(!overlap(result, source), invalid_argument, op_,
                      ": the result overlaps what it is made of; expected another buffer");
  }
  /// For results that may take the place of a source, entry by entry.
  void apart_or_same(const poly_array& result, const poly_array& source, std::uint64_t count,
                     std::uint32_t polynomials) const {
    HALOCLINE_EXPECTS(same(result, source, count) ||
                          !overlap(range(result, count, polynomials), range(source, count, polynomials)),
                      invalid_argument, op_,
                      ": the result overlaps a source in part; expected the same array or another buffer");
  }

 private:
  [[nodiscard]] static bool overlap(const memory::operand& a, const memory::operand& b) noexcept {
    return a.data == b.data && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
  }

  operand_list& list_;
  const char* op_;
  std::uint32_t limbs_;
};

std::uint32_t parents_of(std::uint32_t children) { return children / 2 + children % 2; }

/// What an expansion writes: points first.
std::vector<memory::operand> expanded_ranges(const array_list& arrays, const expand_job& job) {
  std::vector<memory::operand> results;
  if (job.turned > 0) {
    arrays.whole_blocks();
    results.push_back(arrays.range(job.points));
  }
  if (job.turned < job.children) results.push_back(arrays.range(job.dst, job.children - job.turned, 2));
  return results;
}

void transform(operand_list& list, const array_job& job, const char* op) {
  array_list arrays(list, op);
  arrays.positive(job.count, "polynomials");
  arrays.apart_or_same(job.dst, job.src, job.count, 1);
  arrays.read(arrays.range(job.src, job.count, 1));
  arrays.write(arrays.range(job.dst, job.count, 1));
  arrays.read_roots();
}

}  // namespace

void array_ntt(operand_list& list, const array_job& job) { transform(list, job, "array_ntt"); }
void array_intt(operand_list& list, const array_job& job) { transform(list, job, "array_intt"); }

void array_sub(operand_list& list, const array_sub_job& job) {
  array_list arrays(list, "array_sub");
  arrays.positive(job.count, "ciphertexts");
  for (const poly_array* source : {&job.a, &job.b}) {
    arrays.apart_or_same(job.dst, *source, job.count, 2);
    arrays.read(arrays.range(*source, job.count, 2));
  }
  arrays.write(arrays.range(job.dst, job.count, 2));
  arrays.read_moduli();
}

void array_scale(operand_list& list, const array_scale_job& job) {
  array_list arrays(list, "array_scale");
  arrays.positive(job.count, "ciphertexts");
  arrays.one_per_prime(job.factors.size());
  arrays.apart_or_same(job.dst, job.src, job.count, 2);
  arrays.read(arrays.range(job.src, job.count, 2));
  arrays.write(arrays.range(job.dst, job.count, 2));
  arrays.read_moduli();
}

void split_digits(operand_list& list, const split_job& job) {
  array_list arrays(list, "split_digits");
  arrays.positive(job.count, "polynomials");
  arrays.splittable(job.split);
  const memory::operand dst =
      arrays.range(job.dst, std::uint64_t{job.count} * arrays.limbs() * job.split.digits, 1);
  const memory::operand src = arrays.range(job.src, job.count, 1);
  arrays.apart(dst, src);
  arrays.read(src);
  arrays.write(dst);
  arrays.read_moduli();
}

void digit_product(operand_list& list, const digit_product_job& job) {
  array_list arrays(list, "digit_product");
  arrays.positive(job.count, "ciphertexts");
  arrays.sum_of(job.terms);
  const memory::operand dst = arrays.range(job.dst, job.count, 2);
  for (const memory::operand& source : {arrays.range(job.digits, std::uint64_t{job.count} * job.terms, 1),
                                        arrays.range(job.rows, job.terms, 2)}) {
    arrays.apart(dst, source);
    arrays.read(source);
  }
  for (std::uint32_t c = 0; c < 2; ++c) {
    const poly_array& plus = c == 0 ? job.plus0 : job.plus1;
    if (plus.data == nullptr) continue;
    // A component may take the place of its own addend where no point moves.
    const poly_array component{job.dst.data, job.dst.first + c * arrays.limbs(), job.dst.stride};
    if (!array_list::same(plus, component, job.count) || job.permutation != nullptr)
      arrays.apart(dst, arrays.range(plus, job.count, 1));
    arrays.read(arrays.range(plus, job.count, 1));
  }
  if (job.permutation != nullptr) arrays.read_permutation(job.permutation);
  arrays.write(dst);
  arrays.read_moduli();
}

void expand_children(operand_list& list, const children_job& job) {
  array_list arrays(list, "expand_children");
  arrays.positive(job.children, "children");
  const std::uint32_t parents = parents_of(job.children);
  const memory::operand dst = arrays.range(job.dst, job.children, 2);
  for (const memory::operand& source :
       {arrays.range(job.src, parents, 2), arrays.range(job.turned, parents, 2),
        arrays.range(job.monomial, 1, 1)}) {
    arrays.apart(dst, source);
    arrays.read(source);
  }
  arrays.write(dst);
  arrays.read_moduli();
}

void expand_node(operand_list& list, const expand_job& job) {
  array_list arrays(list, "expand_node");
  arrays.positive(job.children, "children");
  arrays.splittable(job.split);
  const std::uint32_t terms = arrays.limbs() * job.split.digits;
  arrays.sum_of(terms);
  HALOCLINE_EXPECTS(job.turned <= job.children && job.points.rows >= std::uint64_t{2} * job.turned,
                    invalid_argument, "expand_node: ", job.turned, " of ", job.children,
                    " children in a matrix of ", job.points.rows,
                    " rows; expected no more than there are, and two rows for each");
  const std::vector<memory::operand> results = expanded_ranges(arrays, job);
  for (const memory::operand& source : {arrays.range(job.src, parents_of(job.children), 2),
                                        arrays.range(job.rows, terms, 2), arrays.range(job.monomial, 1, 1)}) {
    for (const memory::operand& result : results) arrays.apart(result, source);
    arrays.read(source);
  }
  if (results.size() == 2) arrays.apart(results[0], results[1]);
  // All blocks of a matrix have some of these rows.
  if (job.turned > 0 && job.points.rows != 2 * job.turned) arrays.read(results.front());
  arrays.read_permutation(job.permutation);
  for (const memory::operand& result : results) arrays.write(result);
  arrays.read_roots();
}

void select_pair(operand_list& list, const select_job& job) {
  array_list arrays(list, "select_pair");
  arrays.positive(job.count, "ciphertexts");
  arrays.splittable(job.split);
  const std::uint32_t terms = 2 * arrays.limbs() * job.split.digits;
  arrays.sum_of(terms);
  const memory::operand dst = arrays.range(job.dst, job.count, 2);
  for (const memory::operand& source :
       {arrays.range(job.y, job.count, 2), arrays.range(job.rows, terms, 2)}) {
    arrays.apart(dst, source);
    arrays.read(source);
  }
  arrays.apart_or_same(job.dst, job.x, job.count, 2);
  arrays.read(arrays.range(job.x, job.count, 2));
  arrays.write(dst);
  arrays.read_roots();
}

void select_tree(operand_list& list, const select_tree_job& job) {
  array_list arrays(list, "select_tree");
  arrays.positive(job.kept, "ciphertexts that are left");
  HALOCLINE_EXPECTS(job.bits >= 1 && job.bits <= most_tree_bits, invalid_argument, "select_tree: ", job.bits,
                    " bits; expected 1 to ", most_tree_bits);
  const std::uint64_t most = std::uint64_t{job.kept} << job.bits;
  HALOCLINE_EXPECTS(job.columns > most / 2 && job.columns <= most, invalid_argument,
                    "select_tree: ", job.columns, " ciphertexts, of which ", job.bits, " bits leave ",
                    job.kept, "; expected more than ", most / 2, " and at most ", most);
  arrays.splittable(job.split);
  const std::uint32_t terms = 2 * arrays.limbs() * job.split.digits;
  arrays.sum_of(terms);
  const memory::operand data = arrays.range(job.data, job.columns, 2);
  const memory::operand rows = arrays.range(job.rows, std::uint64_t{job.bits} * terms, 2);
  arrays.apart(data, rows);
  arrays.read(rows);
  arrays.read(data);
  arrays.write(data);
  arrays.read_roots();
}

void turn_points(operand_list& list, const turn_job& job) {
  array_list arrays(list, "turn_points");
  arrays.positive(job.count, "polynomials");
  arrays.whole_blocks();
  HALOCLINE_EXPECTS(job.step > 0 && job.first + std::uint64_t{job.count - 1} * job.step < job.dst.rows,
                    invalid_argument, "turn_points: rows from ", job.first, " on, ", job.count,
                    " of them at steps of ", job.step, "; the matrix has ", job.dst.rows);
  const memory::operand src = arrays.range(job.src, job.count, 1), dst = arrays.range(job.dst);
  arrays.apart(dst, src);
  arrays.read(src);
  // All blocks of the matrix have some of these rows.
  arrays.write(dst);
  if (job.count != job.dst.rows) arrays.read(dst);
}

void row_select(operand_list& list, const row_select_job& job) {
  array_list arrays(list, "row_select");
  arrays.whole_blocks();
  HALOCLINE_EXPECTS(job.rows > 0 && job.columns > 0 && job.rows <= 65536, invalid_argument,
                    "row_select: ", job.rows, " rows and ", job.columns,
                    " columns; expected 1 to 65536 rows and a column");
  HALOCLINE_EXPECTS(job.database.rows == std::uint64_t{job.rows} * job.columns, invalid_argument,
                    "row_select: a database of ", job.database.rows, " polynomials for ", job.rows, " x ",
                    job.columns);
  arrays.positive(job.queries.size(), "queries");
  arrays.read(arrays.range(job.database));
  for (const row_query& query : job.queries) {
    HALOCLINE_EXPECTS(query.selectors.block == job.database.block, invalid_argument,
                      "row_select: selectors with blocks of ", query.selectors.block,
                      " points; the database has blocks of ", job.database.block);
    HALOCLINE_EXPECTS(query.selectors.rows == 2 * job.rows, invalid_argument, "row_select: a query with ",
                      query.selectors.rows, " polynomials; expected two for each of ", job.rows, " rows");
    const memory::operand dst = arrays.range(query.dst, job.columns, 2);
    arrays.apart(dst, arrays.range(job.database));
    for (const row_query& each : job.queries) arrays.apart(dst, arrays.range(each.selectors));
    arrays.read(arrays.range(query.selectors));
    arrays.write(dst);
  }
  arrays.read_moduli();
}

void round_answer(operand_list& list, const round_answer_job& job) {
  array_list arrays(list, "round_answer");
  arrays.positive(job.count, "ciphertexts");
  for (const unsigned bits : job.bits) {
    HALOCLINE_EXPECTS(bits >= 1 && bits <= 63, invalid_argument, "round_answer: a modulus of 2^", bits,
                      "; expected an exponent from 1 to 63");
  }
  const std::size_t bytes = 2 * arrays.n() * sizeof(std::uint64_t);
  const memory::operand dst{job.dst, job.first * bytes, job.count * bytes};
  arrays.apart(dst, arrays.range(job.src, job.count, 2));
  arrays.read(arrays.range(job.src, job.count, 2));
  arrays.read_moduli();
  arrays.write(dst);
}

void unpack_plain(operand_list& list, const unpack_job& job) {
  array_list arrays(list, "unpack_plain");
  arrays.positive(job.count, "polynomials");
  arrays.positive(job.bytes, "bytes");
  arrays.one_per_prime(job.factors.size());
  HALOCLINE_EXPECTS(job.bits >= 2 && job.bits <= 32 && job.bytes <= arrays.n() * job.bits / 8,
                    invalid_argument, "unpack_plain: ", job.bytes, " bytes in coefficients of ", job.bits,
                    " bits; expected 2 to 32 bits, and no more than N of them");
  const memory::operand src{job.src, job.offset, (job.count - 1) * job.stride + job.bytes};
  arrays.apart(arrays.range(job.dst, job.count, 1), src);
  arrays.read(src);
  arrays.write(arrays.range(job.dst, job.count, 1));
  arrays.read_moduli();
}

}  // namespace halocline::backend::operands
