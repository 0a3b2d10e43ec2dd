// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cuda_kernel_rig.hpp"
#include "halocline/ring/automorphism.hpp"

namespace {

using namespace halocline;
using namespace halocline::test;

template <typename WordT>
class CudaKernels : public cuda_kernel_rig<WordT> {};
using words = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(CudaKernels, words);

constexpr unsigned sizes[] = {4, 5, 7, 11};
/// More jobs than one block of parameters holds.
constexpr std::size_t many = 70;

TYPED_TEST(CudaKernels, Binary) {
  using backend::cuda::binary_kind;
  using op = void (backend::backend::*)(const backend::ring_tables&, std::span<const backend::binary_job>,
                                        stream_view);
  const std::pair<binary_kind, op> kinds[] = {{binary_kind::add, &backend::backend::add},
                                              {binary_kind::sub, &backend::backend::sub},
                                              {binary_kind::multiply, &backend::backend::multiply},
                                              {binary_kind::multiply_add, &backend::backend::multiply_add}};
  for (const unsigned log_n : sizes) {
    this->begin(log_n);
    for (const auto& [kind, run] : kinds) {
      std::vector<backend::binary_job> cpu, emulated;
      for (std::size_t i = 0; i < (log_n == 4 ? many : 3); ++i) {
        const window w = this->any_window();
        const auto dst = this->destination(w);
        const limb_view a = this->operand(w), b = this->operand(w);
        cpu.push_back({dst.cpu, i % 3 == 1 ? dst.cpu : a, i % 3 == 2 ? dst.cpu : b});
        emulated.push_back({dst.emulated, i % 3 == 1 ? dst.emulated : a, i % 3 == 2 ? dst.emulated : b});
      }
      ((*this->cpu_).*run)(this->ring_->tables(), cpu, {});
      this->emulate([&, kind = kind](const auto& on) { on.binary(kind, emulated); });
    }
  }
}

TYPED_TEST(CudaKernels, UnaryAndZero) {
  for (const unsigned log_n : sizes) {
    this->begin(log_n);
    std::vector<backend::unary_job> cpu, emulated;
    const auto fill = [&] {
      cpu.clear();
      emulated.clear();
      for (std::size_t i = 0; i < (log_n == 4 ? many : 3); ++i) {
        const window w = this->any_window();
        const auto dst = this->destination(w);
        const limb_view a = this->operand(w);
        cpu.push_back({dst.cpu, i % 2 == 1 ? dst.cpu : a});
        emulated.push_back({dst.emulated, i % 2 == 1 ? dst.emulated : a});
      }
    };
    fill();
    this->cpu_->negate(this->ring_->tables(), cpu);
    this->emulate([&](const auto& on) { on.template unary<backend::cuda::negate_op>(emulated); });
    fill();
    this->cpu_->copy(this->ring_->tables(), cpu);
    this->emulate([&](const auto& on) { on.template unary<backend::cuda::copy_op>(emulated); });
    const auto zeroed = this->destination(this->any_window());
    this->cpu_->set_zero(this->ring_->tables(), std::vector<limb_view>{zeroed.cpu});
    this->emulate([&](const auto& on) { on.set_zero(std::vector<limb_view>{zeroed.emulated}); });
  }
}

TYPED_TEST(CudaKernels, Constants) {
  using backend::cuda::scalar_kind;
  for (const unsigned log_n : sizes) {
    this->begin(log_n);
    for (const bool product : {false, true}) {
      std::vector<backend::scalar_job> cpu, emulated;
      for (std::size_t i = 0; i < (log_n == 4 ? many : 3); ++i) {
        const window w = this->any_window();
        const auto dst = this->destination(w);
        backend::scalar_job job{dst.cpu, i % 2 == 1 ? dst.cpu : this->operand(w), {}};
        for (std::uint32_t p = w.first; p < w.end(); ++p) {
          job.scalars.push_back({this->random_() % this->host_->primes[p], this->host_->primes[p] - 1});
        }
        cpu.push_back(job);
        job.dst = dst.emulated;
        if (i % 2 == 1) job.src = dst.emulated;
        emulated.push_back(job);
      }
      if (product) this->cpu_->scalar_multiply(this->ring_->tables(), cpu);
      if (!product) this->cpu_->scalar_add(this->ring_->tables(), cpu);
      this->emulate(
          [&](const auto& on) { on.scalar(product ? scalar_kind::multiply : scalar_kind::add, emulated); });
    }
    std::vector<backend::linear_job> cpu, emulated;
    for (std::size_t i = 0; i < (log_n == 4 ? many : 3); ++i) {
      const window w = this->any_window();
      const auto dst = this->destination(w);
      backend::linear_job job{dst.cpu, i % 2 == 1 ? dst.cpu : this->operand(w), this->operand(w), {}, {}};
      for (std::uint32_t p = w.first; p < w.end(); ++p) {
        job.factor_a.push_back(this->random_() % this->host_->primes[p]);
        job.factor_b.push_back(this->host_->primes[p] - 1);
      }
      cpu.push_back(job);
      job.dst = dst.emulated;
      if (i % 2 == 1) job.a = dst.emulated;
      emulated.push_back(job);
    }
    this->cpu_->linear_combine(this->ring_->tables(), cpu);
    this->emulate([&](const auto& on) { on.linear_combine(emulated); });
  }
}

TYPED_TEST(CudaKernels, SumsOverTheSamePairs) {
  for (const unsigned log_n : sizes) {
    this->begin(log_n);
    std::vector<backend::dot_job> cpu, emulated;
    const window w{1, 3};
    for (const bool repeated : {false, true}) {
      if (repeated && log_n <= backend::least_log_repeat) continue;
      std::vector<limb_view> babies[2];
      for (std::size_t t = 0; t < 9; ++t) {
        for (auto& each : babies) each.push_back(this->operand(w));
      }
      // Sets of as many rows as are made together, fewer, more, and with terms that other rows lack.
      for (const std::size_t rows : {4U, 1U, 2U, 7U}) {
        std::vector<std::vector<limb_view>> weights(rows);
        for (std::size_t r = 0; r < rows; ++r) {
          for (std::size_t t = r % 2; t < 9 - r % 3; ++t) {
            const auto low = static_cast<std::uint64_t>(backend::least_log_repeat);
            weights[r].push_back(
                this->operand(w, repeated ? static_cast<unsigned>(low + t % (log_n - low)) : 0));
          }
        }
        for (const auto& component : babies) {
          for (std::size_t r = 0; r < rows; ++r) {
            const auto dst = this->destination(w);
            const auto begin = component.begin() + static_cast<std::ptrdiff_t>(r % 2);
            const auto end = begin + static_cast<std::ptrdiff_t>(weights[r].size());
            cpu.push_back({dst.cpu, {begin, end}, weights[r], r % 3 == 1});
            emulated.push_back({dst.emulated, {begin, end}, weights[r], r % 3 == 1});
          }
        }
      }
    }
    this->cpu_->dot(this->ring_->tables(), cpu);
    this->emulate([&](const auto& on) { on.dot(emulated); });
  }
}

TYPED_TEST(CudaKernels, CopyToRepeatedViews) {
  for (const unsigned log_n : sizes) {
    this->begin(log_n);
    std::vector<backend::unary_job> cpu, emulated;
    for (unsigned r = backend::least_log_repeat; r < log_n; ++r) {
      const window w = this->any_window();
      const auto dst = this->destination(w, r);
      cpu.push_back({dst.cpu, this->operand(w)});
      emulated.push_back({dst.emulated, cpu.back().src});
    }
    if (cpu.empty()) continue;
    this->cpu_->copy(this->ring_->tables(), cpu);
    this->emulate([&](const auto& on) { on.keep(emulated); });
  }
}

TYPED_TEST(CudaKernels, DotAndTensor) {
  for (const unsigned log_n : sizes) {
    this->begin(log_n);
    std::vector<backend::dot_job> cpu, emulated;
    for (const std::size_t terms : {1U, 3U, 4U, 5U, 16U, 17U, log_n == 4 ? 1100U : 40U}) {
      const window w{0, 3};
      const auto dst = this->destination(w);
      backend::dot_job job{dst.cpu, {}, {}, terms % 2 == 0};
      for (std::size_t t = 0; t < terms; ++t) {
        job.a.push_back(this->operand(w));
        const bool repeated = t % 3 == 1 && log_n > backend::least_log_repeat;
        const unsigned span = repeated ? log_n - backend::least_log_repeat : 1;
        job.b.push_back(
            this->operand(w, repeated ? backend::least_log_repeat + static_cast<unsigned>(t) % span : 0));
      }
      cpu.push_back(job);
      job.dst = dst.emulated;
      emulated.push_back(job);
    }
    this->cpu_->dot(this->ring_->tables(), cpu);
    this->emulate([&](const auto& on) { on.dot(emulated); });
    std::vector<backend::tensor_job> tensors, emulated_tensors;
    for (std::size_t i = 0; i < (log_n == 4 ? many : 2); ++i) {
      const window w = this->any_window();
      const auto d0 = this->destination(w), d1 = this->destination(w), d2 = this->destination(w);
      const limb_view a0 = this->operand(w), a1 = this->operand(w), b0 = this->operand(w),
                      b1 = this->operand(w);
      tensors.push_back({d0.cpu, d1.cpu, d2.cpu, a0, a1, b0, b1});
      emulated_tensors.push_back({d0.emulated, d1.emulated, d2.emulated, a0, a1, b0, b1});
    }
    this->cpu_->tensor(this->ring_->tables(), tensors);
    this->emulate([&](const auto& on) { on.tensor(emulated_tensors); });
  }
}

TYPED_TEST(CudaKernels, Automorphism) {
  for (const unsigned log_n : sizes) {
    this->begin(log_n);
    std::vector<backend::automorphism_job> cpu, emulated;
    for (std::size_t i = 0; i < (log_n == 4 ? many : 3); ++i) {
      const window w = this->any_window();
      const auto dst = this->destination(w);
      const limb_view src = this->operand(w);
      const std::uint64_t galois = this->random_() % (2 * this->host_->n()) | 1;
      const auto* const table = this->raw(ring::automorphism_permutation(galois, log_n));
      cpu.push_back({dst.cpu, src, table});
      emulated.push_back({dst.emulated, src, table});
    }
    this->cpu_->automorphism(this->ring_->tables(), cpu);
    this->emulate([&](const auto& on) { on.automorphism(emulated); });
  }
}

TYPED_TEST(CudaKernels, NegacyclicShift) {
  for (const unsigned log_n : sizes) {
    this->begin(log_n);
    const auto n = static_cast<std::uint32_t>(this->host_->n());
    std::vector<backend::shift_job> cpu, emulated;
    for (std::size_t i = 0; i < (log_n == 4 ? many : 8); ++i) {
      const window w = i == 0 ? this->host_->all() : this->any_window();
      const auto dst = this->destination(w);
      const limb_view src = this->operand(w);
      const std::uint32_t edges[] = {0, 1, n - 1, n, n + 1, 2 * n - 1};
      const auto exponent = i < 6 ? edges[i] : static_cast<std::uint32_t>(this->random_() % (2 * n));
      cpu.push_back({dst.cpu, src, exponent});
      emulated.push_back({dst.emulated, src, exponent});
    }
    this->cpu_->negacyclic_shift(this->ring_->tables(), cpu);
    this->emulate([&](const auto& on) { on.negacyclic_shift(emulated); });
  }
}

TYPED_TEST(CudaKernels, EncodeAndSample) {
  for (const unsigned log_n : sizes) {
    this->begin(log_n);
    std::vector<backend::encode_job> cpu, emulated;
    for (const auto& [count, log_stride] : {std::pair{1U, 0U}, {2U, 0U}, {2U, 2U}}) {
      std::vector<std::uint64_t> x(count * this->host_->n());
      for (std::uint64_t& word : x) {
        const std::uint64_t draw = this->random_();
        word = draw % 8 == 0 ? std::uint64_t{1} << 63 : draw % 8 == 1 ? ~std::uint64_t{0} : draw >> draw % 50;
        if (draw % 16 > 11) word = ~word;
      }
      const auto dst = this->destination(this->any_window());
      const auto* const coefficients = this->raw(x);
      cpu.push_back({dst.cpu, coefficients, count, log_stride});
      emulated.push_back({dst.emulated, coefficients, count, log_stride});
    }
    this->cpu_->encode_expand(this->ring_->tables(), cpu);
    this->emulate([&](const auto& on) { on.encode_expand(emulated); });
    std::vector<backend::uniform_job> streams, emulated_streams;
    for (std::size_t i = 0; i < (log_n == 4 ? many : 2); ++i) {
      const auto dst = this->destination(this->any_window());
      streams.push_back({dst.cpu, this->source()});
      emulated_streams.push_back({dst.emulated, streams.back().source});
    }
    this->cpu_->sample_uniform(this->ring_->tables(), streams);
    this->emulate([&](const auto& on) { on.sample_uniform(emulated_streams); });
  }
}

/// Digits 1 to 200 (more than one launch takes), keys in memory, from seeds, and both; half of the jobs with
/// an automorphism, of one round all; some with more sums, of which the last ones need another launch.
TYPED_TEST(CudaKernels, KeyMultiply) {
  for (const unsigned log_n : sizes) {
    this->begin(log_n);
    const auto primes = static_cast<std::uint32_t>(this->host_->primes.size());
    for (const unsigned seeded : {0U, 1U, 2U}) {
      std::vector<backend::key_job> cpu, emulated;
      for (const std::size_t digits : {1U, 4U, 5U, 13U, log_n == 4 ? 200U : 8U}) {
        const window w = this->any_window();
        const auto d0 = this->destination(w), d1 = this->destination(w);
        backend::key_job job{d0.cpu, d1.cpu, {}, digits % 2 == 0};
        const auto random_digits = [&](std::size_t count) {
          std::vector<backend::key_digit> made;
          for (std::size_t d = 0; d < count; ++d) {
            const bool expand = seeded == 1 || (seeded == 2 && d % 2 == 1);
            const limb_view b = this->operand({0, primes}), a = this->operand({0, primes});
            const auto key = [&](const limb_view& view) {  // limb i of a key buffer belongs to prime i
              std::vector<TypeParam> joined;
              for (const auto& limb : this->ring_->read(view))
                joined.insert(joined.end(), limb.begin(), limb.end());
              return this->raw(joined);
            };
            made.push_back({this->operand(w), key(b), expand ? nullptr : key(a), this->source()});
          }
          return made;
        };
        const auto random_table = [&] {
          const std::uint64_t galois = this->random_() % (2 * this->host_->n()) | 1;
          return this->raw(ring::automorphism_permutation(galois, log_n));
        };
        job.digits = random_digits(digits);
        for (std::size_t k = 0; digits == 4 && k < (log_n == 4 ? 40U : 3U); ++k) {
          job.more.push_back({random_digits(1 + k % 6), k % 3 == 2 ? nullptr : random_table(), {}, {}});
          if (k % 4 == 1) job.more.back().plus1 = this->operand(w);
        }
        if (digits != 5) job.plus0 = this->operand(w);
        if (digits == 13) job.plus1 = this->operand(w);
        if (digits % 2 == 0 || seeded == 2) {
          job.permutation = random_table();
        }
        for (std::uint32_t p = w.first; digits != 5 && p < w.end(); ++p) {
          job.factors.push_back(this->random_() % this->host_->primes[p]);
        }
        cpu.push_back(job);
        job.dst0 = d0.emulated;
        job.dst1 = d1.emulated;
        emulated.push_back(job);
      }
      this->cpu_->key_multiply_accumulate(this->ring_->tables(), cpu);
      this->emulate([&](const auto& on) { on.key_multiply_accumulate(emulated); });
    }
  }
}

/// Launches of which all parts have as many digits, 1 to 4, all seeded or all but one: each form of the
/// kernel has its own.
TYPED_TEST(CudaKernels, KeyMultiplyOfFewSeededDigits) {
  this->begin(11);
  const std::size_t primes = this->host_->primes.size();
  for (unsigned form = 0; form < 16; ++form) {
    const std::size_t digits = 1 + form % 4;
    const bool turned = (form & 4) != 0, has_stored = (form & 8) != 0;
    const window w = this->any_window();
    const auto random_digits = [&] {
      std::vector<backend::key_digit> made;
      for (std::size_t d = 0; d < digits; ++d) {
        const auto half = [&] {
          std::vector<TypeParam> words(primes << 11);
          for (TypeParam& word : words) word = static_cast<TypeParam>(this->random_() % 1000);
          return this->raw(words);
        };
        made.push_back({this->operand(w), half(), nullptr, this->source()});
        made.back().a_source.rule = stream_rule::chacha8_spare;
        if (has_stored && d + 1 == digits) made.back().key_a = half();
      }
      return made;
    };
    const auto random_table = [&] {
      return this->raw(ring::automorphism_permutation(this->random_() % (2 * this->host_->n()) | 1, 11));
    };
    const auto d0 = this->destination(w), d1 = this->destination(w);
    backend::key_job job{d0.cpu, d1.cpu, random_digits(), false};
    if (turned) {
      job.permutation = random_table();
      for (int k = 0; k < 2; ++k) job.more.push_back({random_digits(), random_table(), {}, {}});
    }
    const backend::key_job on_cpu = job;
    job.dst0 = d0.emulated;
    job.dst1 = d1.emulated;
    this->cpu_->key_multiply_accumulate(this->ring_->tables(), {&on_cpu, 1});
    this->emulate([&](const auto& on) { on.key_multiply_accumulate({&job, 1}); });
  }
}

/// The same terms on some of the primes.
backend::key_dot_job terms_on(backend::key_dot_job job, window w) {
  for (backend::key_term& term : job.terms) {
    for (backend::key_digit& digit : term.digits) digit.digit = digit.digit.slice(w);
    if (term.plus0.data != nullptr) term.plus0 = term.plus0.slice(w);
    if (term.plus1.data != nullptr) term.plus1 = term.plus1.slice(w);
  }
  return job;
}

struct dot_shape {
  std::size_t terms, digits, sums;
};

/// Terms, digits and sums below and above what one launch takes; parts of one polynomial with the same keys,
/// which share a launch.
TYPED_TEST(CudaKernels, KeyDot) {
  for (unsigned run = 0; run < 2 * std::size(sizes); ++run) {  // each size with and without shared memory
    const unsigned log_n = sizes[run / 2];
    this->begin(log_n);
    const auto primes = static_cast<std::uint32_t>(this->host_->primes.size());
    for (const dot_shape& of : {dot_shape{1, 1, 1}, {4, 3, 2}, {20, 5, 3}, {5, 2, 11}, {40, 1, 4}}) {
      std::vector<backend::key_dot_job> cpu, emulated;
      const window all{0, primes};
      const auto key = [&] {
        std::vector<TypeParam> joined;
        for (const auto& limb : this->ring_->read(this->operand(all))) {
          joined.insert(joined.end(), limb.begin(), limb.end());
        }
        return this->raw(joined);
      };
      std::vector<limb_view> digits, weights;
      for (std::size_t d = 0; d < of.digits; ++d) digits.push_back(this->operand(all));
      for (std::size_t i = 0; i < of.terms * of.sums; ++i) weights.push_back(this->operand(all));
      const limb_view plus[] = {this->operand(all), this->operand(all)};
      backend::key_dot_job job;
      for (std::size_t t = 0; t < of.terms; ++t) {
        backend::key_term& term = job.terms.emplace_back();
        for (std::size_t d = 0; d < of.digits && t != 1; ++d)
          term.digits.push_back({digits[d], key(), key(), {}});
        if (t % 2 == 0) term.plus0 = plus[0];
        if (t == 1) term.plus1 = plus[1];
        const std::uint64_t galois = this->random_() % (2 * this->host_->n()) | 1;
        if (t != 1) term.permutation = this->raw(ring::automorphism_permutation(galois, log_n));
      }
      // The second part has other primes.
      for (const window w : {window{0, 2}, window{2, primes - 2}}) {
        backend::key_dot_job part = terms_on(job, w);
        for (std::uint32_t p = w.first; p < w.end(); ++p) {
          part.factors.push_back(this->random_() % this->host_->primes[p]);
        }
        std::vector<backend::weighted_sum> elsewhere;
        for (std::size_t s = 0; s < of.sums; ++s) {
          const auto d0 = this->destination(w), d1 = this->destination(w);
          backend::weighted_sum sum{d0.cpu, d1.cpu, s % 2 == 1};
          for (std::uint32_t t = 0; t < of.terms; ++t) {
            if (s != 0 && (s + t) % 3 == 0) continue;
            sum.numbers.push_back(t);
            sum.weights.push_back(weights[s * of.terms + t].slice(w));
          }
          part.sums.push_back(sum);
          sum.dst0 = d0.emulated;
          sum.dst1 = d1.emulated;
          elsewhere.push_back(sum);
        }
        cpu.push_back(part);
        part.sums = elsewhere;
        emulated.push_back(part);
      }
      this->cpu_->key_dot(this->ring_->tables(), cpu);
      this->emulate([&](const auto& on) { on.key_dot(emulated, run % 2 == 1); });
    }
  }
}

}  // namespace
