// SPDX-License-Identifier: Apache-2.0
// Checks of the descriptors of private retrieval. A ghost checks what every backend does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "halocline/arith/modulus.hpp"
#include "halocline/backend/registry.hpp"

namespace halocline::backend {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// A ring without contents, and buffers of it.
struct empty_ring {
  static constexpr std::uint32_t limbs = 200;

  explicit empty_ring(unsigned log_n = 6, std::vector<std::uint64_t> primes = {536870849, 536870657},
                      unsigned word_bits = 32)
      : device(make_backend("ghost")) {
    tables.log_n = log_n;
    tables.word_bits = word_bits;
    tables.primes = std::move(primes);
    const auto allocate = [&](std::size_t bytes) {
      return device->runtime().allocate(bytes, memory::object_class::table, "test");
    };
    const std::size_t modulus =
        word_bits == 32 ? sizeof(arith::modulus<std::uint32_t>) : sizeof(arith::modulus<std::uint64_t>);
    tables.moduli = allocate(tables.primes.size() * modulus);
    tables.roots = allocate(4 * tables.primes.size() * tables.limb_bytes());
    a = allocate(limbs * tables.limb_bytes());
    b = allocate(limbs * tables.limb_bytes());
  }
  [[nodiscard]] static poly_array array(const memory::buffer& data, std::uint32_t first = 0,
                                        std::uint32_t stride = 4) {
    return {&data, first, stride};
  }

  std::shared_ptr<backend> device;
  ring_tables tables;
  memory::buffer a, b;
};

template <typename JobT>
using function = void (backend::*)(const ring_tables&, std::span<const JobT>, stream_view);

/// Expects that an operation refuses a job with this text in the message.
template <typename JobT>
void refused(empty_ring& ring, function<JobT> op, const JobT& job, const char* text) {
  EXPECT_THAT([&] { ((*ring.device).*op)(ring.tables, std::span(&job, 1), {}); },
              ThrowsMessage<invalid_argument>(HasSubstr(text)));
}
template <typename JobT>
void accepted(empty_ring& ring, function<JobT> op, const JobT& job) {
  EXPECT_NO_THROW(((*ring.device).*op)(ring.tables, std::span(&job, 1), {}));
}

constexpr digit_split good_split{2, 15};

TEST(RetrievalJobs, TransformsOfArrays) {
  empty_ring ring;
  const poly_array a = ring.array(ring.a), b = ring.array(ring.b);
  accepted<array_job>(ring, &backend::array_ntt, {a, a, 50});
  accepted<array_job>(ring, &backend::array_ntt, {b, a, 50});
  refused<array_job>(ring, &backend::array_ntt, {a, a, 0}, "no polynomials");
  refused<array_job>(ring, &backend::array_intt, {b, a, 51}, "outside");
  refused<array_job>(ring, &backend::array_ntt, {ring.array(ring.a, 2), a, 3}, "overlaps a source in part");
  refused<array_job>(ring, &backend::array_ntt, {ring.array(ring.a, 0, 2), a, 3},
                     "overlaps a source in part");
  refused<array_job>(ring, &backend::array_ntt, {b, ring.array(ring.a, 0, 1), 2}, "after 1 limbs");
  accepted<array_job>(ring, &backend::array_ntt, {b, ring.array(ring.a, 0, 0), 1});
  empty_ring wide(6, {536870849, 536870657}, 64);
  refused<array_job>(wide, &backend::array_ntt, {wide.array(wide.a), wide.array(wide.a), 1}, "64 bits");
}

TEST(RetrievalJobs, DifferencesAndProductsWithConstants) {
  empty_ring ring;
  const poly_array a = ring.array(ring.a), b = ring.array(ring.b), shifted = ring.array(ring.a, 1);
  accepted<array_sub_job>(ring, &backend::array_sub, {a, a, a, 5});
  refused<array_sub_job>(ring, &backend::array_sub, {a, b, b, 0}, "no ciphertexts");
  refused<array_sub_job>(ring, &backend::array_sub, {a, shifted, b, 5}, "overlaps a source in part");
  refused<array_sub_job>(ring, &backend::array_sub, {a, b, shifted, 5}, "overlaps a source in part");
  refused<array_sub_job>(ring, &backend::array_sub, {a, ring.array(ring.b, 0, 3), b, 5},
                         "expected at least 4");
  accepted<array_scale_job>(ring, &backend::array_scale, {a, a, 5, {1, 2}});
  refused<array_scale_job>(ring, &backend::array_scale, {a, a, 0, {1, 2}}, "no ciphertexts");
  refused<array_scale_job>(ring, &backend::array_scale, {a, a, 5, {1}}, "1 factors for 2 primes");
  refused<array_scale_job>(ring, &backend::array_scale, {shifted, a, 5, {1, 2}}, "in part");
}

TEST(RetrievalJobs, Splits) {
  empty_ring ring;
  const auto job = [&](digit_split split, std::uint32_t count = 3) {
    return split_job{ring.array(ring.b, 0, 2), ring.array(ring.a), count, split};
  };
  accepted(ring, &backend::split_digits, job(good_split));
  accepted(ring, &backend::split_digits, job({1, 29}));
  accepted(ring, &backend::split_digits, job({8, 4}));
  accepted(ring, &backend::split_digits, job({8, 10}));
  accepted(ring, &backend::split_digits, job({8, 30}));
  refused(ring, &backend::split_digits, job(good_split, 0), "no polynomials");
  for (const digit_split& split : {digit_split{0, 15}, {9, 15}, {2, 2}, {2, 31}}) {
    refused(ring, &backend::split_digits, job(split), "expected 1 to 8 in base 2^3 to 2^30");
  }
  for (const digit_split& split : {digit_split{1, 28}, {2, 14}, {7, 4}, {8, 3}}) {
    refused(ring, &backend::split_digits, job(split), "do not cover the prime 536870849");
  }
  refused(ring, &backend::split_digits,
          split_job{ring.array(ring.a, 4, 2), ring.array(ring.a), 3, good_split}, "the result overlaps");
  refused(ring, &backend::split_digits, job(good_split, 26), "outside");
  empty_ring far(6, {536870849, 268435399});
  refused(far, &backend::split_digits, split_job{far.array(far.b, 0, 2), far.array(far.a), 3, good_split},
          "none that is twice");
}

TEST(RetrievalJobs, Products) {
  empty_ring ring;
  const poly_array dst = ring.array(ring.a), rows = ring.array(ring.b, 100),
                   digits = ring.array(ring.b, 0, 2);
  const auto job = [&](std::uint32_t terms, std::uint32_t count) {
    return digit_product_job{dst, digits, rows, terms, count, {}, {}, nullptr};
  };
  accepted(ring, &backend::digit_product, job(4, 6));
  refused(ring, &backend::digit_product, job(4, 0), "no ciphertexts");
  refused(ring, &backend::digit_product, job(0, 1), "0 terms");
  refused(ring, &backend::digit_product, job(65, 1), "65 terms");
  digit_product_job bad = job(4, 6);
  bad.dst = ring.array(ring.b, 47);
  refused(ring, &backend::digit_product, bad, "the result overlaps");
  bad.dst = ring.array(ring.b, 115);
  refused(ring, &backend::digit_product, bad, "the result overlaps");
  // Addends in the place of the result: the same component, and no permutation.
  digit_product_job within = job(4, 6);
  within.plus0 = dst;
  within.plus1 = ring.array(ring.a, 2);
  accepted(ring, &backend::digit_product, within);
  digit_product_job crossed = within;
  crossed.plus1 = dst;
  refused(ring, &backend::digit_product, crossed, "the result overlaps");
  within.permutation = &ring.b;
  refused(ring, &backend::digit_product, within, "the result overlaps");
}

TEST(RetrievalJobs, Expansions) {
  empty_ring ring;
  const poly_array dst = ring.array(ring.a), src = ring.array(ring.b), other = ring.array(ring.b, 20);
  const poly_array last = ring.array(ring.b, 60);
  accepted<children_job>(ring, &backend::expand_children, {dst, src, other, last, 5});
  refused<children_job>(ring, &backend::expand_children, {dst, src, other, last, 0}, "no children");
  const poly_array near = ring.array(ring.a, 19);
  refused<children_job>(ring, &backend::expand_children, {dst, near, other, last, 5}, "the result overlaps");
  refused<children_job>(ring, &backend::expand_children, {dst, src, near, last, 5}, "the result overlaps");
  refused<children_job>(ring, &backend::expand_children, {dst, src, other, near, 5}, "the result overlaps");

  const auto job = [&](std::uint32_t children) {
    return expand_job{dst, src, other, last, &ring.b, children, good_split};
  };
  accepted(ring, &backend::expand_node, job(5));
  refused(ring, &backend::expand_node, job(0), "no children");
  for (poly_array expand_job::*source : {&expand_job::src, &expand_job::rows, &expand_job::monomial}) {
    expand_job bad = job(5);
    bad.*source = near;
    refused(ring, &backend::expand_node, bad, "the result overlaps");
  }
  expand_job bad = job(5);
  bad.split = {1, 20};
  refused(ring, &backend::expand_node, bad, "do not cover");
  bad = job(5);
  bad.permutation = nullptr;
  EXPECT_THROW(ring.device->expand_node(ring.tables, std::span(&bad, 1)), error);
}

TEST(RetrievalJobs, ExpansionsThatTurnChildren) {
  empty_ring ring;
  const memory::buffer points = ring.device->runtime().allocate(10 * 2 * ring.tables.limb_bytes(),
                                                                memory::object_class::scratch, "points");
  const auto job = [&](std::uint32_t turned) {
    return expand_job{ring.array(ring.a),
                      ring.array(ring.b),
                      ring.array(ring.b, 20),
                      ring.array(ring.b, 60),
                      &ring.b,
                      5,
                      good_split,
                      {&points, 10},
                      turned};
  };
  accepted(ring, &backend::expand_node, job(0));
  accepted(ring, &backend::expand_node, job(4));
  expand_job all = job(5);
  all.dst = {};
  accepted(ring, &backend::expand_node, all);
  all.points.block = 1;
  accepted(ring, &backend::expand_node, all);
  all.points.block = 16;
  refused(ring, &backend::expand_node, all, "blocks of 16 points");
  refused(ring, &backend::expand_node, job(6), "6 of 5 children in a matrix of 10 rows");
  expand_job bad = job(4);
  bad.points.rows = 7;
  refused(ring, &backend::expand_node, bad, "4 of 5 children in a matrix of 7 rows");
  bad.points.rows = 11;
  refused(ring, &backend::expand_node, bad, "outside");
  for (const memory::buffer* const shared : {&ring.a, &ring.b}) {  // with dst, with what is read
    bad = job(4);
    bad.points.data = shared;
    refused(ring, &backend::expand_node, bad, "the result overlaps");
  }
  empty_ring small(4, {536870849, 536870657});
  refused(small, &backend::expand_node,
          expand_job{small.array(small.a),
                     small.array(small.b),
                     small.array(small.b, 20),
                     small.array(small.b, 60),
                     &small.b,
                     5,
                     good_split,
                     {&points, 10},
                     4},
          "ring degree 16; expected at least 32");
}

/// Sums of more than 64 terms do not fit the tables of kernels.
TEST(RetrievalJobs, FusedOperationsHaveNoMoreTermsThanProducts) {
  std::vector<std::uint64_t> primes;
  for (std::uint64_t i = 0; i < 9; ++i) primes.push_back(536870849 - 192 * i);
  empty_ring ring(6, primes);
  const poly_array dst = ring.array(ring.a, 0, 18), src = ring.array(ring.b, 0, 18);
  refused<expand_job>(ring, &backend::expand_node, {dst, src, src, src, &ring.b, 2, {8, 4}}, "72 terms");
  refused<select_job>(ring, &backend::select_pair, {dst, src, src, src, 1, {4, 8}}, "72 terms");
}

TEST(RetrievalJobs, Selections) {
  empty_ring ring;
  const poly_array x = ring.array(ring.a), y = ring.array(ring.a, 12), rows = ring.array(ring.b);
  accepted<select_job>(ring, &backend::select_pair, {x, x, y, rows, 3, good_split});
  refused<select_job>(ring, &backend::select_pair, {x, x, y, rows, 0, good_split}, "no ciphertexts");
  refused<select_job>(ring, &backend::select_pair, {x, x, y, rows, 4, good_split}, "the result overlaps");
  refused<select_job>(ring, &backend::select_pair, {y, x, y, rows, 3, good_split}, "the result overlaps");
  refused<select_job>(ring, &backend::select_pair, {x, x, y, ring.array(ring.a, 8), 3, good_split},
                      "the result overlaps");
  refused<select_job>(ring, &backend::select_pair,
                      {ring.array(ring.a, 30), ring.array(ring.a, 28), x, rows, 3, good_split}, "in part");
  refused<select_job>(ring, &backend::select_pair, {x, x, y, rows, 3, {1, 20}}, "do not cover");
}

TEST(RetrievalJobs, SelectionsBySeveralBits) {
  empty_ring ring;
  const auto job = [&](std::uint32_t columns, std::uint32_t kept, unsigned bits) {
    return select_tree_job{ring.array(ring.a), ring.array(ring.b), columns, kept, bits, good_split};
  };
  for (const std::uint32_t columns : {7U, 12U}) accepted(ring, &backend::select_tree, job(columns, 3, 2));
  accepted(ring, &backend::select_tree, job(2, 1, 1));
  accepted(ring, &backend::select_tree, job(8, 1, 3));
  refused(ring, &backend::select_tree, job(6, 3, 2), "expected more than 6 and at most 12");
  refused(ring, &backend::select_tree, job(13, 3, 2), "expected more than 6 and at most 12");
  refused(ring, &backend::select_tree, job(7, 0, 2), "no ciphertexts that are left");
  refused(ring, &backend::select_tree, job(7, 3, 0), "0 bits; expected 1 to 3");
  refused(ring, &backend::select_tree, job(16, 1, 4), "4 bits; expected 1 to 3");
  refused(ring, &backend::select_tree, job(52, 13, 2), "outside");
  select_tree_job bad = job(12, 3, 2);
  bad.rows = ring.array(ring.a, 46);
  refused(ring, &backend::select_tree, bad, "the result overlaps");
  bad.rows = ring.array(ring.b, 200 - 63);  // rows of two bits: 16 ciphertexts
  refused(ring, &backend::select_tree, bad, "outside");
  bad = job(12, 3, 2);
  bad.split = {1, 20};
  refused(ring, &backend::select_tree, bad, "do not cover");
}

TEST(RetrievalJobs, Rows) {
  empty_ring ring;
  const point_matrix matrix{&ring.b, 8};
  const poly_array src = ring.array(ring.a);
  accepted<turn_job>(ring, &backend::turn_points, {matrix, 1, 3, src, 3});
  refused<turn_job>(ring, &backend::turn_points, {matrix, 1, 3, src, 0}, "no polynomials");
  refused<turn_job>(ring, &backend::turn_points, {matrix, 2, 3, src, 3}, "the matrix has 8");
  refused<turn_job>(ring, &backend::turn_points, {matrix, 1, 0, src, 3}, "steps of 0");
  refused<turn_job>(ring, &backend::turn_points, {{&ring.a, 8}, 1, 3, src, 3}, "the result overlaps");

  const row_query query{{&ring.b, 8}, ring.array(ring.a, 24)};
  const point_matrix database{&ring.a, 12};
  accepted<row_select_job>(ring, &backend::row_select, {database, 4, 3, {query}});
  refused<row_select_job>(ring, &backend::row_select, {database, 0, 3, {query}}, "0 rows");
  refused<row_select_job>(ring, &backend::row_select, {database, 4, 0, {query}}, "0 columns");
  refused<row_select_job>(ring, &backend::row_select, {database, 4, 2, {query}}, "12 polynomials for 4 x 2");
  refused<row_select_job>(ring, &backend::row_select, {database, 4, 3, {}}, "no queries");
  refused<row_select_job>(ring, &backend::row_select, {database, 65537, 1, {query}}, "65537 rows");
  refused<row_select_job>(ring, &backend::row_select, {database, 4, 3, {{{&ring.b, 4}, query.dst}}},
                          "expected two for each of 4 rows");
  refused<row_select_job>(ring, &backend::row_select, {database, 4, 3, {{query.selectors, src}}},
                          "the result overlaps");
  refused<row_select_job>(ring, &backend::row_select,
                          {database, 4, 3, {query, {query.selectors, ring.array(ring.b, 10)}}},
                          "the result overlaps");
  empty_ring small(4, {536870849, 536870657});
  refused<turn_job>(small, &backend::turn_points, {{&small.b, 8}, 0, 1, small.array(small.a), 1},
                    "ring degree 16; expected at least 32");
  refused<row_select_job>(small, &backend::row_select,
                          {{&small.a, 12}, 4, 3, {{{&small.b, 8}, small.array(small.a, 24)}}},
                          "ring degree 16; expected at least 32");
}

TEST(RetrievalJobs, AnswersAndPlaintexts) {
  empty_ring ring;
  const poly_array a = ring.array(ring.a);
  accepted<round_answer_job>(ring, &backend::round_answer, {&ring.b, 1, a, 2, {1, 63}});
  refused<round_answer_job>(ring, &backend::round_answer, {&ring.b, 1, a, 0, {1, 63}}, "no ciphertexts");
  refused<round_answer_job>(ring, &backend::round_answer, {&ring.b, 1, a, 2, {0, 63}}, "2^0");
  refused<round_answer_job>(ring, &backend::round_answer, {&ring.b, 1, a, 2, {1, 64}}, "2^64");
  refused<round_answer_job>(ring, &backend::round_answer, {&ring.b, 49, a, 2, {1, 63}}, "outside");
  refused<round_answer_job>(ring, &backend::round_answer, {&ring.a, 1, a, 2, {1, 63}}, "the result overlaps");

  accepted<unpack_job>(ring, &backend::unpack_plain, {a, &ring.b, 3, 80, 80, 4, 10, {1, 2}});
  refused<unpack_job>(ring, &backend::unpack_plain, {a, &ring.b, 3, 80, 80, 0, 10, {1, 2}}, "no polynomials");
  refused<unpack_job>(ring, &backend::unpack_plain, {a, &ring.b, 3, 80, 0, 4, 10, {1, 2}}, "no bytes");
  refused<unpack_job>(ring, &backend::unpack_plain, {a, &ring.b, 3, 80, 80, 4, 10, {1}}, "1 factors");
  refused<unpack_job>(ring, &backend::unpack_plain, {a, &ring.b, 3, 81, 81, 4, 10, {1, 2}}, "81 bytes");
  refused<unpack_job>(ring, &backend::unpack_plain, {a, &ring.b, 3, 8, 8, 4, 1, {1, 2}}, "of 1 bits");
  refused<unpack_job>(ring, &backend::unpack_plain, {a, &ring.b, 3, 80, 80, 4, 33, {1, 2}}, "of 33 bits");
  refused<unpack_job>(ring, &backend::unpack_plain, {a, &ring.b, 200 * 256 - 79, 80, 80, 1, 10, {1, 2}},
                      "outside");
  refused<unpack_job>(ring, &backend::unpack_plain, {a, &ring.a, 3, 80, 80, 4, 10, {1, 2}},
                      "the result overlaps");
}

}  // namespace
}  // namespace halocline::backend
