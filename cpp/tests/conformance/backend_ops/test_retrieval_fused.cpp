// SPDX-License-Identifier: Apache-2.0
// expand_node, select_pair and select_tree against the sequences of operations that they equal, which other
// tests compare with their definitions.
#include <tuple>

#include "halocline/ring/automorphism.hpp"
#include "retrieval_fixture.hpp"

namespace {

using namespace halocline;
using namespace halocline::test;
using backend::array_job;
using backend::digit_product_job;
using backend::digit_split;
using backend::expand_job;
using backend::poly_array;
using backend::select_job;

/// Splits that cover the primes, with at most 64 terms for two components.
std::vector<digit_split> splits_for(const ring32& host) {
  std::vector<digit_split> splits{{1, 30}};
  for (const auto& [digits, base] : {std::pair{2U, 15U}, {3U, 10U}, {4U, 8U}, {8U, 4U}}) {
    splits.push_back({digits, base});
  }
  if (host.log_n > 9) splits = {splits[0], splits[2]};
  return splits;
}

/// Transformed digits of polynomials `parts` limbs apart.
placed_array digits_of(retrieval_rig& rig, const poly_array& src, std::uint32_t count,
                       const digit_split& split) {
  const auto primes = static_cast<std::uint32_t>(rig.host.primes.size());
  const placed_array coefficients = rig.room(count, 1), digits = rig.room(count * primes * split.digits, 1);
  const array_job back{coefficients, src, count};
  rig.device().array_intt(rig.tables(), {&back, 1});
  const backend::split_job cut{digits, coefficients, count, split};
  rig.device().split_digits(rig.tables(), {&cut, 1});
  const array_job there{digits, digits, count * primes * split.digits};
  rig.device().array_ntt(rig.tables(), {&there, 1});
  return digits;
}

/// The second polynomials of an array of ciphertexts.
poly_array second_of(const retrieval_rig& rig, const poly_array& array) {
  return {array.data, array.first + static_cast<std::uint32_t>(rig.host.primes.size()), array.stride};
}

std::vector<std::uint32_t> words_of(retrieval_rig& rig, const memory::buffer& data) {
  std::vector<std::uint32_t> words(data.size() / sizeof(std::uint32_t));
  rig.device().download(std::as_writable_bytes(std::span(words)), data, 0);
  return words;
}

/// `expand_node` in steps.
polys expanded(retrieval_rig& rig, const expand_job& job) {
  const std::uint32_t parents = (job.children + 1) / 2;
  const auto terms = static_cast<std::uint32_t>(rig.host.primes.size() * job.split.digits);
  const placed_array digits = digits_of(rig, second_of(rig, job.src), parents, job.split);
  const placed_array turned = rig.room(parents, 2), children = rig.room(job.children, 2);
  const digit_product_job product{turned, digits, job.rows, terms, parents, job.src, {}, job.permutation};
  rig.device().digit_product(rig.tables(), {&product, 1});
  const backend::children_job last{children, job.src, turned, job.monomial, job.children};
  rig.device().expand_children(rig.tables(), {&last, 1});
  return children.read();
}

TEST(RetrievalFused, ExpandedNodesEqualTheirSteps) {
  for_each_retrieval_ring([](const ring32& host, std::mt19937_64& random) {
    const polys monomials = random_polys(host, 1, random), nodes = random_polys(host, 6, random);
    const auto permutation = ring::automorphism_permutation(random() % (2 * host.n()) | 1, host.log_n);
    for (const digit_split& split : splits_for(host)) {
      const polys keys = random_polys(host, 2 * host.primes.size() * split.digits, random);
      on_each_device(host, [&](retrieval_rig& rig) {
        const placed_array src = rig.pairs(nodes, 1), rows = rig.pairs(keys, 1),
                           monomial = rig.singles(monomials);
        const memory::buffer* const table = &rig.ring.keep(permutation);
        const placed_array one = rig.room(1, 2), five = rig.room(5, 2, 3), last = rig.room(2, 2);
        const std::vector<expand_job> jobs{{one, src, rows, monomial, table, 1, split},
                                           {five, src, rows, monomial, table, 5, split},
                                           {last, src.view().from(2), rows, monomial, table, 2, split}};
        rig.device().expand_node(rig.tables(), jobs);
        ASSERT_EQ(one.read(), expanded(rig, jobs[0])) << split.digits << " digits";
        ASSERT_EQ(five.read(), expanded(rig, jobs[1])) << split.digits << " digits";
        ASSERT_EQ(last.read(), expanded(rig, jobs[2])) << split.digits << " digits";
        ASSERT_TRUE(one.guards_intact() && five.guards_intact() && last.guards_intact());
        ASSERT_EQ(src.read(), nodes);
      });
    }
  });
}

/// Words of a matrix of points like `like`, whose first rows are these children as `turn_points` brings them.
std::vector<std::uint32_t> turned_words(retrieval_rig& rig, const expand_job& job, std::uint32_t wanted,
                                        const backend::point_matrix& like) {
  const polys children = expanded(rig, job);
  const placed_array all = rig.pairs(children);
  const std::size_t limbs = rig.host.primes.size();
  const memory::buffer& points =
      rig.ring.keep(std::vector<std::uint32_t>(like.rows * limbs * rig.host.n(), 77));
  const poly_array src{all.view().data, all.view().first, static_cast<std::uint32_t>(limbs)};
  const backend::turn_job turn{{&points, like.rows, like.block}, 0, 1, src, 2 * wanted};
  rig.device().turn_points(rig.tables(), {&turn, 1});
  return words_of(rig, points);
}

/// The last level of an expansion turns some children: those in front, an odd number of them, or all.
TEST(RetrievalFused, ExpandedNodesAreTurnedAsByAPassOfTheirOwn) {
  for_each_retrieval_ring([](const ring32& host, std::mt19937_64& random) {
    const polys monomials = random_polys(host, 1, random), nodes = random_polys(host, 6, random);
    const auto permutation = ring::automorphism_permutation(random() % (2 * host.n()) | 1, host.log_n);
    const digit_split split = splits_for(host).back();
    const polys keys = random_polys(host, 2 * host.primes.size() * split.digits, random);
    on_each_device(host, [&](retrieval_rig& rig) {
      const placed_array src = rig.pairs(nodes, 1), rows = rig.pairs(keys), monomial = rig.singles(monomials);
      const memory::buffer* const table = &rig.ring.keep(permutation);
      const placed_array whole = rig.room(5, 2);
      const expand_job plain{whole, src, rows, monomial, table, 5, split};
      const polys children = expanded(rig, plain);
      for (const std::uint32_t wanted : {1U, 2U, 3U, 4U, 5U}) {
        const std::uint32_t fours = (2 * wanted + 4) / 4 * 4;  // rows that kernels write four at a time
        const std::vector<backend::point_matrix> shapes{
            {nullptr, 2 * wanted + 1, 32}, {nullptr, 2 * wanted + 1, 1}, {nullptr, fours, 1}};
        for (const backend::point_matrix& like : shapes) {
          const placed_array rest = rig.room(5 - wanted, 2, 1);
          const std::size_t words = like.rows * host.primes.size() * host.n();
          expand_job job = plain;
          job.dst = wanted == 5 ? poly_array{} : rest.view();
          job.points = {&rig.ring.keep(std::vector<std::uint32_t>(words, 77)), like.rows, like.block};
          job.turned = wanted;
          rig.device().expand_node(rig.tables(), {&job, 1});
          ASSERT_EQ(words_of(rig, *job.points.data), turned_words(rig, plain, wanted, like))
              << wanted << " turned, " << like.rows << " rows in blocks of " << like.block;
          ASSERT_EQ(rest.read(), polys(children.begin() + 2 * wanted, children.end())) << wanted;
          ASSERT_TRUE(rest.guards_intact());
        }
      }
    });
  });
}

/// `select_pair` in steps.
polys chosen(retrieval_rig& rig, const select_job& job) {
  const std::size_t half = rig.host.primes.size() * job.split.digits;
  const placed_array difference = rig.room(job.count, 2);
  const backend::array_sub_job sub{difference, job.y, job.x, job.count};
  rig.device().array_sub(rig.tables(), {&sub, 1});
  const polys first = digits_of(rig, difference, job.count, job.split).read();
  const polys second = digits_of(rig, second_of(rig, difference), job.count, job.split).read();
  polys joined;
  for (std::size_t i = 0; i < job.count; ++i) {
    for (const polys* part : {&first, &second}) {
      const auto begin = part->begin() + static_cast<std::ptrdiff_t>(i * half);
      joined.insert(joined.end(), begin, begin + static_cast<std::ptrdiff_t>(half));
    }
  }
  const placed_array digits = rig.singles(joined), dst = rig.room(job.count, 2);
  const digit_product_job product{
      dst,    digits, job.rows, static_cast<std::uint32_t>(2 * half), job.count, job.x, second_of(rig, job.x),
      nullptr};
  rig.device().digit_product(rig.tables(), {&product, 1});
  return dst.read();
}

TEST(RetrievalFused, SelectionsEqualTheirSteps) {
  for_each_retrieval_ring([](const ring32& host, std::mt19937_64& random) {
    const polys a = random_polys(host, 6, random), b = random_polys(host, 6, random);
    for (const digit_split& split : splits_for(host)) {
      const polys keys = random_polys(host, 4 * host.primes.size() * split.digits, random);
      on_each_device(host, [&](retrieval_rig& rig) {
        const placed_array x = rig.pairs(a, 1), y = rig.pairs(b), rows = rig.pairs(keys);
        const placed_array dst = rig.room(3, 2, 2), own = rig.pairs(a, 2);
        const select_job apart{dst, x, y, rows, 3, split}, within{own, own, y, rows, 3, split};
        const polys expected = chosen(rig, apart);
        rig.device().select_pair(rig.tables(), std::vector<select_job>{apart, within});
        ASSERT_EQ(dst.read(), expected) << split.digits << " digits";
        ASSERT_EQ(own.read(), expected) << split.digits << " digits";
        ASSERT_TRUE(dst.guards_intact() && own.guards_intact());
      });
    }
  });
}

/// The columns of a database are folded in their own array.
TEST(RetrievalFused, SelectionsBetweenHalvesOfOneArray) {
  const ring32 host = retrieval_ring(6, {26.5, 26.5, 26.5, 26.5});
  std::mt19937_64 random(test_seed());
  const polys columns = random_polys(host, 10, random), keys = random_polys(host, 16, random);
  on_each_device(host, [&](retrieval_rig& rig) {
    const placed_array array = rig.pairs(columns), rows = rig.pairs(keys);
    const polys copy = columns;
    const placed_array other = rig.pairs(copy);
    const digit_split split{1, 27};
    // Five columns: the last one meets the first, and four are left.
    const select_job job{array, array, array.view().from(4), rows, 1, split};
    rig.device().select_pair(rig.tables(), {&job, 1});
    const polys first = chosen(rig, {other, other, other.view().from(4), rows, 1, split});
    polys expected = columns;
    std::copy(first.begin(), first.end(), expected.begin());
    ASSERT_EQ(array.read(), expected);
  });
}

/// `select_tree` bit by bit.
polys chosen_by_bits(retrieval_rig& rig, const backend::select_tree_job& job, const polys& columns) {
  const placed_array own = rig.pairs(columns);
  const auto terms = static_cast<std::uint32_t>(2 * rig.host.primes.size() * job.split.digits);
  std::uint32_t left = job.columns;
  for (unsigned bit = job.bits; bit-- > 0;) {
    const std::uint32_t distance = job.kept << bit;
    const select_job each{
        own, own, own.view().from(distance), job.rows.from(bit * terms), left - distance, job.split};
    rig.device().select_pair(rig.tables(), {&each, 1});
    left = distance;
  }
  polys made = own.read();
  made.resize(2 * std::size_t{job.kept});
  return made;
}

/// Several bits at once: complete subtrees and those that lack columns, in one batch.
TEST(RetrievalFused, SubtreesEqualSelectionsBitByBit) {
  for_each_retrieval_ring([](const ring32& host, std::mt19937_64& random) {
    const digit_split split = host.log_n == 12 ? digit_split{1, 30} : splits_for(host).back();
    const polys keys = random_polys(host, 3 * 4 * host.primes.size() * split.digits, random);
    const std::vector<std::tuple<std::uint32_t, std::uint32_t, unsigned>> shapes{
        {8, 2, 2}, {5, 2, 2}, {3, 1, 2}, {8, 1, 3}, {5, 1, 3}, {13, 2, 3}, {2, 1, 1}};
    polys columns = random_polys(host, 26, random);
    on_each_device(host, [&](retrieval_rig& rig) {
      const placed_array rows = rig.pairs(keys, 1);
      std::vector<placed_array> data;
      std::vector<backend::select_tree_job> jobs;
      for (const auto& [count, kept, bits] : shapes) {
        data.push_back(rig.pairs(polys(columns.begin(), columns.begin() + 2 * count), 1));
        jobs.push_back({data.back(), rows, count, kept, bits, split});
      }
      rig.device().select_tree(rig.tables(), jobs);
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        polys found = data[i].read();
        found.resize(2 * std::size_t{jobs[i].kept});
        const polys own(columns.begin(), columns.begin() + 2 * jobs[i].columns);
        ASSERT_EQ(found, chosen_by_bits(rig, jobs[i], own))
            << jobs[i].columns << ", " << jobs[i].bits << " bits";
        ASSERT_TRUE(data[i].guards_intact());
      }
    });
  });
}

}  // namespace
