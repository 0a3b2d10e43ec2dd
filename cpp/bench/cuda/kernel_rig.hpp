// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/cuda/cuda_backend.hpp"
#include "backend/cuda/device/device_context.hpp"
#include "halocline/arith/modulus.hpp"
#include "halocline/params/primes.hpp"
#include "halocline/ring/ntt_tables.hpp"

namespace halocline::bench {

/// A ring of primes just below the limit of 32-bit words, or below 2^bits, on a card, with random operands.
class kernel_rig {
 public:
  using word = std::uint32_t;

  kernel_rig(unsigned log_n, std::uint32_t prime_count, double bits = 30)
      : device_(backend::cuda::device_context::open(0)), backend_(backend::make_cuda_backend(device_, {})) {
    tables_.log_n = log_n;
    tables_.word_bits = 32;
    tables_.primes = params::primes_below(bits, prime_count, std::uint64_t{2} << log_n);
    std::vector<arith::modulus<word>> moduli;
    std::vector<word> roots(prime_count * 4 * tables_.n());
    for (const std::uint64_t prime : tables_.primes) {
      const auto of_prime = std::span(roots).subspan(moduli.size() * 4 * tables_.n(), 4 * tables_.n());
      moduli.push_back(arith::make_modulus(static_cast<word>(prime)));
      ring::fill_roots<word>(moduli.back(), log_n, of_prime);
    }
    tables_.moduli = upload(moduli);
    tables_.roots = upload(roots);
  }

  [[nodiscard]] backend::cuda::device_context& device() const noexcept { return *device_; }
  [[nodiscard]] backend::backend& backend() const noexcept { return *backend_; }
  [[nodiscard]] const backend::ring_tables& tables() const noexcept { return tables_; }

  /// Random residues of `primes`, in a buffer of their own.
  [[nodiscard]] backend::limb_view limbs(arith::window primes) {
    std::vector<word> words;
    words.reserve(primes.count * tables_.n());
    for (std::uint32_t p = primes.first; p < primes.end(); ++p) {
      for (std::size_t i = 0; i < tables_.n(); ++i) words.push_back(residue(p));
    }
    return {&keep(words), 0, primes};
  }
  /// A random residue.
  [[nodiscard]] word residue(std::uint32_t prime) {
    return static_cast<word>(random_() % tables_.primes[prime]);
  }
  [[nodiscard]] std::uint64_t random() { return random_(); }

  /// Uploads values and keeps them.
  template <typename T>
  const memory::buffer& keep(const std::vector<T>& values) {
    return buffers_.emplace_back(upload(values));
  }

  /// A buffer of `limbs` limbs that nothing was written to.
  const memory::buffer& room(std::size_t limbs) {
    return buffers_.emplace_back(
        backend_->runtime().allocate(limbs * tables_.limb_bytes(), memory::object_class::scratch, "bench"));
  }
  /// A buffer of `limbs` limbs of random words below all primes; few of them, repeated.
  const memory::buffer& random_room(std::size_t limbs) {
    const memory::buffer& made = room(limbs);
    const std::uint64_t least = *std::min_element(tables_.primes.begin(), tables_.primes.end());
    std::vector<word> words(std::size_t{4} << 20);
    for (word& each : words) each = static_cast<word>(random_() % least);
    const auto bytes = std::as_bytes(std::span(words));
    for (std::size_t at = 0; at < made.size(); at += bytes.size()) {
      backend_->upload(made, at, bytes.first(std::min(bytes.size(), made.size() - at)));
    }
    return made;
  }

  /// A conversion table with random constants, which take as long as real ones.
  [[nodiscard]] const backend::conversion_table& conversion(const std::vector<arith::window>& from,
                                                            const std::vector<arith::window>& to) {
    auto& made = conversions_.emplace_back();
    std::vector<word> inverses, quotients, reciprocals, factors;
    for (const arith::window& w : from) {
      for (std::uint32_t p = w.first; p < w.end(); ++p) {
        const std::uint64_t d = tables_.primes[p];
        made.sources.push_back(p);
        inverses.push_back(residue(p));
        quotients.push_back(static_cast<word>((std::uint64_t{inverses.back()} << 32) / d));
        reciprocals.push_back(static_cast<word>((std::uint64_t{1} << backend::reciprocal_shift(32)) / d));
      }
    }
    for (const arith::window& w : to) {
      for (std::uint32_t p = w.first; p < w.end(); ++p) {
        made.targets.push_back(p);
        for (std::size_t i = 0; i <= made.sources.size(); ++i) factors.push_back(residue(p));
      }
    }
    for (const auto* part : {&quotients, &reciprocals, &factors}) {
      inverses.insert(inverses.end(), part->begin(), part->end());
    }
    made.data = upload(inverses);
    return made;
  }

 private:
  template <typename T>
  [[nodiscard]] memory::buffer upload(const std::vector<T>& values) {
    memory::buffer data =
        backend_->runtime().allocate(values.size() * sizeof(T), memory::object_class::scratch, "bench");
    backend_->upload(data, 0, std::as_bytes(std::span(values)));
    return data;
  }

  std::shared_ptr<backend::cuda::device_context> device_;
  std::shared_ptr<backend::backend> backend_;
  backend::ring_tables tables_;
  std::deque<memory::buffer> buffers_;
  std::deque<backend::conversion_table> conversions_;
  std::mt19937_64 random_{20261121};
};

}  // namespace halocline::bench
