// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>

#include "halocline/ring/automorphism.hpp"
#include "ops_fixture.hpp"

namespace {

using namespace halocline;
using namespace halocline::test;
using arith::window;
using backend::binary_job;
using backend::limb_view;
using backend::unary_job;

template <typename WordT>
class ElementwiseOps : public testing::Test {
 protected:
  /// Runs `body(host ring, device ring, random source)` for several sizes on every device.
  template <typename BodyT>
  void for_each_case(const BodyT& body) {
    for (const unsigned log_n : {4U, 5U, 6U, 8U, 13U, 14U}) {
      const host_ring<WordT> host(log_n);
      for (const device_under_test& dut : devices_under_test()) {
        SCOPED_TRACE(testing::Message() << dut.name << ", N = 2^" << log_n);
        device_ring<WordT> ring(host, *dut.device);
        std::mt19937_64 random(test_seed() + log_n);
        body(host, ring, random);
        if (this->HasFailure()) return;
      }
    }
  }

  using binary_op = void (backend::backend::*)(const backend::ring_tables&, std::span<const binary_job>,
                                               stream_view);
  using reference =
      std::function<std::uint64_t(std::uint64_t q, std::uint64_t d, std::uint64_t a, std::uint64_t b)>;

  /// A batch of three jobs: separate destination, destination = a, destination = b.
  void check_binary(binary_op op, const reference& f) {
    for_each_case([&](const host_ring<WordT>& host, device_ring<WordT>& ring, std::mt19937_64& random) {
      const window w{1, 5};
      const auto a = random_limbs(host, w, random), b = random_limbs(host, w, random);
      const auto d = random_limbs(host, w, random);
      const limb_view va = ring.filled(w, a), vb = ring.filled(w, b), vd = ring.filled(w, d);
      const limb_view in_a = ring.filled(w, a), in_b = ring.filled(w, b);
      const std::vector<binary_job> jobs{{vd, va, vb}, {in_a, in_a, vb}, {in_b, va, in_b}};
      (ring.device().*op)(ring.tables(), jobs, {});
      EXPECT_EQ(ring.read(vd), map_limbs(host, w, f, d, a, b));
      EXPECT_EQ(ring.read(in_a), map_limbs(host, w, f, a, a, b));
      EXPECT_EQ(ring.read(in_b), map_limbs(host, w, f, b, a, b));
      EXPECT_EQ(ring.read(va), a);
      EXPECT_TRUE(ring.guards_intact(vd) && ring.guards_intact(in_a) && ring.guards_intact(in_b));
    });
  }
};

using words = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(ElementwiseOps, words);

TYPED_TEST(ElementwiseOps, Add) {
  this->check_binary(&backend::backend::add, [](auto q, auto, auto a, auto b) { return (a + b) % q; });
}

TYPED_TEST(ElementwiseOps, Sub) {
  this->check_binary(&backend::backend::sub, [](auto q, auto, auto a, auto b) { return (a + q - b) % q; });
}

TYPED_TEST(ElementwiseOps, Multiply) {
  this->check_binary(&backend::backend::multiply,
                     [](auto q, auto, auto a, auto b) { return naive_mul(a, b, q); });
}

TYPED_TEST(ElementwiseOps, MultiplyAdd) {
  this->check_binary(&backend::backend::multiply_add,
                     [](auto q, auto d, auto a, auto b) { return (d + naive_mul(a, b, q)) % q; });
}

TYPED_TEST(ElementwiseOps, NegateCopyAndZero) {
  this->for_each_case([](const auto& host, auto& ring, std::mt19937_64& random) {
    const window w{2, 6};
    const auto a = random_limbs(host, w, random);
    const limb_view va = ring.filled(w, a), in_place = ring.filled(w, a);
    const limb_view negated = ring.poisoned(w), copied = ring.poisoned(w), zeroed = ring.poisoned(w);
    ring.device().negate(ring.tables(), std::vector<unary_job>{{negated, va}, {in_place, in_place}});
    ring.device().copy(ring.tables(), std::vector<unary_job>{{copied, va}});
    ring.device().set_zero(ring.tables(), std::vector<limb_view>{zeroed.slice({3, 2})});
    const auto expected = map_limbs(
        host, w, [](auto q, auto x) { return (q - x) % q; }, a);
    EXPECT_EQ(ring.read(negated), expected);
    EXPECT_EQ(ring.read(in_place), expected);
    EXPECT_EQ(ring.read(copied), a);
    EXPECT_EQ(ring.read(zeroed.slice({3, 2})), map_limbs(host, {3, 2}, [](auto) { return 0; }));
    EXPECT_EQ(ring.read(zeroed.slice({2, 1})), ring.read(ring.poisoned({2, 1})));
    EXPECT_TRUE(ring.guards_intact(negated) && ring.guards_intact(copied) && ring.guards_intact(zeroed));
  });
}

TYPED_TEST(ElementwiseOps, ScalarsDifferPerLimbAndHalf) {
  this->for_each_case([](const auto& host, auto& ring, std::mt19937_64& random) {
    const window w{0, 7};
    const auto a = random_limbs(host, w, random);
    const limb_view va = ring.filled(w, a), in_place = ring.filled(w, a);
    const limb_view product = ring.poisoned(w), sum = ring.poisoned(w);
    std::vector<backend::scalar_pair> scalars;
    for (std::uint32_t i = 0; i < w.count; ++i)
      scalars.push_back({random() % host.primes[i], host.primes[i] - 1});
    using backend::scalar_job;
    ring.device().scalar_multiply(
        ring.tables(), std::vector<scalar_job>{{product, va, scalars}, {in_place, in_place, scalars}});
    ring.device().scalar_add(ring.tables(), std::vector<scalar_job>{{sum, va, scalars}});
    auto expected_product = a, expected_sum = a;
    for (std::size_t i = 0; i < w.count; ++i) {
      const std::uint64_t q = host.primes[i];
      for (std::size_t j = 0; j < host.n(); ++j) {
        const std::uint64_t s = j < host.n() / 2 ? scalars[i].low : scalars[i].high;
        expected_product[i][j] = static_cast<TypeParam>(naive_mul(a[i][j], s, q));
        expected_sum[i][j] = static_cast<TypeParam>((a[i][j] + s) % q);
      }
    }
    EXPECT_EQ(ring.read(product), expected_product);
    EXPECT_EQ(ring.read(in_place), expected_product);
    EXPECT_EQ(ring.read(sum), expected_sum);
    EXPECT_TRUE(ring.guards_intact(product) && ring.guards_intact(sum));
  });
}

TYPED_TEST(ElementwiseOps, LinearCombine) {
  this->for_each_case([](const auto& host, auto& ring, std::mt19937_64& random) {
    const window w{1, 7};
    const auto a = random_limbs(host, w, random), b = random_limbs(host, w, random);
    const limb_view va = ring.filled(w, a), vb = ring.filled(w, b), dst = ring.poisoned(w);
    const limb_view in_a = ring.filled(w, a), in_b = ring.filled(w, b);
    std::vector<std::uint64_t> fa, fb;
    limbs<TypeParam> expected = a;
    for (std::uint32_t i = 0; i < w.count; ++i) {
      const std::uint64_t q = host.primes[w.first + i];
      fa.push_back(i == 2 ? 0 : random() % q);
      fb.push_back(q - 1 - i);
      for (std::size_t j = 0; j < host.n(); ++j) {
        expected[i][j] =
            static_cast<TypeParam>((naive_mul(a[i][j], fa[i], q) + naive_mul(b[i][j], fb[i], q)) % q);
      }
    }
    ring.device().linear_combine(
        ring.tables(), std::vector<backend::linear_job>{
                           {dst, va, vb, fa, fb}, {in_a, in_a, vb, fa, fb}, {in_b, va, in_b, fa, fb}});
    EXPECT_EQ(ring.read(dst), expected);
    EXPECT_EQ(ring.read(in_a), expected);
    EXPECT_EQ(ring.read(in_b), expected);
    EXPECT_TRUE(ring.guards_intact(dst));
  });
}

TYPED_TEST(ElementwiseOps, DotOfManyTerms) {
  this->for_each_case([](const auto& host, auto& ring, std::mt19937_64& random) {
    const window w{3, 5};
    for (const std::size_t terms : {1U, 2U, 11U, 12U, 13U, 29U}) {
      const auto before = random_limbs(host, w, random);
      backend::dot_job set{ring.poisoned(w), {}, {}, false}, added{ring.filled(w, before), {}, {}, true};
      auto sum = map_limbs(host, w, [](auto) { return 0; });
      for (std::size_t t = 0; t < terms; ++t) {
        const auto a =
            t == 0 ? map_limbs(host, w, [](auto q) { return q - 1; }) : random_limbs(host, w, random);
        const auto b = random_limbs(host, w, random);
        sum = map_limbs(
            host, w, [](auto q, auto s, auto x, auto y) { return (s + naive_mul(x, y, q)) % q; }, sum, a, b);
        set.a.push_back(ring.filled(w, a));
        set.b.push_back(ring.filled(w, b));
      }
      added.a = set.a;
      added.b = set.b;
      ring.device().dot(ring.tables(), std::vector<backend::dot_job>{set, added});
      EXPECT_EQ(ring.read(set.dst), sum);
      EXPECT_EQ(ring.read(added.dst),
                map_limbs(
                    host, w, [](auto q, auto s, auto d) { return (s + d) % q; }, sum, before));
      EXPECT_TRUE(ring.guards_intact(set.dst));
      if (host.n() > 1024) break;
    }
  });
}

/// What a repeated view keeps of limbs, and the limbs that it stands for.
template <typename WordT>
limbs<WordT> kept(const limbs<WordT>& whole, unsigned log_repeat) {
  limbs<WordT> result = whole;
  for (auto& limb : result) {
    for (std::size_t i = 0; i < limb.size() >> log_repeat; ++i) limb[i] = limb[i << log_repeat];
    limb.resize(limb.size() >> log_repeat);
  }
  return result;
}
template <typename WordT>
limbs<WordT> repeated(const limbs<WordT>& few, unsigned log_repeat) {
  limbs<WordT> result = few;
  for (std::size_t k = 0; k < few.size(); ++k) {
    result[k].resize(few[k].size() << log_repeat);
    for (std::size_t i = 0; i < result[k].size(); ++i) result[k][i] = few[k][i >> log_repeat];
  }
  return result;
}

TYPED_TEST(ElementwiseOps, RepeatedFactorsOfADot) {
  this->for_each_case([](const auto& host, auto& ring, std::mt19937_64& random) {
    const window w{2, 4};
    backend::dot_job job{ring.poisoned(w), {}, {}, false};
    auto sum = map_limbs(host, w, [](auto) { return 0; });
    std::vector<backend::unary_job> copies;
    std::vector<limbs<TypeParam>> expected;
    for (unsigned r = backend::least_log_repeat; r < ring.tables().log_n; ++r) {
      for (const unsigned log_repeat : {r, 0U}) {
        const auto a = random_limbs(host, w, random), whole = random_limbs(host, w, random);
        const auto b = log_repeat == 0 ? whole : kept(whole, log_repeat);
        sum = map_limbs(
            host, w, [](auto q, auto s, auto x, auto y) { return (s + naive_mul(x, y, q)) % q; }, sum, a,
            repeated(b, log_repeat));
        job.a.push_back(ring.filled(w, a));
        job.b.push_back(ring.filled(w, b, log_repeat));
        copies.push_back({ring.poisoned(w, log_repeat), ring.filled(w, whole)});
        expected.push_back(b);
      }
    }
    if (job.a.empty()) return;  // too small a ring for repeated views
    ring.device().dot(ring.tables(), std::vector<backend::dot_job>{job});
    EXPECT_EQ(ring.read(job.dst), sum);
    ring.device().copy(ring.tables(), copies);
    for (std::size_t i = 0; i < copies.size(); ++i) {
      EXPECT_EQ(ring.read(copies[i].dst), expected[i]);
      EXPECT_TRUE(ring.guards_intact(copies[i].dst));
    }
  });
}

TYPED_TEST(ElementwiseOps, RepeatedViewsOnlyWhereTheyAreAllowed) {
  this->for_each_case([](const auto& host, auto& ring, std::mt19937_64& random) {
    if (ring.tables().log_n <= backend::least_log_repeat) return;
    const window w{0, 1};
    const auto values = random_limbs(host, w, random);
    const limb_view whole = ring.filled(w, values), small = ring.poisoned(w, backend::least_log_repeat);
    const limb_view wrong{small.data, 1, w, backend::least_log_repeat - 1};
    const auto& tables = ring.tables();
    EXPECT_THROW(ring.device().add(tables, std::vector<backend::binary_job>{{whole, whole, small}}),
                 invalid_argument);
    EXPECT_THROW(ring.device().dot(tables, std::vector<backend::dot_job>{{whole, {small}, {whole}, false}}),
                 invalid_argument);
    EXPECT_THROW(ring.device().copy(tables, std::vector<backend::unary_job>{{wrong, whole}}),
                 invalid_argument);
    EXPECT_THROW(ring.device().copy(tables, std::vector<backend::unary_job>{{whole, small}}),
                 invalid_argument);
  });
}

TYPED_TEST(ElementwiseOps, Tensor) {
  this->for_each_case([](const auto& host, auto& ring, std::mt19937_64& random) {
    const window w{0, 6};
    limbs<TypeParam> x[4];
    for (auto& each : x) each = random_limbs(host, w, random);
    x[0][0].assign(host.n(), static_cast<TypeParam>(host.primes[0] - 1));  // the largest sum of two products
    for (int i = 1; i < 4; ++i) x[i][0] = x[0][0];
    const limb_view a0 = ring.filled(w, x[0]), a1 = ring.filled(w, x[1]);
    const limb_view b0 = ring.filled(w, x[2]), b1 = ring.filled(w, x[3]);
    const limb_view d0 = ring.poisoned(w), d1 = ring.poisoned(w), d2 = ring.poisoned(w);
    ring.device().tensor(ring.tables(), std::vector<backend::tensor_job>{{d0, d1, d2, a0, a1, b0, b1}});
    const auto product = [](auto q, auto a, auto b) { return naive_mul(a, b, q); };
    const auto cross = [](auto q, auto p, auto s, auto t, auto u) {
      return (naive_mul(p, u, q) + naive_mul(s, t, q)) % q;
    };
    const auto middle = map_limbs(host, w, cross, x[0], x[1], x[2], x[3]);
    EXPECT_EQ(ring.read(d0), map_limbs(host, w, product, x[0], x[2]));
    EXPECT_EQ(ring.read(d1), middle);
    EXPECT_EQ(ring.read(d2), map_limbs(host, w, product, x[1], x[3]));
    // In place, and the square of one ciphertext.
    ring.device().tensor(ring.tables(), std::vector<backend::tensor_job>{{a0, a1, d2, a0, a1, b0, b1}});
    EXPECT_EQ(ring.read(a0), map_limbs(host, w, product, x[0], x[2]));
    EXPECT_EQ(ring.read(a1), middle);
    ring.device().tensor(ring.tables(), std::vector<backend::tensor_job>{{d0, d1, d2, b0, b1, b0, b1}});
    EXPECT_EQ(ring.read(d1), map_limbs(host, w, cross, x[2], x[3], x[2], x[3]));
    EXPECT_TRUE(ring.guards_intact(d0) && ring.guards_intact(d1) && ring.guards_intact(d2));
  });
}

TYPED_TEST(ElementwiseOps, Automorphism) {
  this->for_each_case([](const auto& host, auto& ring, std::mt19937_64& random) {
    const window w{2, 5};
    const auto a = random_limbs(host, w, random);
    const limb_view va = ring.filled(w, a);
    for (const std::uint64_t galois :
         {std::uint64_t{1}, std::uint64_t{5}, std::uint64_t{27}, 2 * host.n() - 1}) {
      const auto index = ring::automorphism_permutation(galois, host.log_n);
      auto expected = a;
      for (std::size_t i = 0; i < w.count; ++i) {
        for (std::size_t j = 0; j < host.n(); ++j) expected[i][j] = a[i][index[j]];
      }
      const limb_view dst = ring.poisoned(w);
      ring.device().automorphism(ring.tables(),
                                 std::vector<backend::automorphism_job>{{dst, va, &ring.keep(index)}});
      EXPECT_EQ(ring.read(dst), expected);
      EXPECT_TRUE(ring.guards_intact(dst));
    }
  });
}

TYPED_TEST(ElementwiseOps, AutomorphismRefusesSharedLimbs) {
  this->for_each_case([](const auto& host, auto& ring, std::mt19937_64& random) {
    const window w{2, 4};
    const auto a = random_limbs(host, w, random);
    const limb_view src = ring.filled(w, a);
    const auto index = ring::automorphism_permutation(5, host.log_n);
    const backend::automorphism_job in_place{src, src, &ring.keep(index)};
    EXPECT_THROW(ring.device().automorphism(ring.tables(), std::span(&in_place, 1)), invalid_argument);
    EXPECT_EQ(ring.read(src), a);
  });
}

}  // namespace
