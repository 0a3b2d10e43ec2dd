// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "backend/cpu/executor.hpp"

namespace halocline::backend::cpu {
namespace {

/// Pointers to the polynomials of entries.
template <typename WordT>
class entries {
 public:
  entries(const executor<WordT>& on, const matrix_view& view, std::uint32_t polys, window primes)
      : first_(on.resolve.limb({view.data, view.limb, primes}, 0)),
        columns_(view.columns),
        poly_(primes.count * on.resolve.n()),
        entry_(polys * poly_),
        n_(on.resolve.n()) {}

  [[nodiscard]] WordT* limb(std::size_t row, std::size_t column, std::size_t poly, std::size_t i) const {
    return first_ + (row * columns_ + column) * entry_ + poly * poly_ + i * n_;
  }

 private:
  WordT* first_;
  std::size_t columns_, poly_, entry_, n_;
};

/// A row of the product modulo one prime: sums of products, three for each entry.
template <typename WordT>
class matrix_row {
 public:
  matrix_row(const executor<WordT>& on, const matrix_job& job)
      : on_(on),
        job_(job),
        a_(on, job.a, 2, job.primes),
        b_(on, job.b, 2, job.primes),
        c_(on, job.c, 3, job.primes) {}

  void run(std::size_t row, std::uint32_t i) const {
    const std::size_t inner = job_.a.columns, n = on_.resolve.n(), size = std::min(chunk_words, n);
    const auto& q = on_.resolve.modulus(job_.primes.first + i);
    const std::vector<std::uint8_t> repeats(2 * inner, 0);
    for (std::size_t begin = 0; begin < n; begin += size) {
      for (std::size_t column = 0; column < job_.c.columns; ++column) {
        std::array<std::vector<const WordT*>, 3> left, right;
        for (std::size_t t = 0; t < inner; ++t) {
          for (std::size_t x = 0; x < 2; ++x) {
            for (std::size_t y = 0; y < 2; ++y) {
              left[x + y].push_back(a_.limb(row, t, x, i));
              right[x + y].push_back(b_.limb(t, column, y, i));
            }
          }
        }
        for (std::size_t k = 0; k < 3; ++k) {
          on_.kernels.dot(c_.limb(row, column, k, i), left[k].data(), right[k].data(), repeats.data(),
                          left[k].size(), job_.accumulate, begin, size, q);
        }
      }
    }
  }

 private:
  const executor<WordT>& on_;
  const matrix_job& job_;
  entries<WordT> a_, b_, c_;
};

template <typename WordT>
void tensor_matrix(const executor<WordT>& on, std::span<const matrix_job> jobs) {
  for (const matrix_job& job : jobs) {
    const matrix_row<WordT> product(on, job);
    const std::size_t rows = job.c.rows, items = rows * job.primes.count;
    parallel_for(on.pool, items, items * job.c.columns * (8 * job.a.columns + 3) * on.resolve.n(),
                 [&](std::size_t i) { product.run(i % rows, static_cast<std::uint32_t>(i / rows)); });
  }
}

}  // namespace

template <typename WordT>
op_table<executor<WordT>> matrix_operations() {
  return op_table<executor<WordT>>{row<tensor_matrix<WordT>>(ops::tensor_matrix)};
}

template op_table<executor<std::uint32_t>> matrix_operations();
template op_table<executor<std::uint64_t>> matrix_operations();

}  // namespace halocline::backend::cpu
