// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "halocline/core/error.hpp"
#include "halocline/ring/automorphism.hpp"
#include "ops_fixture.hpp"

namespace {

using namespace halocline;
using namespace halocline::test;
using arith::window;
using backend::limb_view;

template <typename WordT>
class KeyDot : public testing::Test {};
using words = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(KeyDot, words);

/// What a job consists of: the numbers of its terms, digits and sums.
struct dot_shape {
  std::size_t terms, digits, sums;
};

/// A random job on a device, and the same sums by products with keys that are written, and dots of them.
template <typename WordT>
class dot_case {
 public:
  dot_case(device_ring<WordT>& ring, const host_ring<WordT>& host, window w, const dot_shape& shape)
      : ring_(ring),
        host_(host),
        w_(w),
        random_(test_seed() + shape.terms * 64 + shape.digits * 8 + shape.sums) {
    for (std::uint32_t i = 0; i < w.count; ++i) job.factors.push_back(random_() % host.primes[w.first + i]);
    std::vector<limb_view> digits;
    for (std::size_t d = 0; d < shape.digits; ++d) digits.push_back(operand());
    plus_[0] = operand();
    plus_[1] = operand();
    for (std::size_t t = 0; t < shape.terms; ++t) add_term(t, digits);
    for (std::size_t s = 0; s < shape.sums; ++s) add_sum(s, shape);
  }

  backend::key_dot_job job;

  void expect_equal() {
    std::vector<backend::key_job> products;
    for (const backend::key_term& term : job.terms) {
      products.push_back({ring_.poisoned(w_), ring_.poisoned(w_), term.digits, false, term.plus0, term.plus1,
                          job.factors, term.permutation});
      if (!term.digits.empty()) continue;
      // Products without digits: one with zeros.
      const limb_view zero = ring_.filled(w_, map_limbs(host_, w_, [](auto) { return 0; }));
      products.back().digits.push_back({zero, key(), key(), {}, 0});
    }
    ring_.device().key_multiply_accumulate(ring_.tables(), products);
    std::vector<backend::dot_job> dots;
    for (std::size_t s = 0; s < job.sums.size(); ++s) {
      const backend::weighted_sum& sum = job.sums[s];
      for (const unsigned half : {0U, 1U}) {
        backend::dot_job dot{ring_.filled(w_, before_[2 * s + half]), {}, sum.weights, sum.accumulate};
        for (const std::uint32_t n : sum.numbers) {
          dot.a.push_back(half == 0 ? products[n].dst0 : products[n].dst1);
        }
        dots.push_back(dot);
      }
    }
    std::vector<backend::dot_job> made;
    for (const backend::dot_job& dot : dots) {
      if (!dot.a.empty()) made.push_back(dot);
    }
    ring_.device().dot(ring_.tables(), made);
    const auto zero = map_limbs(host_, w_, [](auto) { return 0; });
    for (std::size_t s = 0; s < job.sums.size(); ++s) {
      for (const unsigned half : {0U, 1U}) {
        const limb_view found = half == 0 ? job.sums[s].dst0 : job.sums[s].dst1;
        const bool empty = dots[2 * s + half].a.empty() && !job.sums[s].accumulate;
        ASSERT_EQ(ring_.read(found), empty ? zero : ring_.read(dots[2 * s + half].dst)) << "sum " << s;
        ASSERT_TRUE(ring_.guards_intact(found));
      }
    }
  }

 private:
  [[nodiscard]] limb_view operand() { return ring_.filled(w_, random_limbs(host_, w_, random_)); }

  /// Half of a key from the first prime on, or from a later one.
  [[nodiscard]] const memory::buffer* key(std::uint32_t left_out = 0) {
    const window rest{left_out, static_cast<std::uint32_t>(host_.primes.size()) - left_out};
    std::vector<WordT> joined;
    for (const auto& limb : random_limbs(host_, rest, random_)) {
      joined.insert(joined.end(), limb.begin(), limb.end());
    }
    return &ring_.keep(joined);
  }

  /// The first term has no digits and both addends, others have the first, one of four none, and a
  /// permutation.
  void add_term(std::size_t t, const std::vector<limb_view>& digits) {
    backend::key_term& term = job.terms.emplace_back();
    if (t % 4 != 3) term.plus0 = plus_[0];
    if (t == 0) {
      term.plus1 = plus_[1];
      return;
    }
    for (const limb_view& digit : digits) {
      const auto left_out = static_cast<std::uint32_t>(random_() % (w_.first + 1));
      term.digits.push_back({digit, key(left_out), key(left_out), {}, left_out});
    }
    const std::uint64_t galois = random_() % (2 * host_.n()) | 1;
    term.permutation = &ring_.keep(ring::automorphism_permutation(galois, host_.log_n));
  }

  /// A term lacks in some sums; the last of several sums has none.
  void add_sum(std::size_t s, const dot_shape& shape) {
    before_.push_back(random_limbs(host_, w_, random_));
    before_.push_back(random_limbs(host_, w_, random_));
    const bool adds = s % 2 == 1;
    const auto dst = [&](std::size_t i) {
      return adds ? ring_.filled(w_, before_[2 * s + i]) : ring_.poisoned(w_);
    };
    backend::weighted_sum& sum = job.sums.emplace_back(backend::weighted_sum{dst(0), dst(1), adds});
    for (std::uint32_t t = 0; t < shape.terms && (s == 0 || s + 1 < shape.sums); ++t) {
      if (s != 0 && (t + s) % 3 == 0) continue;
      sum.numbers.push_back(t);
      const bool repeats = host_.log_n > backend::least_log_repeat && (t + s) % 2 == 1;
      const unsigned log_repeat = repeats ? backend::least_log_repeat : 0;
      auto weight = random_limbs(host_, w_, random_);
      for (auto& limb : weight) limb.resize(host_.n() >> log_repeat);
      sum.weights.push_back(ring_.filled(w_, weight, log_repeat));
    }
  }

  device_ring<WordT>& ring_;
  const host_ring<WordT>& host_;
  window w_;
  std::mt19937_64 random_;
  limb_view plus_[2];
  std::vector<limbs<WordT>> before_;
};

TYPED_TEST(KeyDot, EqualsProductsAndDots) {
  for (const unsigned log_n : {4U, 5U, 9U, 12U}) {
    const host_ring<TypeParam> host(log_n);
    // The third has more keys, the fourth more sums, the fifth more terms than one launch of a GPU takes.
    for (const dot_shape& shape : {dot_shape{1, 1, 1}, {4, 3, 2}, {20, 5, 3}, {5, 2, 11}, {40, 1, 4}}) {
      if (log_n == 12 && shape.terms > 5) continue;  // the scalar kernels take seconds
      for (const device_under_test& dut : devices_under_test()) {
        SCOPED_TRACE(testing::Message()
                     << dut.name << ", N = 2^" << log_n << ", " << shape.terms << " terms of " << shape.digits
                     << " digits, " << shape.sums << " sums");
        device_ring<TypeParam> ring(host, *dut.device);
        dot_case<TypeParam> first(ring, host, {2, 3}, shape), second(ring, host, {1, 1}, shape);
        ring.device().key_dot(ring.tables(), std::vector<backend::key_dot_job>{first.job, second.job});
        first.expect_equal();
        second.expect_equal();
      }
    }
  }
}

/// Jobs with the same keys and weights on different primes, as the parts of one polynomial are.
TYPED_TEST(KeyDot, PartsOfOnePolynomial) {
  const host_ring<TypeParam> host(9);
  for (const device_under_test& dut : devices_under_test()) {
    SCOPED_TRACE(dut.name);
    device_ring<TypeParam> ring(host, *dut.device);
    dot_case<TypeParam> whole(ring, host, {1, 4}, {6, 2, 3});
    std::vector<backend::key_dot_job> parts;
    for (const window w : {window{1, 2}, window{3, 1}, window{4, 1}}) {
      backend::key_dot_job part = whole.job;
      for (backend::key_term& term : part.terms) {
        for (backend::key_digit& digit : term.digits) digit.digit = digit.digit.slice(w);
        for (limb_view* plus : {&term.plus0, &term.plus1}) {
          if (plus->data != nullptr) *plus = plus->slice(w);
        }
      }
      for (backend::weighted_sum& sum : part.sums) {
        sum.dst0 = sum.dst0.slice(w);
        sum.dst1 = sum.dst1.slice(w);
        for (limb_view& weight : sum.weights) weight = weight.slice(w);
      }
      part.factors.assign(whole.job.factors.begin() + (w.first - 1),
                          whole.job.factors.begin() + (w.end() - 1));
      parts.push_back(part);
    }
    ring.device().key_dot(ring.tables(), parts);
    whole.expect_equal();
  }
}

TYPED_TEST(KeyDot, BadJobs) {
  const host_ring<TypeParam> host(5);
  for (const device_under_test& dut : devices_under_test()) {
    SCOPED_TRACE(dut.name);
    device_ring<TypeParam> ring(host, *dut.device);
    const dot_case<TypeParam> good(ring, host, {1, 2}, {3, 2, 2});
    const auto refused = [&](const auto& spoil) {
      backend::key_dot_job job = good.job;
      spoil(job);
      EXPECT_THROW(ring.device().key_dot(ring.tables(), {&job, 1}), invalid_argument);
    };
    refused([](auto& job) { job.sums.clear(); });
    refused([](auto& job) { job.terms[1].digits[0].key_a = nullptr; });  // seeded
    refused([](auto& job) { job.terms[1].digits[0].first_prime = 2; });
    refused([](auto& job) { job.sums[0].numbers[0] = 3; });
    refused([](auto& job) { std::swap(job.sums[0].numbers[0], job.sums[0].numbers[1]); });
    refused([](auto& job) { job.sums[0].weights.pop_back(); });
    refused([](auto& job) { ++job.sums[0].weights[1].limb; });
    refused([](auto& job) { job.factors.pop_back(); });
    refused([](auto& job) { job.sums[0].dst1.primes.count = 1; });
  }
}

}  // namespace
