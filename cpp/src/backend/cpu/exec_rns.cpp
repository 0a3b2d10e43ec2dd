// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "backend/conversion_targets.hpp"
#include "backend/cpu/executor.hpp"
#include "backend/key_parts.hpp"

namespace halocline::backend::cpu {
namespace {

[[nodiscard]] arith::uniform_limb limb_of(const uniform_source& source, std::uint32_t prime) {
  return {arith::make_chacha_key(source.seed.data()), source.stream, prime, source.rule};
}

/// A conversion of limbs, with pointers.
template <typename WordT>
struct resolved_conversion {
  conversion<WordT> constants;
  std::vector<const arith::modulus<WordT>*> moduli;  // of the sources, then of the targets
  std::vector<const WordT*> src;
  std::vector<WordT*> dst;
};

template <typename WordT, auto Kernel>
void transform(const executor<WordT>& on, std::span<const unary_job> jobs) {
  constexpr std::size_t passes = 8;
  on.for_each_limb(jobs, &unary_job::dst, passes,
                   [&](const unary_job& job, std::uint32_t limb, std::uint32_t prime) {
                     (on.kernels.*Kernel)(on.resolve.limb(job.dst, limb), on.resolve.limb(job.src, limb),
                                          on.resolve.tables(prime));
                   });
}

/// To `dst`, the targets of the table from number `first` on.
template <typename WordT>
auto resolve_conversion(const executor<WordT>& on, const conversion_table& table,
                        std::span<const limb_view> src, std::span<const limb_view> dst, std::uint32_t first)
    -> resolved_conversion<WordT> {
  resolved_conversion<WordT> made;
  const std::size_t k = table.sources.size();
  const WordT* const data = on.resolve.template raw<WordT>(table.data);
  for (const limb_view& view : src) {
    for (std::uint32_t s = 0; s < view.primes.count; ++s) {
      made.src.push_back(on.resolve.limb(view, s));
      made.moduli.push_back(&on.resolve.modulus(view.primes.first + s));
    }
  }
  for (const limb_view& view : dst) {
    for (std::uint32_t t = 0; t < view.primes.count; ++t) {
      made.dst.push_back(on.resolve.limb(view, t));
      made.moduli.push_back(&on.resolve.modulus(view.primes.first + t));
    }
  }
  made.constants = {k,    made.dst.size(), made.moduli.data(), made.moduli.data() + k,
                    data, data + k,        data + 2 * k,       data + 3 * k + first * (k + 1)};
  return made;
}

template <typename WordT>
void run_conversions(const executor<WordT>& on, const std::vector<resolved_conversion<WordT>>& work) {
  std::size_t words = 0;
  for (const auto& each : work) words += (each.dst.size() + 1) * each.src.size() * on.resolve.n() / 4;
  constexpr std::size_t block = 2048;
  const std::size_t size = std::min(block, on.resolve.n());
  const std::size_t blocks = on.resolve.n() / size;
  parallel_for(on.pool, work.size() * blocks, words, [&](std::size_t i) {
    const resolved_conversion<WordT>& each = work[i / blocks];
    on.kernels.base_convert(each.dst.data(), each.src.data(), {(i % blocks) * size, size}, each.constants);
  });
}

template <typename WordT>
void base_convert(const executor<WordT>& on, std::span<const convert_job> jobs) {
  std::vector<resolved_conversion<WordT>> work;
  for (const convert_job& job : jobs) work.push_back(resolve_conversion(on, *job.table, job.src, job.dst, 0));
  run_conversions(on, work);
}

template <typename WordT>
void ntt_linear_combine(const executor<WordT>& on, std::span<const linear_job> jobs) {
  // All conversions first: one limb after the other, just before its transform, each would scale the sources
  // again, which takes longer than reading converted limbs from memory (45 limbs of 2^16 words: 13.6 and 12
  // ms).
  std::vector<resolved_conversion<WordT>> conversions;
  for (const linear_job& job : jobs) {
    if (job.conversion == nullptr) continue;
    conversions.push_back(resolve_conversion(on, *job.conversion, job.from, {&job.dst, 1},
                                             first_target(*job.conversion, job.dst.primes)));
  }
  run_conversions(on, conversions);
  constexpr std::size_t passes = 8;
  on.for_each_limb(
      jobs, &linear_job::dst, passes, [&](const linear_job& job, std::uint32_t limb, std::uint32_t prime) {
        WordT* const b = on.resolve.limb(job.conversion != nullptr ? job.dst : job.b, limb);
        on.kernels.ntt_linear_combine(on.resolve.limb(job.dst, limb), on.resolve.limb(job.a, limb), b,
                                      static_cast<WordT>(job.factor_a[limb]),
                                      static_cast<WordT>(job.factor_b[limb]), on.resolve.tables(prime));
      });
}

template <typename WordT>
void ntt_reduced(const executor<WordT>& on, std::span<const reduce_job> jobs) {
  constexpr std::size_t passes = 8;
  on.for_each_limb(jobs, &reduce_job::dst, passes,
                   [&](const reduce_job& job, std::uint32_t limb, std::uint32_t prime) {
                     const bool combined = job.a.data != nullptr;
                     const WordT source = on.resolve.modulus(job.src.primes.first).value;
                     on.kernels.ntt_reduced(on.resolve.limb(job.dst, limb), on.resolve.limb(job.src, 0),
                                            combined ? on.resolve.limb(job.a, limb) : nullptr,
                                            combined ? static_cast<WordT>(job.factor_a[limb]) : WordT{0},
                                            combined ? static_cast<WordT>(job.factor_b[limb]) : WordT{0},
                                            {source, job.centred}, on.resolve.tables(prime));
                   });
}

template <typename WordT>
key_addend<WordT> addend_of(const executor<WordT>& on, const key_job& job, std::uint32_t limb,
                            std::uint32_t prime) {
  key_addend<WordT> plus;
  if (job.factors.empty()) return plus;
  if (job.plus0.data != nullptr) plus.first = on.resolve.limb(job.plus0, limb);
  if (job.plus1.data != nullptr) plus.second = on.resolve.limb(job.plus1, limb);
  const arith::modulus<WordT>& q = on.resolve.modulus(prime);
  plus.factor = arith::mul_mod(static_cast<WordT>(job.factors[limb]), q.r, q);
  return plus;
}

/// Of each job its first sum only.
template <typename WordT>
void multiply_first(const executor<WordT>& on, std::span<const key_job> jobs) {
  std::vector<key_operand<WordT>> digits;  // per job and limb: its digits
  std::vector<std::size_t> first;
  for (const key_job& job : jobs) {
    first.push_back(digits.size());
    const window primes = job.dst0.primes;
    for (std::uint32_t limb = 0; limb < primes.count; ++limb) {
      for (const key_digit& digit : job.digits) {
        const std::uint32_t prime = primes.first + limb;
        const std::uint32_t at = prime - digit.first_prime;
        digits.push_back({on.resolve.limb(digit.digit, limb), on.resolve.key_limb(*digit.key_b, at),
                          digit.key_a != nullptr ? on.resolve.key_limb(*digit.key_a, at) : nullptr,
                          limb_of(digit.a_source, prime)});
      }
    }
  }
  const std::size_t weight = jobs.empty() ? 0 : 3 * jobs.front().digits.size() + 2;
  on.for_each_chunk(
      jobs, &key_job::dst0, weight,
      [&](const key_job& job, std::uint32_t limb, std::uint32_t prime, word_range range) {
        const std::size_t terms = job.digits.size();
        const auto* const operands =
            digits.data() + first[static_cast<std::size_t>(&job - jobs.data())] + terms * limb;
        const std::uint32_t* const permutation =
            job.permutation != nullptr ? on.resolve.template raw<std::uint32_t>(*job.permutation) : nullptr;
        on.kernels.key_multiply_accumulate(on.resolve.limb(job.dst0, limb), on.resolve.limb(job.dst1, limb),
                                           operands, terms, addend_of(on, job, limb, prime), job.accumulate,
                                           permutation, range, on.resolve.modulus(prime));
      });
}

template <typename WordT>
void key_multiply_accumulate(const executor<WordT>& on, std::span<const key_job> jobs) {
  const std::vector<unary_job> transforms = transforms_of(jobs);
  transform<WordT, &kernel_set<WordT>::ntt>(on, transforms);
  for_each_key_part(jobs, [&](std::span<const key_job> sums) { multiply_first(on, sums); });
}

/// Coefficients between those that are there are 0: residues are made in pieces and spread.
template <typename WordT>
void encode_range(const executor<WordT>& on, WordT* limb, const encode_job& job, word_range range,
                  const arith::modulus<WordT>& q) {
  const auto* const integers = on.resolve.template raw<std::uint64_t>(*job.coefficients);
  WordT* const out = limb + range.begin;
  if (job.log_stride == 0) {
    return on.kernels.encode_expand(out, integers + range.begin * job.words, job.words, range.count, q);
  }
  std::fill(out, out + range.count, WordT{0});
  constexpr std::size_t piece = 256;
  std::array<WordT, piece> made;
  const std::size_t between = (std::size_t{1} << job.log_stride) - 1;
  const std::size_t end = (range.begin + range.count + between) >> job.log_stride;
  for (std::size_t i = (range.begin + between) >> job.log_stride; i < end; i += piece) {
    const std::size_t count = std::min(piece, end - i);
    on.kernels.encode_expand(made.data(), integers + i * job.words, job.words, count, q);
    for (std::size_t k = 0; k < count; ++k) limb[(i + k) << job.log_stride] = made[k];
  }
}

template <typename WordT>
void encode_expand(const executor<WordT>& on, std::span<const encode_job> jobs) {
  on.for_each_chunk(jobs, &encode_job::dst, 3,
                    [&](const encode_job& job, std::uint32_t limb, std::uint32_t prime, word_range range) {
                      encode_range(on, on.resolve.limb(job.dst, limb), job, range, on.resolve.modulus(prime));
                    });
}

template <typename WordT>
void sample_uniform(const executor<WordT>& on, std::span<const uniform_job> jobs) {
  on.for_each_chunk(jobs, &uniform_job::dst, 4,
                    [&](const uniform_job& job, std::uint32_t limb, std::uint32_t prime, word_range range) {
                      on.kernels.sample_uniform(on.resolve.limb(job.dst, limb), limb_of(job.source, prime),
                                                range, on.resolve.modulus(prime));
                    });
}

}  // namespace

template <typename WordT>
op_table<executor<WordT>> rns_operations() {
  using set = kernel_set<WordT>;
  return op_table<executor<WordT>>{
      row<transform<WordT, &set::ntt>>(ops::ntt),
      row<transform<WordT, &set::intt>>(ops::intt),
      row<ntt_linear_combine<WordT>>(ops::ntt_linear_combine),
      row<ntt_reduced<WordT>>(ops::ntt_reduced),
      row<base_convert<WordT>>(ops::base_convert),
      row<key_multiply_accumulate<WordT>>(ops::key_multiply_accumulate),
      row<encode_expand<WordT>>(ops::encode_expand),
      row<sample_uniform<WordT>>(ops::sample_uniform),
  };
}

template op_table<executor<std::uint32_t>> rns_operations();
template op_table<executor<std::uint64_t>> rns_operations();

}  // namespace halocline::backend::cpu
