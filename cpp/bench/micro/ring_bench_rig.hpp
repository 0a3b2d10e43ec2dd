// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "halocline/arith/modulus.hpp"
#include "halocline/backend/registry.hpp"
#include "halocline/params/primes.hpp"
#include "halocline/ring/ntt_tables.hpp"

namespace halocline::bench {

/// A ring of primes just below the limit of the word on the CPU backend, unless another one is named, with
/// random limbs.
class ring_bench_rig {
 public:
  /// @param prime_bits  size of the primes; 0: the limit of the word
  ring_bench_rig(unsigned word_bits, unsigned log_n, std::uint32_t prime_count, unsigned threads,
                 const std::string& device = "cpu", double prime_bits = 0)
      : device_(backend::make_backend(device, {.memory = {}, .threads = threads})) {
    tables_.word_bits = word_bits;
    tables_.log_n = log_n;
    const double limit = word_bits == 32 ? 30 : 60;
    tables_.primes =
        params::primes_below(prime_bits > 0 ? prime_bits : limit, prime_count, std::uint64_t{2} << log_n);
    if (word_bits == 32) {
      upload_tables<std::uint32_t>();
    } else {
      upload_tables<std::uint64_t>();
    }
  }

  [[nodiscard]] backend::backend& device() const { return *device_; }
  [[nodiscard]] const backend::ring_tables& tables() const { return tables_; }

  /// A polynomial of random residues over `primes`.
  [[nodiscard]] backend::limb_view random_limbs(arith::window primes) {
    const memory::buffer& data = keep(std::vector<std::uint8_t>(primes.count * tables_.limb_bytes()));
    const backend::limb_view view{&data, 0, primes};
    for (std::uint32_t i = 0; i < primes.count; ++i) {
      if (tables_.word_bits == 32) {
        fill<std::uint32_t>(view, i);
      } else {
        fill<std::uint64_t>(view, i);
      }
    }
    return view;
  }

  /// Uploads values; the reference stays valid.
  template <typename T>
  const memory::buffer& keep(const std::vector<T>& values) {
    return buffers_.emplace_back(upload(std::as_bytes(std::span(values))));
  }

 private:
  [[nodiscard]] memory::buffer upload(std::span<const std::byte> bytes) {
    memory::buffer data = device_->runtime().allocate(bytes.size(), memory::object_class::scratch, "bench");
    device_->upload(data, 0, bytes);
    return data;
  }

  template <typename WordT>
  void fill(const backend::limb_view& view, std::uint32_t limb) {
    std::vector<WordT> words(tables_.n());
    for (WordT& x : words) x = static_cast<WordT>(random_() % tables_.primes[view.primes.first + limb]);
    device_->upload(*view.data, limb * tables_.limb_bytes(), std::as_bytes(std::span(words)));
  }

  template <typename WordT>
  void upload_tables() {
    std::vector<arith::modulus<WordT>> moduli;
    std::vector<WordT> roots(4 * tables_.n() * tables_.primes.size());
    for (std::size_t i = 0; i < tables_.primes.size(); ++i) {
      moduli.push_back(arith::make_modulus(static_cast<WordT>(tables_.primes[i])));
      ring::fill_roots<WordT>(moduli.back(), tables_.log_n,
                              std::span(roots).subspan(4 * tables_.n() * i, 4 * tables_.n()));
    }
    tables_.moduli = upload(std::as_bytes(std::span(moduli)));
    tables_.roots = upload(std::as_bytes(std::span(roots)));
  }

  std::shared_ptr<backend::backend> device_;
  backend::ring_tables tables_;
  std::deque<memory::buffer> buffers_;
  std::mt19937_64 random_{1};
};

/// Registers `run(state, word_bits, log_n)` for both words and N = 2^12 ... 2^16 as "name/word/N".
template <typename RunT>
void register_for_rings(const std::string& name, const RunT& run) {
  for (const unsigned word_bits : {32U, 64U}) {
    for (unsigned log_n = 12; log_n <= 16; ++log_n) {
      const std::string full =
          name + "/w" + std::to_string(word_bits) + "/" + std::to_string(std::size_t{1} << log_n);
      benchmark::RegisterBenchmark(full.c_str(),
                                   [=](benchmark::State& state) { run(state, word_bits, log_n); })
          ->Unit(benchmark::kMicrosecond)
          ->UseRealTime();
    }
  }
}

/// Reports residues and bytes touched per second: `limbs` limbs in every iteration.
inline void report(benchmark::State& state, const ring_bench_rig& rig, std::size_t limbs) {
  const auto iterations = static_cast<std::int64_t>(state.iterations());
  const auto words = static_cast<std::int64_t>(limbs * rig.tables().n());
  state.SetItemsProcessed(iterations * words);
  state.SetBytesProcessed(iterations * words * static_cast<std::int64_t>(rig.tables().word_bytes()));
}

}  // namespace halocline::bench
