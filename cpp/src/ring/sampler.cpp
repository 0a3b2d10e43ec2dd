// SPDX-License-Identifier: Apache-2.0
#include "halocline/ring/sampler.hpp"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "halocline/arith/gaussian_inversion.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/core/process.hpp"

namespace halocline::ring {
namespace {

constexpr double fine_stddev = 9.0;  ///< of the fine part of a wide Gaussian
constexpr std::int64_t coarse_step = 4;

/// Up to so many bytes come from the operating system as they are.
constexpr std::size_t direct_bytes = 64;

/// Samples drawn together: their random words and their samples stay in the first-level cache.
constexpr std::size_t batch = 512;

void initialise_sodium() {
  static const int status = sodium_init();
  HALOCLINE_EXPECTS(status >= 0, device_error,
                    "libsodium could not be initialised: the system gives no randomness");
}

void sample_narrow(random_source& random, double stddev, std::span<std::int64_t> out) {
  const std::vector<std::uint64_t> table = gaussian_table(stddev);
  std::array<std::uint64_t, batch> words;
  for (std::size_t first = 0; first < out.size(); first += batch) {
    const std::span<std::uint64_t> used(words.data(), std::min(batch, out.size() - first));
    random.fill(std::as_writable_bytes(used));
    arith::gaussian_values(table, used, out.data() + first);
  }
  sodium_memzero(words.data(), sizeof(words));
}

}  // namespace

random_source::random_source() { initialise_sodium(); }

random_source::random_source(const backend::seed_bytes& seed)
    : seeded_(true), key_(seed), process_(process_generation()) {
  initialise_sodium();
}

random_source::~random_source() { sodium_memzero(key_.data(), key_.size()); }

void random_source::fill(std::span<std::byte> out) {
  if (seeded_) return fill_from_seed(out);
  if (out.size() <= direct_bytes) return randombytes_buf(out.data(), out.size());
  backend::seed_bytes key;
  randombytes_buf(key.data(), key.size());
  const std::array<std::uint8_t, crypto_stream_chacha20_ietf_NONCEBYTES> nonce{};  // the key is used once
  crypto_stream_chacha20_ietf(reinterpret_cast<unsigned char*>(out.data()), out.size(), nonce.data(),
                              key.data());
  sodium_memzero(key.data(), key.size());
}

void random_source::fill_from_seed(std::span<std::byte> out) {
  HALOCLINE_EXPECTS(process_generation() == process_, invalid_argument,
                    "random source: it has a seed and was made before this process was forked, so the child "
                    "would repeat what its parent draws; make a client with another seed, or with none, in "
                    "the child");
  std::array<std::uint8_t, crypto_stream_chacha20_ietf_NONCEBYTES> nonce{};
  for (std::size_t i = 0; i < sizeof(counter_); ++i)
    nonce[i] = static_cast<std::uint8_t>(counter_ >> (8 * i));
  ++counter_;
  crypto_stream_chacha20_ietf(reinterpret_cast<unsigned char*>(out.data()), out.size(), nonce.data(),
                              key_.data());
}

backend::seed_bytes random_source::next_seed() {
  backend::seed_bytes seed;
  fill(std::as_writable_bytes(std::span(seed)));
  return seed;
}

std::uint64_t random_source::next_u64() {
  std::uint64_t value = 0;
  fill(std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

std::uint64_t random_source::next_below(std::uint64_t bound) {
  HALOCLINE_EXPECTS(bound != 0, invalid_argument, "next_below: bound is 0; expected at least 1");
  const std::uint64_t rejected = (0 - bound) % bound;  // 2^64 mod bound: the rest is a multiple of bound
  std::uint64_t value = next_u64();
  while (value < rejected) value = next_u64();
  return value % bound;
}

void sample_ternary(random_source& random, std::span<std::int64_t> out) {
  constexpr std::size_t fields = 32;  // pairs of bits in a word
  std::array<std::uint64_t, batch> words;
  std::array<std::int64_t, fields> accepted;
  std::size_t done = 0;
  while (done < out.size()) {
    // A quarter of the fields is rejected, so 23 are kept of a word on average.
    const std::size_t wanted = std::min(batch, (out.size() - done) / 23 + 1);
    random.fill(std::as_writable_bytes(std::span(words.data(), wanted)));
    for (std::size_t w = 0; w < wanted && done < out.size(); ++w) {
      const bool roomy = out.size() - done >= fields;
      std::int64_t* const target = roomy ? out.data() + done : accepted.data();
      std::size_t kept = 0;
      for (std::size_t i = 0; i < fields; ++i) {
        const auto field = static_cast<std::int64_t>(words[w] >> (2 * i) & 3U);
        target[kept] = field - 1;  // overwritten by the next one when rejected; kept <= i
        kept += field != 3 ? 1 : 0;
      }
      if (!roomy) std::copy_n(accepted.begin(), std::min(kept, out.size() - done), out.begin() + done);
      done += std::min(kept, out.size() - done);
    }
  }
  sodium_memzero(words.data(), sizeof(words));
  sodium_memzero(accepted.data(), sizeof(accepted));
}

void sample_sparse_ternary(random_source& random, std::size_t hamming_weight, std::span<std::int64_t> out) {
  HALOCLINE_EXPECTS(hamming_weight <= out.size(), invalid_argument, "Hamming weight ", hamming_weight,
                    " exceeds the number of coefficients, ", out.size());
  std::vector<std::uint32_t> places(out.size());
  std::iota(places.begin(), places.end(), 0U);
  std::fill(out.begin(), out.end(), 0);
  for (std::size_t i = 0; i < hamming_weight; ++i) {
    const std::size_t chosen = i + random.next_below(out.size() - i);
    std::swap(places[i], places[chosen]);
    out[places[i]] = 1 - 2 * static_cast<std::int64_t>(random.next_u64() & 1U);
  }
  sodium_memzero(places.data(), places.size() * sizeof(std::uint32_t));
}

std::vector<std::uint64_t> gaussian_table(double stddev) {
  const long double variance = static_cast<long double>(stddev) * stddev;
  std::vector<long double> weights{1.0L};  // of magnitude 0, then twice exp(-k^2 / 2 variance)
  while (weights.back() > 0x1p-80L) {
    const auto k = static_cast<long double>(weights.size());
    weights.push_back(2.0L * std::exp(-k * k / (2.0L * variance)));
  }
  const long double total = std::accumulate(weights.rbegin(), weights.rend(), 0.0L);
  std::vector<std::uint64_t> table;
  long double below = 0.0L;
  for (const long double weight : weights) {
    below += weight / total;
    if (1.0L - below < 0x1p-63L) break;
    table.push_back(static_cast<std::uint64_t>(below * 0x1p63L));
  }
  return table;
}

void sample_gaussian(random_source& random, double stddev, std::span<std::int64_t> out) {
  HALOCLINE_EXPECTS(stddev > 0 && stddev <= max_gaussian_stddev, invalid_argument, "standard deviation ",
                    stddev, " of a discrete Gaussian; expected above 0 and at most 2^50");
  if (stddev <= max_table_stddev) {
    sample_narrow(random, stddev, out);
    return;
  }
  sample_gaussian(random, std::sqrt(stddev * stddev - fine_stddev * fine_stddev) / coarse_step, out);
  std::vector<std::int64_t> fine(std::min(batch, out.size()));
  const std::vector<std::uint64_t> table = gaussian_table(fine_stddev);
  std::vector<std::uint64_t> words(fine.size());
  for (std::size_t first = 0; first < out.size(); first += batch) {
    const std::span<std::uint64_t> used(words.data(), std::min(batch, out.size() - first));
    random.fill(std::as_writable_bytes(used));
    arith::gaussian_values(table, used, fine.data());
    for (std::size_t i = 0; i < used.size(); ++i) out[first + i] = coarse_step * out[first + i] + fine[i];
  }
  sodium_memzero(words.data(), words.size() * sizeof(std::uint64_t));
  sodium_memzero(fine.data(), fine.size() * sizeof(std::int64_t));
}

}  // namespace halocline::ring
