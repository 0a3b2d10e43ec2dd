// SPDX-License-Identifier: Apache-2.0
// array_ntt, array_intt, array_sub, array_scale, expand_children.
#include "halocline/backend/capability.hpp"
#include "retrieval_fixture.hpp"

namespace {

using namespace halocline;
using namespace halocline::test;
using backend::array_job;
using backend::array_scale_job;
using backend::array_sub_job;
using backend::children_job;

/// Point j of a polynomial modulo each prime: its value at psi^(2 bitrev(j) + 1), by Horner's rule.
std::uint64_t value_at(const ring32& host, const poly& x, std::size_t prime, std::uint32_t j) {
  const std::uint64_t q = host.primes[prime];
  const std::uint64_t psi =
      ring::smallest_primitive_root(arith::make_modulus(static_cast<std::uint32_t>(q)), host.log_n);
  const std::uint64_t point = naive_pow(psi, 2 * std::uint64_t{ring::bit_reverse(j, host.log_n)} + 1, q);
  std::uint64_t value = 0;
  for (std::size_t i = host.n(); i-- > 0;) value = (naive_mul(value, point, q) + x[prime][i]) % q;
  return value;
}

/// Some points of every polynomial, from the definition.
void check_points(const ring32& host, const polys& coefficients, const polys& points,
                  std::mt19937_64& random) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t prime = 0; prime < host.primes.size(); ++prime) {
      for (int k = 0; k < 6; ++k) {
        const auto j = static_cast<std::uint32_t>(random() % host.n());
        ASSERT_EQ(points[i][prime][j], value_at(host, coefficients[i], prime, j))
            << "polynomial " << i << ", prime " << prime << ", point " << j;
      }
    }
  }
}

TEST(RetrievalArrays, TransformsGoThereAndBack) {
  for_each_retrieval_ring([](const ring32& host, std::mt19937_64& random) {
    const polys a = random_polys(host, 5, random), b = random_polys(host, 1, random);
    on_each_device(host, [&](retrieval_rig& rig) {
      const placed_array src = rig.singles(a, 1), dst = rig.room(5, 1, 3), own = rig.singles(b);
      const std::vector<array_job> there{{dst, src, 5}, {own, own, 1}}, back{{dst, dst, 5}, {own, own, 1}};
      rig.device().array_ntt(rig.tables(), there);
      check_points(host, a, dst.read(), random);
      check_points(host, b, own.read(), random);
      ASSERT_EQ(src.read(), a);
      rig.device().array_intt(rig.tables(), back);
      ASSERT_EQ(dst.read(), a);
      ASSERT_EQ(own.read(), b);
      ASSERT_TRUE(src.guards_intact() && dst.guards_intact() && own.guards_intact());
    });
  });
}

TEST(RetrievalArrays, Differences) {
  for_each_retrieval_ring([](const ring32& host, std::mt19937_64& random) {
    const polys a = random_polys(host, 6, random), b = random_polys(host, 6, random);
    const polys expected = map_polys(host, a, b, [](auto q, auto x, auto y) { return (x + q - y) % q; });
    on_each_device(host, [&](retrieval_rig& rig) {
      const placed_array x = rig.pairs(a, 2), y = rig.pairs(b), other = rig.room(3, 2, 1);
      const placed_array first = rig.pairs(a), second = rig.pairs(b, 3);
      const std::vector<array_sub_job> jobs{{other, x, y, 3}, {first, first, y, 3}, {second, x, second, 3}};
      rig.device().array_sub(rig.tables(), jobs);
      for (const placed_array* dst : {&other, &first, &second}) {
        ASSERT_EQ(dst->read(), expected);
        ASSERT_TRUE(dst->guards_intact());
      }
    });
  });
}

TEST(RetrievalArrays, ProductsWithConstants) {
  for_each_retrieval_ring([](const ring32& host, std::mt19937_64& random) {
    const polys a = random_polys(host, 6, random);
    std::vector<std::uint64_t> factors;
    for (const std::uint64_t q : host.primes) factors.push_back(random() % q);
    factors.back() = host.primes.back() - 1;
    polys expected = a;
    for (poly& x : expected) {
      for (std::size_t l = 0; l < x.size(); ++l) {
        for (auto& word : x[l])
          word = static_cast<std::uint32_t>(naive_mul(word, factors[l], host.primes[l]));
      }
    }
    on_each_device(host, [&](retrieval_rig& rig) {
      const placed_array src = rig.pairs(a, 1), dst = rig.room(3, 2, 2), own = rig.pairs(a);
      const std::vector<array_scale_job> jobs{{dst, src, 3, factors}, {own, own, 3, factors}};
      rig.device().array_scale(rig.tables(), jobs);
      ASSERT_EQ(dst.read(), expected);
      ASSERT_EQ(own.read(), expected);
      ASSERT_TRUE(dst.guards_intact() && own.guards_intact());
    });
  });
}

/// Children by definition, with a monomial (any polynomial will do) in Montgomery form.
polys children_of(const ring32& host, const polys& src, const polys& turned, const poly& monomial,
                  std::size_t children) {
  polys made;
  for (std::size_t child = 0; child < children; ++child) {
    for (std::size_t c = 0; c < 2; ++c) {
      const std::size_t from = child / 2 * 2 + c;
      made.push_back(map_limbs(
          host, host.all(),
          [&](auto q, auto x, auto y, auto z) -> std::uint64_t {
            if (child % 2 == 0) return (x + y) % q;
            return naive_mul(naive_mul((x + q - y) % q, z, q), inverse_word(q), q);
          },
          src[from], turned[from], monomial));
    }
  }
  return made;
}

TEST(RetrievalArrays, ChildrenOfNodesEvenAndOddNumbers) {
  for_each_retrieval_ring([](const ring32& host, std::mt19937_64& random) {
    const polys monomials = random_polys(host, 1, random);
    for (const std::uint32_t children : {1U, 4U, 5U}) {
      const std::uint32_t parents = (children + 1) / 2;
      const polys a = random_polys(host, 2 * parents, random), b = random_polys(host, 2 * parents, random);
      on_each_device(host, [&](retrieval_rig& rig) {
        const placed_array src = rig.pairs(a, 1), turned = rig.pairs(b), monomial = rig.singles(monomials);
        const placed_array first = rig.room(children, 2), second = rig.room(children, 2, 2);
        const std::vector<children_job> jobs{{first, src, turned, monomial, children},
                                             {second, turned, src, monomial, children}};
        rig.device().expand_children(rig.tables(), jobs);
        ASSERT_EQ(first.read(), children_of(host, a, b, monomials[0], children)) << children;
        ASSERT_EQ(second.read(), children_of(host, b, a, monomials[0], children)) << children;
        ASSERT_TRUE(first.guards_intact() && second.guards_intact());
      });
    }
  });
}

}  // namespace
