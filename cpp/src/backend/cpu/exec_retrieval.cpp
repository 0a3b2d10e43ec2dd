// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <vector>

#include "backend/cpu/executor.hpp"
#include "backend/cpu/retrieval_kernels.hpp"
#include "backend/cpu/retrieval_point_major.hpp"
#include "halocline/arith/arith.hpp"

namespace halocline::backend::cpu {
namespace {

using word = std::uint32_t;
using site = executor<word>;

/// First words of polynomials of an array.
class polynomials {
 public:
  polynomials(const site& on, const poly_array& array)
      : begin_(array.data == nullptr ? nullptr : on.resolve.limb({array.data, array.first, {0, 1}, 0}, 0)),
        stride_(array.stride * on.resolve.n()) {}

  /// Polynomial i; nullptr for all where there is no array.
  [[nodiscard]] word* at(std::size_t i) const noexcept {
    return begin_ == nullptr ? nullptr : begin_ + i * stride_;
  }

 private:
  word* begin_;
  std::size_t stride_;
};

std::uint32_t limbs_of(const site& on) { return static_cast<std::uint32_t>(on.client.ring.primes.size()); }

/// Calls `body(job, i)` for i < count(job) of every job, on all threads. `words`: that an item touches.
template <typename JobT, typename CountT, typename BodyT>
void for_each_item(const site& on, std::span<const JobT> jobs, const CountT& count, std::size_t words,
                   const BodyT& body) {
  std::vector<std::size_t> ends;  // items up to the end of each job
  for (const JobT& job : jobs) ends.push_back((ends.empty() ? 0 : ends.back()) + count(job));
  parallel_for(on.pool, ends.back(), ends.back() * words, [&](std::size_t i) {
    const auto job = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), i) - ends.begin());
    body(jobs[job], i - (job == 0 ? 0 : ends[job - 1]));
  });
}

template <auto Kernel>
void transform(const site& on, std::span<const array_job> jobs) {
  const std::uint32_t limbs = limbs_of(on);
  const std::size_t n = on.resolve.n();
  for_each_item(
      on, jobs, [&](const array_job& job) { return std::size_t{job.count} * limbs; }, 8 * n,
      [&](const array_job& job, std::size_t item) {
        const auto prime = static_cast<std::uint32_t>(item % limbs);
        (on.kernels.*Kernel)(polynomials(on, job.dst).at(item / limbs) + prime * n,
                             polynomials(on, job.src).at(item / limbs) + prime * n, on.resolve.tables(prime));
      });
}

/// Calls `body(job, offset, prime)` for each limb of both polynomials of each ciphertext i; `offset` in words
/// from the ciphertext's beginning.
template <typename JobT, typename BodyT>
void for_each_pair_limb(const site& on, std::span<const JobT> jobs, std::size_t passes, const BodyT& body) {
  const std::uint32_t limbs = limbs_of(on);
  const std::size_t n = on.resolve.n();
  for_each_item(
      on, jobs, [&](const JobT& job) { return std::size_t{job.count} * 2 * limbs; }, passes * n,
      [&](const JobT& job, std::size_t item) {
        const std::size_t within = item % (2 * limbs);
        body(job, item / (2 * limbs), within * n, static_cast<std::uint32_t>(within % limbs));
      });
}

void array_sub(const site& on, std::span<const array_sub_job> jobs) {
  for_each_pair_limb(
      on, jobs, 3, [&](const array_sub_job& job, std::size_t i, std::size_t offset, std::uint32_t prime) {
        on.kernels.sub(polynomials(on, job.dst).at(i) + offset, polynomials(on, job.a).at(i) + offset,
                       polynomials(on, job.b).at(i) + offset, on.resolve.n(), on.resolve.modulus(prime));
      });
}

void array_scale(const site& on, std::span<const array_scale_job> jobs) {
  for_each_pair_limb(on, jobs, 2,
                     [&](const array_scale_job& job, std::size_t i, std::size_t offset, std::uint32_t prime) {
                       on.kernels.scalar_multiply(
                           polynomials(on, job.dst).at(i) + offset, polynomials(on, job.src).at(i) + offset,
                           static_cast<word>(job.factors[prime]), on.resolve.n(), on.resolve.modulus(prime));
                     });
}

split_source source_of(const site& on, const word* src, std::uint32_t prime, const digit_split& split) {
  return {src + prime * on.resolve.n(), prime, &on.resolve.modulus(0), limbs_of(on), split};
}

void split_digits(const site& on, std::span<const split_job> jobs) {
  const std::uint32_t limbs = limbs_of(on);
  const std::size_t n = on.resolve.n();
  for_each_item(
      on, jobs, [&](const split_job& job) { return std::size_t{job.count} * limbs; },
      n * (jobs.front().split.digits * limbs + 1),
      [&](const split_job& job, std::size_t item) {
        const auto prime = static_cast<std::uint32_t>(item % limbs);
        on.kernels.retrieval->split(
            polynomials(on, job.dst).at(item * job.split.digits), job.dst.stride * n,
            source_of(on, polynomials(on, job.src).at(item / limbs), prime, job.split), n);
      });
}

/// One limb of a product: terms at `digits + r * stride` with rows at `rows`.
struct product_limb {
  word* dst;           ///< first word of the ciphertext
  const word* digits;  ///< first word of the first digit polynomial
  std::size_t stride;  ///< words between digit polynomials
  polynomials rows;    ///< ciphertexts
  std::size_t terms;
  const word* plus[2];  ///< polynomials, or nullptr
  const std::uint32_t* permutation;
};

void run_product(const site& on, const product_limb& job, std::uint32_t prime) {
  const std::size_t n = on.resolve.n();
  const std::size_t second = limbs_of(on) * n, at = prime * n;
  std::array<product_term, 64> terms;
  for (std::size_t r = 0; r < job.terms; ++r) {
    const word* const row = job.rows.at(r) + at;
    terms[r] = {job.digits + r * job.stride + at, {row, row + second}};
  }
  word* const dst[2] = {job.dst + at, job.dst + second + at};
  const word* const plus[2] = {job.plus[0] != nullptr ? job.plus[0] + at : nullptr,
                               job.plus[1] != nullptr ? job.plus[1] + at : nullptr};
  on.kernels.retrieval->product(dst, terms.data(), job.terms, plus, job.permutation, n,
                                on.resolve.modulus(prime));
}

void digit_product(const site& on, std::span<const digit_product_job> jobs) {
  const std::uint32_t limbs = limbs_of(on);
  const std::size_t n = on.resolve.n();
  for_each_item(
      on, jobs, [&](const digit_product_job& job) { return std::size_t{job.count} * limbs; },
      n * (3 * jobs.front().terms + 2),
      [&](const digit_product_job& job, std::size_t item) {
        const std::size_t i = item / limbs;
        const auto* const permutation =
            job.permutation != nullptr ? on.resolve.raw<std::uint32_t>(*job.permutation) : nullptr;
        run_product(on,
                    {polynomials(on, job.dst).at(i),
                     polynomials(on, job.digits).at(i * job.terms),
                     job.digits.stride * n,
                     polynomials(on, job.rows),
                     job.terms,
                     {polynomials(on, job.plus0).at(i), polynomials(on, job.plus1).at(i)},
                     permutation},
                    static_cast<std::uint32_t>(item % limbs));
      });
}

/// Both children of parent i, on the limb at `offset` of their ciphertexts.
void run_children(const site& on, const children_job& job, std::size_t i, const word* turned,
                  std::size_t offset, std::uint32_t prime) {
  const polynomials dst(on, job.dst);
  word* const odd = 2 * i + 1 < job.children ? dst.at(2 * i + 1) + offset : nullptr;
  on.kernels.retrieval->children(dst.at(2 * i) + offset, odd, polynomials(on, job.src).at(i) + offset,
                                 turned + offset,
                                 polynomials(on, job.monomial).at(0) + prime * on.resolve.n(), on.resolve.n(),
                                 on.resolve.modulus(prime));
}

std::size_t parents_of(std::uint32_t children) { return std::size_t{children} / 2 + children % 2; }

void expand_children(const site& on, std::span<const children_job> jobs) {
  const std::uint32_t limbs = limbs_of(on);
  const std::size_t n = on.resolve.n();
  for_each_item(
      on, jobs, [&](const children_job& job) { return parents_of(job.children) * 2 * limbs; }, 5 * n,
      [&](const children_job& job, std::size_t item) {
        const std::size_t i = item / (2 * limbs), within = item % (2 * limbs);
        run_children(on, job, i, polynomials(on, job.turned).at(i), within * n,
                     static_cast<std::uint32_t>(within % limbs));
      });
}

/// Scratch of a thread: grows to what the largest fused node needs, and stays.
word* scratch(std::size_t words) {
  thread_local std::vector<word> memory;
  if (memory.size() < words) memory.resize(words);
  return memory.data();
}

/// Transformed digits of a polynomial in NTT form; `coefficients` has room for it. A single digit of a
/// residue is the residue itself, so on its own prime it is transformed already.
void make_digits(const site& on, word* digits, word* coefficients, const word* src,
                 const digit_split& split) {
  const std::uint32_t limbs = limbs_of(on);
  const std::size_t n = on.resolve.n();
  for (std::uint32_t l = 0; l < limbs; ++l) {
    on.kernels.intt(coefficients + l * n, src + l * n, on.resolve.tables(l));
  }
  for (std::uint32_t l = 0; l < limbs; ++l) {
    on.kernels.retrieval->split(digits + std::size_t{l} * split.digits * limbs * n, limbs * n,
                                source_of(on, coefficients, l, split), n);
  }
  for (std::size_t each = 0; each < std::size_t{limbs} * split.digits * limbs; ++each) {
    word* const limb = digits + each * n;
    const std::size_t prime = each % limbs;
    if (split.digits == 1 && each / limbs == prime) {
      std::copy_n(src + prime * n, n, limb);
    } else {
      on.kernels.ntt(limb, limb, on.resolve.tables(static_cast<std::uint32_t>(prime)));
    }
  }
}

/// Blocks of points of a limb.
std::size_t blocks_of(const site& on) { return on.resolve.n() / points_per_block; }

word* block_of(const site& on, const point_matrix& matrix, std::size_t block) {
  return const_cast<word*>(on.resolve.raw<word>(*matrix.data)) + block * matrix.rows * points_per_block;
}

/// Where a limb of a child goes: blocks of points, `step` words from one to the next, and points within them
/// `spread` words apart.
struct child_place {
  word* first = nullptr;  ///< nullptr: there is no such child
  std::size_t step = points_per_block;
  std::size_t spread = 1;

  /// Where a kernel writes block b: to `own`, for `finish`, if its points are apart.
  [[nodiscard]] word* block(std::size_t b, word* own) const noexcept {
    if (first == nullptr || spread != 1) return first == nullptr ? nullptr : own;
    return first + b * step;
  }
  void finish(std::size_t b, const word* own) const noexcept {
    if (first == nullptr || spread == 1) return;
    for (std::size_t j = 0; j < points_per_block; ++j) first[b * step + j * spread] = own[j];
  }
};

/// @param limb of both components
child_place place_of(const site& on, const expand_job& job, std::size_t child, std::size_t limb) {
  if (child >= job.children) return {};
  if (child >= job.turned) {
    return {polynomials(on, job.dst).at(child - job.turned) + limb * on.resolve.n()};
  }
  const std::size_t limbs = limbs_of(on), row = 2 * child + limb / limbs;
  return {block_of(on, job.points, limb % limbs * blocks_of(on)) + row * job.points.block,
          std::size_t{job.points.rows} * points_per_block, job.points.block == 1 ? job.points.rows : 1};
}

/// Both children of node i, on one limb: in one piece, or block by block where a child is turned.
void place_children(const site& on, const expand_job& job, std::size_t i, const word* turned,
                    std::size_t limb) {
  const std::size_t n = on.resolve.n(), prime = limb % limbs_of(on);
  const child_place even = place_of(on, job, 2 * i, limb), odd = place_of(on, job, 2 * i + 1, limb);
  const bool whole = even.step == points_per_block && odd.step == points_per_block;
  const std::size_t piece = whole ? n : points_per_block;
  const word* const src = polynomials(on, job.src).at(i) + limb * n;
  const word* const monomial = polynomials(on, job.monomial).at(0) + prime * n;
  for (std::size_t b = 0; b < n / piece; ++b) {
    const std::size_t at = b * piece;
    word own[2][points_per_block];
    on.kernels.retrieval->children(even.block(b, own[0]), odd.block(b, own[1]), src + at,
                                   turned + limb * n + at, monomial + at, piece,
                                   on.resolve.modulus(static_cast<std::uint32_t>(prime)));
    even.finish(b, own[0]);
    odd.finish(b, own[1]);
  }
}

void expand_node(const site& on, std::span<const expand_job> jobs) {
  const std::uint32_t limbs = limbs_of(on);
  const std::size_t n = on.resolve.n(), polynomial = limbs * n;
  const auto run = [&](const expand_job& job, std::size_t i) {
    const std::size_t terms = std::size_t{limbs} * job.split.digits;
    word* const digits = scratch((terms + 3) * polynomial);
    word* const turned = digits + terms * polynomial;
    const word* const src = polynomials(on, job.src).at(i);
    make_digits(on, digits, turned + 2 * polynomial, src + polynomial, job.split);
    for (std::uint32_t l = 0; l < limbs; ++l) {
      run_product(on,
                  {turned,
                   digits,
                   polynomial,
                   polynomials(on, job.rows),
                   terms,
                   {src, nullptr},
                   on.resolve.raw<std::uint32_t>(*job.permutation)},
                  l);
    }
    for (std::size_t limb = 0; limb < 2 * limbs; ++limb) place_children(on, job, i, turned, limb);
  };
  for_each_item(
      on, jobs, [](const expand_job& job) { return parents_of(job.children); }, polynomial * limbs * 16, run);
}

/// A selection between two ciphertexts.
struct selection {
  word* dst;  ///< may be x or y
  const word* x;
  const word* y;
  polynomials rows;
};

void run_selection(const site& on, const selection& of, const digit_split& split) {
  const std::uint32_t limbs = limbs_of(on);
  const std::size_t n = on.resolve.n(), polynomial = limbs * n;
  const std::size_t half = std::size_t{limbs} * split.digits;
  word* const digits = scratch((2 * half + 2) * polynomial);
  word* const difference = digits + 2 * half * polynomial;
  for (unsigned c = 0; c < 2; ++c) {
    for (std::uint32_t l = 0; l < limbs; ++l) {
      const std::size_t at = c * polynomial + l * n;
      on.kernels.sub(difference + l * n, of.y + at, of.x + at, n, on.resolve.modulus(l));
    }
    make_digits(on, digits + c * half * polynomial, difference + polynomial, difference, split);
  }
  for (std::uint32_t l = 0; l < limbs; ++l) {
    run_product(on, {of.dst, digits, polynomial, of.rows, 2 * half, {of.x, of.x + polynomial}, nullptr}, l);
  }
}

/// Words that a selection touches.
std::size_t selection_words(const site& on) { return on.resolve.n() * limbs_of(on) * limbs_of(on) * 32; }

void select_pair(const site& on, std::span<const select_job> jobs) {
  for_each_item(
      on, jobs, [](const select_job& job) { return std::size_t{job.count}; }, selection_words(on),
      [&](const select_job& job, std::size_t i) {
        run_selection(on,
                      {polynomials(on, job.dst).at(i), polynomials(on, job.x).at(i),
                       polynomials(on, job.y).at(i), polynomials(on, job.rows)},
                      job.split);
      });
}

void select_tree(const site& on, std::span<const select_tree_job> jobs) {
  const std::uint32_t terms = 2 * limbs_of(on);
  for_each_item(
      on, jobs, [](const select_tree_job& job) { return std::size_t{job.kept}; },
      selection_words(on) << most_tree_bits,
      [&](const select_tree_job& job, std::size_t i) {
        const polynomials data(on, job.data);
        for (unsigned bit = job.bits; bit-- > 0;) {
          const polynomials rows(on, job.rows.from(bit * terms * job.split.digits));
          const std::size_t distance = std::size_t{job.kept} << bit;
          for (std::size_t x = i; x < distance; x += job.kept) {
            if (x + distance >= job.columns) continue;
            run_selection(on, {data.at(x), data.at(x), data.at(x + distance), rows}, job.split);
          }
        }
      });
}

void turn_points(const site& on, std::span<const turn_job> jobs) {
  const std::size_t blocks = limbs_of(on) * blocks_of(on);
  constexpr std::size_t bytes = points_per_block * sizeof(word);
  for_each_item(
      on, jobs, [&](const turn_job&) { return blocks; }, 2 * points_per_block * jobs.front().count,
      [&](const turn_job& job, std::size_t block) {
        word* const dst = block_of(on, job.dst, block);
        const polynomials src(on, job.src);
        if (job.dst.block == 1) {
          const auto from = [&](std::uint32_t i) { return src.at(i) + block * points_per_block; };
          return turn_point_major(dst, job, from);
        }
        for (std::uint32_t i = 0; i < job.count; ++i) {
          const std::size_t row = job.first + std::size_t{i} * job.step;
          std::memcpy(dst + row * points_per_block, src.at(i) + block * points_per_block, bytes);
        }
      });
}

/// Columns that all queries meet before the next ones: their rows stay in the second-level cache. A multiple
/// of 3 and 2, of which kernels make tiles.
std::size_t columns_at_once(const row_select_job& job) {
  if (job.queries.size() == 1) return job.columns;
  constexpr std::size_t cached = std::size_t{1} << 18, tile = 6;
  const std::size_t column = job.rows * points_per_block * sizeof(word);
  return std::max(cached / column / tile * tile, tile / 2);
}

/// One block of points of `count` columns from `first` on, for one query. `dst` has room for two pointers of
/// each.
void select_columns(const site& on, const row_select_job& job, const row_query& query, std::size_t block,
                    std::size_t first, std::size_t count, word** dst) {
  const std::size_t per_limb = blocks_of(on), polynomial = limbs_of(on) * on.resolve.n();
  for (std::size_t i = 0; i < count; ++i) {
    dst[2 * i] = polynomials(on, query.dst).at(first + i) + block * points_per_block;
    dst[2 * i + 1] = dst[2 * i] + polynomial;
  }
  const word* const rows = block_of(on, job.database, block) + first * job.rows * points_per_block;
  on.kernels.retrieval->row_select(
      dst, {rows, block_of(on, query.selectors, block), job.rows, static_cast<std::uint32_t>(count)},
      on.resolve.modulus(static_cast<std::uint32_t>(block / per_limb)));
}

/// The points of a block of all columns, point-major, for one query.
void select_point_major(const site& on, const row_select_job& job, const row_query& query,
                        std::size_t block) {
  const auto limb = static_cast<std::uint32_t>(block / blocks_of(on));
  const std::size_t polynomial = limbs_of(on) * on.resolve.n();
  for (std::uint32_t j = 0; j < job.columns; ++j) {
    word* const first = polynomials(on, query.dst).at(j) + block * points_per_block;
    select_points({first, first + polynomial}, block_of(on, job.database, block),
                  block_of(on, query.selectors, block), {job.rows, job.columns, j}, on.resolve.modulus(limb));
  }
}

void row_select(const site& on, std::span<const row_select_job> jobs) {
  const std::size_t blocks = limbs_of(on) * blocks_of(on);
  const auto run = [&](const row_select_job& job, std::size_t block) {
    if (job.database.block == 1) {
      for (const row_query& query : job.queries) select_point_major(on, job, query, block);
      return;
    }
    const std::size_t step = columns_at_once(job);
    std::vector<word*> dst(2 * std::min<std::size_t>(step, job.columns));
    for (std::size_t first = 0; first < job.columns; first += step) {
      const std::size_t count = std::min(step, job.columns - first);
      for (const row_query& query : job.queries) {
        select_columns(on, job, query, block, first, count, dst.data());
      }
    }
  };
  const row_select_job& first = jobs.front();
  for_each_item(
      on, jobs, [&](const row_select_job&) { return blocks; },
      std::size_t{first.rows} * first.columns * points_per_block * first.queries.size(), run);
}

/// (q / q_l)^-1 modulo each prime.
std::vector<word> inverse_cofactors(const site& on) {
  std::vector<word> result;
  for (std::uint32_t l = 0; l < limbs_of(on); ++l) {
    const auto& q = on.resolve.modulus(l);
    word product = 1;
    for (std::uint32_t other = 0; other < limbs_of(on); ++other) {
      if (other != l) product = arith::mul_mod(product, on.resolve.modulus(other).value % q.value, q);
    }
    result.push_back(arith::pow_mod(product, q.value - 2, q));
  }
  return result;
}

void round_answer(const site& on, std::span<const round_answer_job> jobs) {
  const std::uint32_t limbs = limbs_of(on);
  const std::size_t n = on.resolve.n();
  const std::vector<word> inverses = inverse_cofactors(on);
  for_each_item(
      on, jobs, [](const round_answer_job& job) { return std::size_t{job.count} * 2; }, n * (limbs + 2),
      [&](const round_answer_job& job, std::size_t item) {
        const std::size_t i = item / 2, c = item % 2;
        std::vector<const word*> src(limbs);
        for (std::uint32_t l = 0; l < limbs; ++l) {
          src[l] = polynomials(on, job.src).at(i) + (c * limbs + l) * n;
        }
        auto* const dst = const_cast<std::uint64_t*>(on.resolve.raw<std::uint64_t>(*job.dst)) +
                          ((job.first + i) * 2 + c) * n;
        on.kernels.retrieval->round(dst, src.data(), &on.resolve.modulus(0), inverses.data(), limbs,
                                    job.bits[c], n);
      });
}

void unpack_plain(const site& on, std::span<const unpack_job> jobs) {
  const std::uint32_t limbs = limbs_of(on);
  const std::size_t n = on.resolve.n();
  for_each_item(
      on, jobs, [&](const unpack_job& job) { return std::size_t{job.count} * limbs; }, 4 * n,
      [&](const unpack_job& job, std::size_t item) {
        const std::size_t i = item / limbs, l = item % limbs;
        const auto* const bytes = on.resolve.raw<std::uint8_t>(*job.src) + job.offset + i * job.stride;
        on.kernels.retrieval->unpack(polynomials(on, job.dst).at(i) + l * n, {bytes, job.bytes, job.bits},
                                     static_cast<word>(job.factors[l]), n,
                                     on.resolve.modulus(static_cast<std::uint32_t>(l)));
      });
}

}  // namespace

op_table<executor<std::uint32_t>> retrieval_operations() {
  using set = kernel_set<word>;
  return op_table<executor<word>>{
      row<transform<&set::ntt>>(ops::array_ntt),
      row<transform<&set::intt>>(ops::array_intt),
      row<array_sub>(ops::array_sub),
      row<array_scale>(ops::array_scale),
      row<split_digits>(ops::split_digits),
      row<digit_product>(ops::digit_product),
      row<expand_children>(ops::expand_children),
      row<expand_node>(ops::expand_node),
      row<select_pair>(ops::select_pair),
      row<select_tree>(ops::select_tree),
      row<turn_points>(ops::turn_points),
      row<row_select>(ops::row_select),
      row<round_answer>(ops::round_answer),
      row<unpack_plain>(ops::unpack_plain),
  };
}

}  // namespace halocline::backend::cpu
