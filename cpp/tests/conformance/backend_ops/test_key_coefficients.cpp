// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <span>
#include <utility>
#include <vector>

#include "halocline/ring/automorphism.hpp"
#include "keep_key.hpp"
#include "ops_fixture.hpp"

namespace {

using namespace halocline;
using namespace halocline::test;
using arith::window;
using backend::limb_view;

template <typename WordT>
class CoefficientDigits : public testing::Test {};
using words = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(CoefficientDigits, words);

/// Digits of a key switch on the host; where keys are seeded, every third one is.
template <typename WordT>
struct host_digits {
  std::vector<limbs<WordT>> digit, b, a;
  std::vector<backend::uniform_source> sources;

  [[nodiscard]] static bool seeded(std::size_t t) { return t % 3 == 1; }

  host_digits(const host_ring<WordT>& host, window w, std::size_t terms, std::mt19937_64& random) {
    for (std::size_t t = 0; t < terms; ++t) {
      digit.push_back(random_limbs(host, w, random));
      b.push_back(random_limbs(host, host.all(), random));
      a.push_back(random_limbs(host, host.all(), random));
      backend::uniform_source& source = sources.emplace_back();
      for (auto& byte : source.seed) byte = static_cast<std::uint8_t>(random());
    }
  }
};

/// Digits in coefficient form beside some that are not, with automorphisms, addends and further sums, against
/// the same digits transformed before. Six digits are more than GPUs take at a time.
template <typename WordT>
class coefficient_digits {
 public:
  coefficient_digits(host_ring<WordT> host, window w, bool with_seeds)
      : host_(std::move(host)), w_(w), with_seeds_(with_seeds), random_(test_seed() + host_.log_n) {
    for (std::size_t k = 0; k < 4; ++k) {
      data_.emplace_back(host_, w, k == 0 ? 6 : k, random_);  // six are more than a group of digits
      elements_.push_back(k == 1 ? 1 : random_() % (2 * host_.n()) | 1);
    }
    before_ = random_limbs(host_, w, random_);
    addend_ = random_limbs(host_, w, random_);
  }

  void check(const device_under_test& dut) const {
    device_ring<WordT> ring(host_, *dut.device);
    const std::vector<backend::key_job> expected = jobs(ring, false), found = jobs(ring, true);
    // Jobs with automorphisms, and those with further sums, have kernels of their own.
    for (const std::span<const backend::key_job> list : {std::span(expected), std::span(found)}) {
      ring.device().key_multiply_accumulate(ring.tables(), list.first(2));
      ring.device().key_multiply_accumulate(ring.tables(), list.subspan(2, 1));
      ring.device().key_multiply_accumulate(ring.tables(), list.subspan(3));
    }
    for (std::size_t j = 0; j < found.size(); ++j) {
      ASSERT_EQ(ring.read(found[j].dst0), ring.read(expected[j].dst0)) << "job " << j;
      ASSERT_EQ(ring.read(found[j].dst1), ring.read(expected[j].dst1)) << "job " << j;
      ASSERT_TRUE(ring.guards_intact(found[j].dst0) && ring.guards_intact(found[j].dst1));
      for (const backend::key_digit& each : found[j].digits) ASSERT_TRUE(ring.guards_intact(each.digit));
    }
  }

 private:
  /// Every third digit is in NTT form; the others are transformed unless `coefficients`.
  [[nodiscard]] std::vector<backend::key_digit> digits(device_ring<WordT>& ring, std::size_t k,
                                                       bool coefficients) const {
    const host_digits<WordT>& from = data_[k];
    std::vector<backend::key_digit> made;
    for (std::size_t t = 0; t < from.digit.size(); ++t) {
      const bool expand = with_seeds_ && from.seeded(t);
      made.push_back({ring.filled(w_, from.digit[t]), keep_key(ring, from.b[t]),
                      expand ? nullptr : keep_key(ring, from.a[t]), from.sources[t]});
      if (t % 3 == 1) continue;
      made.back().coefficients = coefficients;
      if (coefficients) continue;
      const limb_view& digit = made.back().digit;
      ring.device().ntt(ring.tables(), std::vector<backend::unary_job>{{digit, digit}});
    }
    return made;
  }
  [[nodiscard]] const memory::buffer* table(device_ring<WordT>& ring, std::size_t k) const {
    if (elements_[k] == 1) return nullptr;
    return &ring.keep(ring::automorphism_permutation(elements_[k], host_.log_n));
  }
  [[nodiscard]] std::vector<backend::key_job> jobs(device_ring<WordT>& ring, bool coefficients) const {
    const auto job = [&](std::size_t k) {
      return backend::key_job{ring.poisoned(w_), ring.poisoned(w_), digits(ring, k, coefficients)};
    };
    std::vector<backend::key_job> made{job(0), job(0), job(0), job(2)};
    made[1].dst0 = ring.filled(w_, before_);
    made[1].dst1 = ring.filled(w_, before_);
    made[1].accumulate = true;
    made[1].plus0 = ring.filled(w_, addend_);
    made[1].factors.assign(w_.count, 3);
    made[2].permutation = table(ring, 0);
    for (std::size_t k = 1; k < data_.size(); ++k) {
      made[2].more.push_back({digits(ring, k, coefficients), table(ring, k), {}, {}});
    }
    made[3].permutation = table(ring, 2);
    return made;
  }

  host_ring<WordT> host_;
  window w_;
  bool with_seeds_;
  std::mt19937_64 random_;
  std::vector<host_digits<WordT>> data_;
  std::vector<std::uint64_t> elements_;
  limbs<WordT> before_, addend_;
};

TYPED_TEST(CoefficientDigits, EqualDigitsTransformedBefore) {
  for (const unsigned log_n : {4U, 5U, 8U, 12U, 16U}) {  // 2^16 has kernels of its own on GPUs
    const host_ring<TypeParam> host(log_n);
    for (const bool with_seeds : {false, true}) {
      if (with_seeds && log_n > 8) continue;
      const coefficient_digits<TypeParam> digits(host, {1, 2}, with_seeds);
      for (const device_under_test& dut : devices_under_test()) {
        if (dut.name == "scalar" && log_n > 12) continue;  // takes seconds
        SCOPED_TRACE(testing::Message() << dut.name << ", N = 2^" << log_n << ", seeds " << with_seeds);
        digits.check(dut);
      }
    }
  }
}

}  // namespace
