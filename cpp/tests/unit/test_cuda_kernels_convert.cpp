// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <deque>

#include "cuda_kernel_rig.hpp"

namespace {

using namespace halocline;
using namespace halocline::test;

template <typename WordT>
class CudaConversion : public cuda_kernel_rig<WordT> {
 protected:
  /// Extends the ring to primes for many sources.
  void begin_wide(unsigned log_n, std::uint32_t more) {
    this->begin(log_n);
    const auto primes =
        params::primes_below(sizeof(WordT) == 4 ? 30 : 61, more, 2 * this->host_->n(), this->host_->primes);
    this->host_->primes.insert(this->host_->primes.end(), primes.begin(), primes.end());
    this->ring_.emplace(*this->host_, *this->cpu_);
  }
  /// A table with random factors: kernels must equal the formula for any.
  const backend::conversion_table* table(const std::vector<window>& from, const std::vector<window>& to) {
    auto& made = tables_.emplace_back();
    std::vector<WordT> inverses, quotients, reciprocals, factors;
    for (const window& w : from) {
      for (std::uint32_t p = w.first; p < w.end(); ++p) {
        const std::uint64_t d = this->host_->primes[p];
        made.sources.push_back(p);
        inverses.push_back(static_cast<WordT>(this->random_() % d));
        quotients.push_back(
            arith::shoup_quotient(inverses.back(), arith::make_modulus(static_cast<WordT>(d))));
        reciprocals.push_back(
            static_cast<WordT>((u128{1} << backend::reciprocal_shift(8 * sizeof(WordT))) / d));
      }
    }
    for (const window& w : to) {
      for (std::uint32_t p = w.first; p < w.end(); ++p) {
        made.targets.push_back(p);
        for (std::size_t i = 0; i <= made.sources.size(); ++i) {
          const std::uint64_t q = this->host_->primes[p];
          factors.push_back(static_cast<WordT>(this->random_() % 8 == 0 ? q - 1 : this->random_() % q));
        }
      }
    }
    for (const auto* part : {&quotients, &reciprocals, &factors}) {
      inverses.insert(inverses.end(), part->begin(), part->end());
    }
    made.data = this->ring_->upload(std::as_bytes(std::span(inverses)));
    this->buffers_.push_back(&made.data);
    return &made;
  }
  void add(const std::vector<window>& from, const std::vector<window>& to) {
    auto& cpu = cpu_jobs_.emplace_back();
    cpu.table = table(from, to);
    for (const window& w : from) cpu.src.push_back(this->operand(w));
    auto& emulated = emulated_jobs_.emplace_back(cpu);
    for (const window& w : to) {
      const auto dst = this->destination(w);
      cpu.dst.push_back(dst.cpu);
      emulated.dst.push_back(dst.emulated);
    }
  }
  /// `matrices`: with matrix instructions. Returns the number of launches that would not use them.
  std::size_t check(bool matrices = false) {
    std::size_t scalar = 0;
    this->cpu_->base_convert(this->ring_->tables(), cpu_jobs_);
    this->emulate([&](const auto& on) {
      if (matrices) scalar = on.base_convert_mma(emulated_jobs_);
      if (!matrices) on.base_convert(emulated_jobs_);
    });
    cpu_jobs_.clear();
    emulated_jobs_.clear();
    tables_.clear();
    return scalar;
  }

 private:
  std::deque<backend::conversion_table> tables_;
  std::vector<backend::convert_job> cpu_jobs_, emulated_jobs_;
};

using words = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(CudaConversion, words);

/// A batch of jobs that differ in sources, targets and views; more than one launch takes.
TYPED_TEST(CudaConversion, MixedJobs) {
  for (const unsigned log_n : {4U, 5U, 7U, 9U, 10U}) {
    this->begin(log_n);
    this->add({{3, 1}}, {{0, 3}, {4, 5}});
    this->add({{2, 3}}, {{0, 2}, {5, 4}});
    this->add({{4, 2}, {0, 2}}, {{6, 1}, {2, 2}});
    this->add({{0, 8}}, {{8, 1}});
    for (int i = 0; log_n == 4 && i < 70; ++i) this->add({{1, 2}, {5, 1}}, {{0, 1}, {3, 2}, {8, 1}});
    this->check();
  }
}

/// From one source to the largest number, alone and next to short ones.
TYPED_TEST(CudaConversion, AnyNumberOfSources) {
  for (const unsigned log_n : {4U, 8U}) {
    this->begin_wide(log_n, 66);
    const auto first = static_cast<std::uint32_t>(this->host_->primes.size() - 66);
    for (const std::uint32_t count : {1U, 7U, 8U, 12U, 15U, 16U, 23U, 24U, 31U, 32U, 47U, 63U, 64U}) {
      this->add({{first + 2, count}}, {{0, 5}, {6, 4}});
      if (count % 2 == 0) this->check();
    }
    this->add({{0, 4}}, {{4, 70}});
    this->check();
  }
}

using CudaMatrixConversion = CudaConversion<std::uint32_t>;

TEST_F(CudaMatrixConversion, MixedJobs) {
  for (const unsigned log_n : {5U, 6U, 8U, 11U}) {
    begin(log_n);
    add({{3, 1}}, {{0, 3}, {4, 5}});
    add({{2, 3}}, {{0, 2}, {5, 4}});
    add({{0, 8}}, {{8, 1}});
    EXPECT_EQ(check(true), 0U);
  }
}

/// Up to 31 sources and more targets than a block has; beyond that the scalar kernel takes over.
TEST_F(CudaMatrixConversion, AnyNumberOfSources) {
  begin_wide(8, 66);
  const auto first = static_cast<std::uint32_t>(host_->primes.size() - 66);
  for (const std::uint32_t count : {1U, 7U, 8U, 12U, 15U, 16U, 23U, 24U, 31U}) {
    add({{first, count}}, {{0, 5}, {6, 4}});
    EXPECT_EQ(check(true), 0U) << count;
  }
  add({{0, 4}}, {{4, 70}});
  add({{0, 9}}, {{9, 48}});
  EXPECT_EQ(check(true), 0U);
}

TEST_F(CudaMatrixConversion, LeavesTheRestToTheScalarKernel) {
  begin(4);
  backend::cuda::convert_params<std::uint32_t> p;
  const auto steps = [&](std::uint32_t sources, std::uint32_t words) {
    p.jobs = {};
    p.jobs.add({nullptr, sources, 1, 0, 0, 1, 2}, 1);
    p.words = words;
    return mma_steps(p);
  };
  EXPECT_EQ(steps(12, 16), 0U);   // fewer coefficients than a warp has
  EXPECT_EQ(steps(32, 256), 0U);  // v would be the 33rd source
  EXPECT_EQ(steps(31, 256), 4U);
  EXPECT_EQ(steps(7, 32), 1U);
}

}  // namespace
