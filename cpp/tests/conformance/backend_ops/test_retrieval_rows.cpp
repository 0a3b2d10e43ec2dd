// SPDX-License-Identifier: Apache-2.0
// turn_points and row_select.
#include "retrieval_fixture.hpp"

namespace {

using namespace halocline;
using namespace halocline::test;
using backend::point_matrix;
using backend::points_per_block;
using backend::row_select_job;
using backend::turn_job;

using words = std::vector<std::uint32_t>;

/// Blocks of points that a matrix may have.
constexpr std::uint32_t blocks[] = {points_per_block, 1};

/// A matrix of poisoned points with a poisoned limb behind.
point_matrix poisoned_matrix(retrieval_rig& rig, std::uint32_t rows, std::uint32_t block) {
  const std::size_t limbs = rows * rig.host.primes.size() + 1;
  return {&rig.ring.keep(std::vector<unsigned char>(limbs * rig.tables().limb_bytes(), rig.ring.poison)),
          rows, block};
}

words read_matrix(retrieval_rig& rig, const point_matrix& matrix) {
  words made(matrix.data->size() / sizeof(std::uint32_t));
  rig.device().download(std::as_writable_bytes(std::span(made)), *matrix.data, 0);
  return made;
}

/// Where a matrix has point j of limb l of row r.
std::size_t place_of(const ring32& host, const point_matrix& matrix, std::size_t l, std::size_t r,
                     std::size_t j) {
  const std::size_t block = l * host.n() / matrix.block + j / matrix.block;
  return (block * matrix.rows + r) * matrix.block + j % matrix.block;
}

void check_points(const ring32& host, const polys& a, std::uint32_t full_block, std::uint32_t partial_block) {
  on_each_device(host, [&](retrieval_rig& rig) {
    const placed_array src = rig.singles(a, 1);
    const point_matrix full = poisoned_matrix(rig, 4, full_block),
                       partial = poisoned_matrix(rig, 9, partial_block);
    // The last job takes rows 0 to 3 all at once; those before it leave rows 0 and 5 to 7 as they are.
    const std::vector<turn_job> jobs{{partial, 1, 1, src, 1},
                                     {partial, 2, 2, src.view().from(1), 2},
                                     {partial, 3, 5, src.view().from(5), 2},
                                     {full, 0, 1, src.view().from(2), 4}};
    words expected = read_matrix(rig, partial), expected_full = read_matrix(rig, full);
    const std::size_t rows[] = {1, 2, 4, 3, 8}, sources[] = {0, 1, 2, 5, 6};
    for (std::size_t l = 0; l < host.primes.size(); ++l) {
      for (std::size_t j = 0; j < host.n(); ++j) {
        for (std::size_t i = 0; i < 5; ++i)
          expected[place_of(host, partial, l, rows[i], j)] = a[sources[i]][l][j];
        for (std::size_t r = 0; r < 4; ++r) expected_full[place_of(host, full, l, r, j)] = a[2 + r][l][j];
      }
    }
    rig.device().turn_points(rig.tables(), jobs);
    ASSERT_EQ(read_matrix(rig, partial), expected);
    ASSERT_EQ(read_matrix(rig, full), expected_full);
  });
}

TEST(RetrievalRows, PointsGoWhereRowSelectReadsThem) {
  for_each_retrieval_ring([](const ring32& host, std::mt19937_64& random) {
    const polys a = random_polys(host, 7, random);
    for (const std::uint32_t full : blocks) {
      for (const std::uint32_t partial : blocks) check_points(host, a, full, partial);
    }
  });
}

/// More polynomials than a tile has, as selectors are.
TEST(RetrievalRows, ManyPolynomialsPointMajor) {
  const ring32 host = retrieval_ring(6, {29, 28});
  std::mt19937_64 random(test_seed());
  const polys a = random_polys(host, 75, random);
  on_each_device(host, [&](retrieval_rig& rig) {
    const placed_array src = rig.singles(a, 0);
    const point_matrix matrix = poisoned_matrix(rig, 160, 1);
    words expected = read_matrix(rig, matrix);
    for (std::size_t l = 0; l < host.primes.size(); ++l) {
      for (std::size_t j = 0; j < host.n(); ++j) {
        for (std::size_t i = 0; i < a.size(); ++i)
          expected[place_of(host, matrix, l, 3 + 2 * i, j)] = a[i][l][j];
      }
    }
    const turn_job job{matrix, 3, 2, src, 75};
    rig.device().turn_points(rig.tables(), {&job, 1});
    ASSERT_EQ(read_matrix(rig, matrix), expected);
  });
}

/// Polynomials as a matrix, in the order of its definition.
point_matrix matrix_of(retrieval_rig& rig, const polys& values, std::uint32_t block) {
  words points(values.size() * rig.host.primes.size() * rig.host.n());
  const point_matrix shape{nullptr, static_cast<std::uint32_t>(values.size()), block};
  for (std::size_t r = 0; r < values.size(); ++r) {
    for (std::size_t l = 0; l < rig.host.primes.size(); ++l) {
      for (std::size_t j = 0; j < rig.host.n(); ++j) {
        points[place_of(rig.host, shape, l, r, j)] = values[r][l][j];
      }
    }
  }
  return {&rig.ring.keep(points), shape.rows, block};
}

/// Selected columns by definition, with 128-bit sums.
polys selected(const ring32& host, const polys& database, const polys& selectors) {
  const std::size_t rows = selectors.size() / 2, columns = database.size() / rows;
  polys made;
  for (std::size_t at = 0; at < 2 * columns; ++at) {
    poly& sum = made.emplace_back(host.primes.size(), words(host.n()));
    for (std::size_t l = 0; l < host.primes.size(); ++l) {
      const std::uint64_t q = host.primes[l], inverse = inverse_word(q);
      for (std::size_t j = 0; j < host.n(); ++j) {
        u128 exact = 0;
        for (std::size_t r = 0; r < rows; ++r) {
          exact += static_cast<u128>(selectors[2 * r + at % 2][l][j]) * database[at / 2 * rows + r][l][j];
        }
        sum[l][j] = static_cast<std::uint32_t>(naive_mul(static_cast<std::uint64_t>(exact % q), inverse, q));
      }
    }
  }
  return made;
}

void check_select(const ring32& host, std::uint32_t rows, std::uint32_t columns, std::size_t queries,
                  std::mt19937_64& random, bool largest = false) {
  const auto draw = [&](std::size_t count) {
    polys made = random_polys(host, count, random);
    for (poly& x : made) {
      for (std::size_t l = 0; largest && l < x.size(); ++l)
        std::fill(x[l].begin(), x[l].end(), host.primes[l] - 1);
    }
    return made;
  };
  const polys database = draw(std::size_t{rows} * columns), other = draw(rows);
  std::vector<polys> selectors, expected;
  for (std::size_t i = 0; i < queries; ++i) {
    selectors.push_back(draw(std::size_t{2} * rows));
    expected.push_back(selected(host, database, selectors.back()));
  }
  const polys alone = selected(host, other, selectors[0]);
  const auto check = [&](retrieval_rig& rig, std::uint32_t block) {
    row_select_job job{matrix_of(rig, database, block), rows, columns, {}};
    std::vector<placed_array> dst;
    for (std::size_t i = 0; i < queries; ++i) {
      dst.push_back(rig.room(columns, 2, static_cast<std::uint32_t>(i % 3)));
      job.queries.push_back({matrix_of(rig, selectors[i], block), dst.back()});
    }
    const placed_array single = rig.room(1, 2);
    const std::vector<row_select_job> jobs{
        job, {matrix_of(rig, other, block), rows, 1, {{job.queries[0].selectors, single}}}};
    rig.device().row_select(rig.tables(), jobs);
    for (std::size_t i = 0; i < queries; ++i) {
      ASSERT_EQ(dst[i].read(), expected[i]) << rows << " rows, " << columns << " columns, query " << i;
      ASSERT_TRUE(dst[i].guards_intact());
    }
    ASSERT_EQ(single.read(), alone);
    ASSERT_TRUE(single.guards_intact());
  };
  on_each_device(host, [&](retrieval_rig& rig) {
    for (const std::uint32_t block : blocks) check(rig, block);
  });
}

TEST(RetrievalRows, SelectionsOfAllShapes) {
  for_each_retrieval_ring([](const ring32& host, std::mt19937_64& random) {
    for (const std::uint32_t rows : {1U, 5U, 17U}) {
      for (const std::uint32_t columns : {1U, 4U, 7U}) {
        if (host.log_n > 9 && rows * columns > 40) continue;
        check_select(host, rows, columns, 1 + rows % 4, random);
      }
    }
  });
}

TEST(RetrievalRows, ManyColumnsAndQueries) {
  const ring32 host = retrieval_ring(5, {29, 29});
  std::mt19937_64 random(test_seed());
  check_select(host, 3, 300, 5, random);
  check_select(host, 64, 33, 9, random);
  // Tiles of warpgroups: more columns and queries than one has, and shapes that fill none.
  check_select(host, 32, 130, 17, random);
  check_select(host, 100, 97, 40, random);
  check_select(host, 4, 257, 70, random);
  check_select(host, 228, 60, 2, random);
}

/// Long sums need reductions on the way: residues of 30 bits fill 64 bits after 16 products.
TEST(RetrievalRows, LongSumsOfTheLargestResidues) {
  std::mt19937_64 random(test_seed());
  for (const std::vector<double>& sizes : {std::vector<double>{30, 29.5}, {20.5, 20.1}, {26.5, 26.5}}) {
    const ring32 host = retrieval_ring(5, sizes);
    for (const std::uint32_t rows : {8U, 15U, 16U, 31U, 32U, 33U, 512U, 1000U, 2500U}) {
      check_select(host, rows, 2, 1, random, true);
    }
    check_select(host, 700, 5, 3, random);
  }
}

}  // namespace
