// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "halocline/ring/automorphism.hpp"
#include "ops_fixture.hpp"

namespace {

using namespace halocline;
using namespace halocline::test;
using arith::window;
using backend::limb_view;

/// Batches that devices have to cut: more jobs, limbs, terms and digits than one launch takes, mixed windows,
/// and the largest rings. The scalar kernels, which other tests compare with the definitions, are the
/// reference.
template <typename WordT>
class LargeBatches : public testing::Test {
 protected:
  using outputs = std::vector<limbs<WordT>>;

  /// `body(host ring, device ring, random source)` returns what must be equal on every device.
  template <typename BodyT>
  void equal_everywhere(const host_ring<WordT>& host, const BodyT& body) {
    outputs expected;
    for (const device_under_test& dut : devices_under_test()) {
      SCOPED_TRACE(testing::Message() << dut.name << ", N = 2^" << host.log_n);
      device_ring<WordT> ring(host, *dut.device);
      std::mt19937_64 random(test_seed() + host.log_n);
      const outputs found = body(host, ring, random);
      if (expected.empty()) expected = found;
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], expected[i]) << "output " << i;
    }
  }
};

template <typename WordT>
window some_window(const host_ring<WordT>& host, std::mt19937_64& random) {
  const auto first = static_cast<std::uint32_t>(random() % host.primes.size());
  return {first, 1 + static_cast<std::uint32_t>(random() % (host.primes.size() - first))};
}

template <typename WordT>
limb_view random_view(const host_ring<WordT>& host, device_ring<WordT>& ring, window w,
                      std::mt19937_64& random) {
  return ring.filled(w, random_limbs(host, w, random));
}

template <typename WordT>
std::vector<limbs<WordT>> read_all(device_ring<WordT>& ring, const std::vector<limb_view>& views) {
  std::vector<limbs<WordT>> values;
  for (const limb_view& view : views) {
    values.push_back(ring.read(view));
    EXPECT_TRUE(ring.guards_intact(view));
  }
  return values;
}

using words = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(LargeBatches, words);

constexpr std::size_t many = 150;

TYPED_TEST(LargeBatches, ManyElementwiseJobs) {
  const host_ring<TypeParam> host(5);
  this->equal_everywhere(host, [](const auto& on_host, auto& ring, std::mt19937_64& random) {
    std::vector<limb_view> results;
    std::vector<backend::binary_job> binary;
    std::vector<backend::tensor_job> tensor;
    std::vector<backend::scalar_job> scalar;
    for (std::size_t i = 0; i < many; ++i) {
      const window w = some_window(on_host, random);
      const auto view = [&] { return random_view(on_host, ring, w, random); };
      binary.push_back({view(), view(), view()});
      tensor.push_back({view(), view(), view(), view(), view(), view(), view()});
      scalar.push_back({view(), view(), {}});
      for (std::uint32_t p = w.first; p < w.end(); ++p) {
        scalar.back().scalars.push_back({random() % on_host.primes[p], random() % on_host.primes[p]});
      }
      for (const limb_view& each : {binary[i].dst, tensor[i].d0, tensor[i].d1, tensor[i].d2, scalar[i].dst})
        results.push_back(each);
    }
    ring.device().multiply_add(ring.tables(), binary);
    ring.device().tensor(ring.tables(), tensor);
    ring.device().scalar_multiply(ring.tables(), scalar);
    return read_all(ring, results);
  });
}

TYPED_TEST(LargeBatches, LongSumsAndManyDigits) {
  const host_ring<TypeParam> host(6);
  this->equal_everywhere(host, [](const auto& on_host, auto& ring, std::mt19937_64& random) {
    std::vector<limb_view> results;
    std::vector<backend::dot_job> dots;
    std::vector<backend::key_job> keys;
    const window all = on_host.all();
    for (const std::size_t terms : {600U, 1U, 40U, 300U}) {
      const window w{2, 2};
      const auto view = [&] { return random_view(on_host, ring, w, random); };
      dots.push_back({view(), {}, {}, terms == 40});
      for (std::size_t t = 0; t < terms; ++t) {
        dots.back().a.push_back(view());
        dots.back().b.push_back(view());
      }
      results.push_back(dots.back().dst);
    }
    const auto key = [&] {  // limb i of a key belongs to prime i
      std::vector<TypeParam> joined;
      for (const auto& limb : random_limbs(on_host, all, random)) {
        joined.insert(joined.end(), limb.begin(), limb.end());
      }
      return &ring.keep(joined);
    };
    for (std::size_t i = 0; i < 40; ++i) {
      const window w = some_window(on_host, random);
      const auto view = [&] { return random_view(on_host, ring, w, random); };
      backend::key_job job{view(), view(), {}, i % 2 == 0};
      for (std::size_t d = 0; d < (i == 7 ? 140 : 1 + i % 5); ++d) {
        backend::uniform_source source;
        for (auto& byte : source.seed) byte = static_cast<std::uint8_t>(random());
        source.rule = d % 4 == 3 ? stream_rule::chacha20_retry : stream_rule::chacha8_spare;
        job.digits.push_back({view(), key(), i % 3 == 0 ? nullptr : key(), source});
      }
      for (std::uint32_t p = w.first; i % 4 == 0 && p < w.end(); ++p) {
        job.factors.push_back(random() % on_host.primes[p]);
      }
      if (i % 8 == 0) job.plus0 = view();
      if (i % 4 == 0) job.plus1 = view();
      keys.push_back(job);
      results.push_back(job.dst0);
      results.push_back(job.dst1);
    }
    ring.device().dot(ring.tables(), dots);
    ring.device().key_multiply_accumulate(ring.tables(), keys);
    return read_all(ring, results);
  });
}

TYPED_TEST(LargeBatches, LargestRings) {
  for (const unsigned log_n : {15U, 16U}) {
    const host_ring<TypeParam> host(log_n);
    this->equal_everywhere(host, [](const auto& on_host, auto& ring, std::mt19937_64& random) {
      const window w{1, 3};
      const auto view = [&] { return random_view(on_host, ring, w, random); };
      const auto galois = static_cast<std::uint32_t>(random() % on_host.n() * 2 + 1);
      const auto index = ring::automorphism_permutation(galois, on_host.log_n);
      const backend::automorphism_job permuted{view(), view(), &ring.keep(index)};
      const backend::binary_job sum{view(), view(), view()}, product{view(), view(), view()};
      const backend::unary_job copied{view(), view()};
      ring.device().automorphism(ring.tables(), std::vector{permuted});
      ring.device().add(ring.tables(), std::vector{sum});
      ring.device().multiply(ring.tables(), std::vector{product});
      ring.device().copy(ring.tables(), std::vector{copied});
      return read_all(ring, {permuted.dst, sum.dst, product.dst, copied.dst});
    });
  }
}

/// Tables with random constants, which conversions must apply like any others.
template <typename WordT>
backend::conversion_table random_table(const host_ring<WordT>& host, device_ring<WordT>& ring, window from,
                                       window to, std::mt19937_64& random) {
  constexpr unsigned w = 8 * sizeof(WordT);
  std::vector<std::uint32_t> sources, targets;
  std::vector<WordT> inverses, quotients, reciprocals, factors;
  for (std::uint32_t p = from.first; p < from.end(); ++p) {
    const std::uint64_t d = host.primes[p];
    sources.push_back(p);
    inverses.push_back(static_cast<WordT>(random() % d));
    quotients.push_back(static_cast<WordT>((static_cast<u128>(inverses.back()) << w) / d));
    reciprocals.push_back(static_cast<WordT>((static_cast<u128>(1) << backend::reciprocal_shift(w)) / d));
  }
  for (std::uint32_t p = to.first; p < to.end(); ++p) {
    targets.push_back(p);
    for (std::uint32_t i = 0; i <= from.count; ++i) {
      factors.push_back(static_cast<WordT>(random() % host.primes[p]));
    }
  }
  for (const auto* part : {&quotients, &reciprocals, &factors}) {
    inverses.insert(inverses.end(), part->begin(), part->end());
  }
  return {sources, targets, ring.upload(std::as_bytes(std::span(inverses)))};
}

TYPED_TEST(LargeBatches, ConversionsOfEveryShape) {
  for (const unsigned log_n : {4U, 5U, 8U, 13U}) {
    host_ring<TypeParam> host(log_n);
    const auto more = params::primes_below(sizeof(TypeParam) == 4 ? 30 : 61, 64, 2 * host.n(), host.primes);
    host.primes.insert(host.primes.end(), more.begin(), more.end());
    const auto first = static_cast<std::uint32_t>(host.primes.size() - more.size());
    this->equal_everywhere(host, [&](const auto& on_host, auto& ring, std::mt19937_64& random) {
      std::deque<backend::conversion_table> tables;
      std::vector<backend::convert_job> jobs, wide;
      std::vector<limb_view> results;
      const auto add = [&](std::vector<backend::convert_job>& batch, window from, window to) {
        const auto& table = tables.emplace_back(random_table(on_host, ring, from, to, random));
        batch.push_back({{random_view(on_host, ring, from, random)}, {ring.poisoned(to)}, &table});
        results.push_back(batch.back().dst.front());
      };
      for (const std::uint32_t k : {1U, 7U, 8U, 15U, 16U, 31U}) add(jobs, {first, k}, {0, 5});
      add(jobs, {0, 4}, {4, static_cast<std::uint32_t>(host.primes.size() - 4)});
      for (std::size_t i = 0; log_n == 5 && i < many / 2; ++i)
        add(jobs, {1, 1 + static_cast<std::uint32_t>(i % 3)}, {5, 2});
      for (const std::uint32_t k : {1U, 32U, 64U}) add(wide, {first, k}, {0, 5});
      ring.device().base_convert(ring.tables(), jobs);
      ring.device().base_convert(ring.tables(), wide);
      return read_all(ring, results);
    });
  }
}

}  // namespace
