// SPDX-License-Identifier: Apache-2.0
#include "backend/conversion_targets.hpp"
#include "backend/key_parts.hpp"
#include "backend/sycl/executor.hpp"
#include "halocline/backend/reduce_jobs.hpp"

namespace halocline::backend::sycl {
namespace {

using sycl_kernels::convert_item;
using sycl_kernels::encode_item;
using sycl_kernels::key_dot_item;
using sycl_kernels::key_item;
using sycl_kernels::key_term;
using sycl_kernels::reduce_item;
using sycl_kernels::uniform_item;

[[nodiscard]] arith::uniform_limb limb_of(const uniform_source& source, std::uint32_t prime) {
  return {arith::make_chacha_key(source.seed.data()), source.stream, prime, source.rule};
}

/// A conversion to `dst`, the targets of the table from number `first` on.
template <typename WordT>
convert_item<WordT> convert_item_of(const executor<WordT>& on, const conversion_table& table,
                                    std::span<const limb_view> src, std::span<const limb_view> dst,
                                    std::uint32_t first) {
  std::vector<const WordT*> sources;
  std::vector<WordT*> targets;
  std::vector<const arith::modulus<WordT>*> source_moduli, target_moduli;
  for (const limb_view& view : src) {
    for (std::uint32_t s = 0; s < view.primes.count; ++s) {
      sources.push_back(on.limb(view, s));
      source_moduli.push_back(on.modulus(view.primes.first + s));
    }
  }
  for (const limb_view& view : dst) {
    for (std::uint32_t t = 0; t < view.primes.count; ++t) {
      targets.push_back(on.limb(view, t));
      target_moduli.push_back(on.modulus(view.primes.first + t));
    }
  }
  const std::size_t k = sources.size();
  const WordT* const data = on.template raw<WordT>(table.data);
  return {on.put(sources),
          on.put(targets),
          on.put(source_moduli),
          on.put(target_moduli),
          data,
          data + k,
          data + 2 * k,
          data + 3 * k + first * (k + 1),
          static_cast<std::uint32_t>(k),
          static_cast<std::uint32_t>(targets.size())};
}

template <typename WordT>
void base_convert(const executor<WordT>& on, std::span<const convert_job> jobs) {
  std::vector<convert_item<WordT>> items;
  for (const convert_job& job : jobs) {
    items.push_back(convert_item_of<WordT>(on, *job.table, job.src, job.dst, 0));
  }
  on.launch_words("base_convert", items, on.log_n());
}

/// The sequence that the operation equals. A conversion goes to dst, which is transformed in its place.
template <typename WordT>
void ntt_linear_combine(const executor<WordT>& on, std::span<const linear_job> jobs) {
  std::vector<convert_item<WordT>> conversions;
  std::vector<unary_job> transforms;
  std::vector<linear_job> combinations;
  for (const linear_job& job : jobs) {
    linear_job& rest = combinations.emplace_back(job);
    if (job.conversion != nullptr) {
      rest.b = job.dst;
      conversions.push_back(convert_item_of<WordT>(on, *job.conversion, job.from, {&job.dst, 1},
                                                   first_target(*job.conversion, job.dst.primes)));
    }
    transforms.push_back({rest.b, rest.b});
  }
  on.launch_words("base_convert", conversions, on.log_n());
  run_ntt<WordT>(on, transforms);
  run_linear_combine<WordT>(on, combinations);
}

template <typename WordT>
reduce_item<WordT> reduce_item_of(const executor<WordT>& on, const reduce_job& job, std::uint32_t limb) {
  const std::uint32_t prime = job.dst.primes.first + limb;
  const std::uint64_t q = on.prime(prime), source = on.prime(job.src.primes.first);
  const auto one = static_cast<arith::double_word<WordT>>(1) << executor<WordT>::word_bits;
  return {on.limb(job.dst, limb),
          on.limb(job.src, 0),
          on.modulus(prime),
          static_cast<WordT>(source),
          static_cast<WordT>(source % q),
          static_cast<WordT>(one / q),
          job.centred ? 1U : 0U};
}

/// The sequence that the operation equals: the reduction to dst, which is transformed in its place.
template <typename WordT>
void ntt_reduced(const executor<WordT>& on, std::span<const reduce_job> jobs) {
  std::vector<reduce_item<WordT>> items;
  std::vector<unary_job> transforms;
  std::vector<linear_job> combinations;
  for (const reduce_job& job : jobs) {
    for (std::uint32_t limb = 0; limb < job.dst.primes.count; ++limb) {
      items.push_back(reduce_item_of(on, job, limb));
    }
    transforms.push_back({job.dst, job.dst});
    if (job.a.data != nullptr) {
      combinations.push_back({job.dst, job.a, job.dst, job.factor_a, job.factor_b, {}, nullptr});
    }
  }
  on.launch_words("reduce", items, on.log_n());
  run_ntt<WordT>(on, transforms);
  run_linear_combine<WordT>(on, combinations);
}

template <typename WordT>
std::vector<key_term<WordT>> key_terms(const executor<WordT>& on, std::span<const key_digit> digits,
                                       std::uint32_t prime, std::uint32_t limb) {
  std::vector<key_term<WordT>> terms;
  for (const key_digit& digit : digits) {
    const std::uint32_t at = prime - digit.first_prime;
    terms.push_back({on.limb(digit.digit, limb), on.key_limb(*digit.key_b, at),
                     digit.key_a != nullptr ? on.key_limb(*digit.key_a, at) : nullptr,
                     limb_of(digit.a_source, prime)});
  }
  return terms;
}

template <typename WordT>
key_item<WordT> key_item_of(const executor<WordT>& on, const key_job& job, std::uint32_t limb) {
  key_item<WordT> made{};
  const std::uint32_t prime = job.dst0.primes.first + limb;
  made.dst0 = on.limb(job.dst0, limb);
  made.dst1 = on.limb(job.dst1, limb);
  made.terms = on.put(key_terms<WordT>(on, job.digits, prime, limb));
  made.count = static_cast<std::uint32_t>(job.digits.size());
  made.accumulate = job.accumulate ? 1 : 0;
  made.permutation = on.template raw_or_null<std::uint32_t>(job.permutation);
  made.q = on.modulus(prime);
  if (job.factors.empty()) return made;
  if (job.plus0.data != nullptr) made.plus0 = on.limb(job.plus0, limb);
  if (job.plus1.data != nullptr) made.plus1 = on.limb(job.plus1, limb);
  made.factor = on.montgomery(static_cast<WordT>(job.factors[limb]), prime);
  return made;
}

/// Of each job its first sum only. Jobs with and without seeds are different kernels.
template <typename WordT>
void multiply_first(const executor<WordT>& on, std::span<const key_job> jobs) {
  std::vector<key_item<WordT>> plain, seeded;
  for (const key_job& job : jobs) {
    const bool draws = std::any_of(job.digits.begin(), job.digits.end(),
                                   [](const key_digit& digit) { return digit.key_a == nullptr; });
    for (std::uint32_t limb = 0; limb < job.dst0.primes.count; ++limb) {
      (draws ? seeded : plain).push_back(key_item_of(on, job, limb));
    }
  }
  on.launch_words("key_multiply", plain, on.log_n());
  on.launch_words("key_multiply_seeded", seeded, on.log_n(), arith::words_per_group<WordT>);
}

/// A term of a weighted sum, modulo prime `prime`.
template <typename WordT>
key_item<WordT> key_dot_term_of(const executor<WordT>& on, const key_dot_job& job,
                                const backend::key_term& term, std::uint32_t prime, std::uint32_t limb) {
  key_item<WordT> made{};
  made.terms = on.put(key_terms<WordT>(on, term.digits, prime, limb));
  made.count = static_cast<std::uint32_t>(term.digits.size());
  made.permutation = on.template raw_or_null<std::uint32_t>(term.permutation);
  if (term.plus0.data != nullptr) made.plus0 = on.limb(term.plus0, limb);
  if (term.plus1.data != nullptr) made.plus1 = on.limb(term.plus1, limb);
  if (!job.factors.empty()) made.factor = on.montgomery(static_cast<WordT>(job.factors[limb]), prime);
  return made;
}

/// Each sum makes the products of its terms anew.
template <typename WordT>
void key_dot(const executor<WordT>& on, std::span<const key_dot_job> jobs) {
  std::vector<key_dot_item<WordT>> items;
  for (const key_dot_job& job : jobs) {
    for (const weighted_sum& sum : job.sums) {
      for (std::uint32_t limb = 0; limb < sum.dst0.primes.count; ++limb) {
        const std::uint32_t prime = sum.dst0.primes.first + limb;
        std::vector<key_item<WordT>> terms;
        std::vector<const WordT*> weights;
        std::vector<std::uint32_t> repeats;
        for (std::size_t i = 0; i < sum.numbers.size(); ++i) {
          terms.push_back(key_dot_term_of(on, job, job.terms[sum.numbers[i]], prime, limb));
          weights.push_back(on.limb(sum.weights[i], limb));
          repeats.push_back(sum.weights[i].log_repeat);
        }
        items.push_back({on.limb(sum.dst0, limb), on.limb(sum.dst1, limb), on.put(terms), on.put(weights),
                         on.put(repeats), on.modulus(prime), static_cast<std::uint32_t>(terms.size()),
                         sum.accumulate ? 1U : 0U});
      }
    }
  }
  on.launch_words("key_dot", items, on.log_n());
}

template <typename WordT>
void key_multiply_accumulate(const executor<WordT>& on, std::span<const key_job> jobs) {
  const std::vector<unary_job> transforms = transforms_of(jobs);
  if (!transforms.empty()) run_ntt<WordT>(on, transforms);
  for_each_key_part(jobs, [&](std::span<const key_job> sums) { multiply_first(on, sums); });
}

template <typename WordT>
void encode_expand(const executor<WordT>& on, std::span<const encode_job> jobs) {
  std::vector<encode_item<WordT>> items;
  for (const encode_job& job : jobs) {
    for (std::uint32_t limb = 0; limb < job.dst.primes.count; ++limb) {
      items.push_back({on.limb(job.dst, limb), on.template raw<std::uint64_t>(*job.coefficients),
                       on.modulus(job.dst.primes.first + limb), job.words, job.log_stride});
    }
  }
  on.launch_words("encode_expand", items, on.log_n());
}

template <typename WordT>
void sample_uniform(const executor<WordT>& on, std::span<const uniform_job> jobs) {
  std::vector<uniform_item<WordT>> items;
  for (const uniform_job& job : jobs) {
    for (std::uint32_t limb = 0; limb < job.dst.primes.count; ++limb) {
      const std::uint32_t prime = job.dst.primes.first + limb;
      items.push_back({on.limb(job.dst, limb), on.modulus(prime), limb_of(job.source, prime)});
    }
  }
  on.launch_words("sample_uniform", items, on.log_n(), arith::words_per_group<WordT>);
}

}  // namespace

template <typename WordT>
op_table<executor<WordT>> rns_operations() {
  return op_table<executor<WordT>>{
      row<ntt_linear_combine<WordT>>(ops::ntt_linear_combine),
      row<ntt_reduced<WordT>>(ops::ntt_reduced),
      row<base_convert<WordT>>(ops::base_convert),
      row<key_multiply_accumulate<WordT>>(ops::key_multiply_accumulate),
      row<key_dot<WordT>>(ops::key_dot),
      row<encode_expand<WordT>>(ops::encode_expand),
      row<sample_uniform<WordT>>(ops::sample_uniform),
  };
}

template op_table<executor<std::uint32_t>> rns_operations();
template op_table<executor<std::uint64_t>> rns_operations();

}  // namespace halocline::backend::sycl
