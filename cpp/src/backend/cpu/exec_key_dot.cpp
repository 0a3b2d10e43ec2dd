// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <vector>

#include "backend/cpu/executor.hpp"
#include "backend/cpu/parallel.hpp"

namespace halocline::backend::cpu {
namespace {

/// A range of one limb of a job.
struct piece {
  const key_dot_job* job;
  std::uint32_t limb;   ///< number within the views
  std::uint32_t prime;  ///< index in the ring
  word_range range;
};

/// Words of a range: both sums of some twenty terms then stay in the second-level cache of a core.
constexpr std::size_t piece_words = std::size_t{1} << 11;

std::vector<piece> pieces_of(std::span<const key_dot_job> jobs, std::size_t n) {
  const std::size_t size = std::min(piece_words, n);
  std::vector<piece> pieces;
  for (const key_dot_job& job : jobs) {
    const window primes = job.sums.front().dst0.primes;
    for (std::uint32_t limb = 0; limb < primes.count; ++limb) {
      for (std::size_t begin = 0; begin < n; begin += size) {
        pieces.push_back({&job, limb, primes.first + limb, {begin, size}});
      }
    }
  }
  return pieces;
}

/// Computes one piece.
template <typename WordT>
class worker {
 public:
  worker(const executor<WordT>& on, const piece& of) : on_(on), of_(of), q_(on.resolve.modulus(of.prime)) {
    // Kernels take the address of the first word of a limb; only the range of it is there, for each term.
    thread_local std::vector<WordT> room;
    room.resize(std::max(room.size(), 2 * of.job->terms.size() * of.range.count));
    room_ = room.data();
  }

  void run() {
    for (std::size_t t = 0; t < of_.job->terms.size(); ++t) make(t);
    for (const weighted_sum& sum : of_.job->sums) add(sum);
  }

 private:
  /// First word of the limb whose range of component `half` of a term is kept.
  [[nodiscard]] WordT* kept(std::size_t term, std::size_t half) const {
    return room_ + (2 * term + half) * of_.range.count - of_.range.begin;
  }

  void make(std::size_t number) const {
    const key_term& term = of_.job->terms[number];
    std::vector<key_operand<WordT>> digits;
    for (const key_digit& digit : term.digits) {
      const std::uint32_t at = of_.prime - digit.first_prime;
      digits.push_back({on_.resolve.limb(digit.digit, of_.limb),
                        on_.resolve.key_limb(*digit.key_b, at),
                        on_.resolve.key_limb(*digit.key_a, at),
                        {}});
    }
    key_addend<WordT> plus;
    if (term.plus0.data != nullptr) plus.first = on_.resolve.limb(term.plus0, of_.limb);
    if (term.plus1.data != nullptr) plus.second = on_.resolve.limb(term.plus1, of_.limb);
    if (!of_.job->factors.empty()) {
      plus.factor = arith::mul_mod(static_cast<WordT>(of_.job->factors[of_.limb]), q_.r, q_);
    }
    const std::uint32_t* const permutation =
        term.permutation != nullptr ? on_.resolve.template raw<std::uint32_t>(*term.permutation) : nullptr;
    on_.kernels.key_multiply_accumulate(kept(number, 0), kept(number, 1), digits.data(), digits.size(), plus,
                                        false, permutation, of_.range, q_);
  }

  void add(const weighted_sum& sum) const {
    std::vector<const WordT*> weights;
    std::vector<std::uint8_t> repeats;
    for (const limb_view& weight : sum.weights) {
      weights.push_back(on_.resolve.limb(weight, of_.limb));
      repeats.push_back(static_cast<std::uint8_t>(weight.log_repeat));
    }
    const limb_view* const outputs[] = {&sum.dst0, &sum.dst1};
    for (std::size_t half = 0; half < 2; ++half) {
      WordT* const dst = on_.resolve.limb(*outputs[half], of_.limb);
      std::vector<const WordT*> products;
      for (const std::uint32_t number : sum.numbers) products.push_back(kept(number, half));
      if (products.empty() && !sum.accumulate) {
        std::fill_n(dst + of_.range.begin, of_.range.count, WordT{0});
      }
      if (products.empty()) continue;
      on_.kernels.dot(dst, products.data(), weights.data(), repeats.data(), products.size(), sum.accumulate,
                      of_.range.begin, of_.range.count, q_);
    }
  }

  const executor<WordT>& on_;
  const piece& of_;
  const arith::modulus<WordT>& q_;
  WordT* room_;
};

template <typename WordT>
void key_dot(const executor<WordT>& on, std::span<const key_dot_job> jobs) {
  const std::vector<piece> pieces = pieces_of(jobs, on.resolve.n());
  const std::size_t words = pieces.empty() ? 0 : pieces.size() * pieces.front().range.count;
  const std::size_t weight = jobs.empty() ? 0 : 6 * (jobs.front().terms.size() + jobs.front().sums.size());
  parallel_for(on.pool, pieces.size(), words * weight,
               [&](std::size_t i) { worker<WordT>(on, pieces[i]).run(); });
}

}  // namespace

template <typename WordT>
op_table<executor<WordT>> key_dot_operations() {
  return op_table<executor<WordT>>{row<key_dot<WordT>>(ops::key_dot)};
}

template op_table<executor<std::uint32_t>> key_dot_operations();
template op_table<executor<std::uint64_t>> key_dot_operations();

}  // namespace halocline::backend::cpu
