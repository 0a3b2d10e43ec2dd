// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "host_conversion.hpp"

namespace {

using namespace halocline;
using namespace halocline::test;

template <typename WordT>
class BaseConvertOp : public testing::Test {
 protected:
  void check(const host_ring<WordT>& host, const basis& b) {
    const host_conversion<WordT> conversion(host, b);
    std::mt19937_64 random(test_seed());
    std::vector<limbs<WordT>> inputs, outputs;
    for (const window& w : b.sources) inputs.push_back(random_limbs(host, w, random));
    limbs<WordT> joined;
    for (const auto& each : inputs) joined.insert(joined.end(), each.begin(), each.end());
    for (const window& w : b.targets) outputs.push_back(map_limbs(host, w, [](auto) { return 0; }));
    for (std::size_t j = 0; j < host.n(); ++j) {
      const cpp_int x = conversion.value(joined, j);
      // It is the representative of the residues, centred up to the rounding of the reciprocals.
      for (std::size_t i = 0; i < joined.size(); ++i) {
        ASSERT_EQ(residue<WordT>(x, host.primes[conversion.sources()[i]]), joined[i][j]);
      }
      ASSERT_LE(abs(x) * 1000, conversion.product() * 501);
      for (std::size_t t = 0; t < b.targets.size(); ++t) {
        for (std::size_t i = 0; i < b.targets[t].count; ++i) {
          outputs[t][i][j] = static_cast<WordT>(residue<WordT>(x, host.primes[b.targets[t].first + i]));
        }
      }
    }
    for (const device_under_test& dut : devices_under_test()) {
      SCOPED_TRACE(testing::Message()
                   << dut.name << ", N = 2^" << host.log_n << ", " << joined.size() << " sources");
      device_ring<WordT> ring(host, *dut.device);
      run(ring, b, conversion, inputs, outputs);
      if (this->HasFailure()) return;
    }
  }

 private:
  /// A batch of two equal jobs with destinations of their own.
  static void run(device_ring<WordT>& ring, const basis& b, const host_conversion<WordT>& conversion,
                  const std::vector<limbs<WordT>>& inputs, const std::vector<limbs<WordT>>& outputs) {
    const std::vector<WordT> words = conversion.words();
    backend::conversion_table table{conversion.sources(), conversion.targets(),
                                    ring.upload(std::as_bytes(std::span(words)))};
    std::vector<backend::convert_job> jobs(2);
    for (auto& job : jobs) {
      job.table = &table;
      for (std::size_t i = 0; i < inputs.size(); ++i) job.src.push_back(ring.filled(b.sources[i], inputs[i]));
      for (const window& w : b.targets) job.dst.push_back(ring.poisoned(w));
    }
    ring.device().base_convert(ring.tables(), jobs);
    for (const auto& job : jobs) {
      for (std::size_t t = 0; t < outputs.size(); ++t) {
        EXPECT_EQ(ring.read(job.dst[t]), outputs[t]);
        EXPECT_TRUE(ring.guards_intact(job.dst[t]));
      }
      for (std::size_t i = 0; i < inputs.size(); ++i) EXPECT_EQ(ring.read(job.src[i]), inputs[i]);
    }
  }
};

using words = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(BaseConvertOp, words);

TYPED_TEST(BaseConvertOp, MatchesBigIntegers) {
  for (const unsigned log_n : {4U, 5U, 7U, 10U, 12U}) {
    const host_ring<TypeParam> host(log_n);
    this->check(host, {{{3, 1}}, {{0, 3}, {4, 5}}});
    this->check(host, {{{2, 3}}, {{0, 2}, {5, 4}}});
    if (log_n > 7) continue;
    this->check(host, {{{4, 2}, {0, 2}}, {{6, 1}, {2, 2}}});
    this->check(host, {{{0, 8}}, {{8, 1}}});
  }
}

/// More sources than one accumulator holds, up to the largest number allowed.
TYPED_TEST(BaseConvertOp, ManySources) {
  host_ring<TypeParam> host(8);
  const double bits = sizeof(TypeParam) == 4 ? 30 : 61;
  const auto more = params::primes_below(bits, 66, 2 * host.n(), host.primes);
  host.primes.insert(host.primes.end(), more.begin(), more.end());
  const auto first = static_cast<std::uint32_t>(host.primes.size() - more.size());
  for (const std::uint32_t count : {10U, 11U, 12U, 23U, 64U})
    this->check(host, {{{first + 2, count}}, {{0, 4}}});
}

}  // namespace
