// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <ostream>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "halocline/arith/modulus.hpp"
#include "halocline/backend/backend.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/params/primes.hpp"
#include "halocline/ring/ntt_tables.hpp"

/// Rings, buffers and random data for the conformance suite of the backend operations.
namespace halocline::test {

/// A backend under test, made anew for every case.
struct device_under_test {
  std::string name;
  std::shared_ptr<backend::backend> device;
};

/// Every CPU kernel set that this machine can run, single-threaded and threaded. (A further backend adds
/// itself here.)
[[nodiscard]] std::vector<device_under_test> devices_under_test();

/// Seed of the random data: HALOCLINE_TEST_SEED, or a fixed one. Printed once.
[[nodiscard]] std::uint64_t test_seed();

/// Jobs of a batch whose size lets device backends choose other kernels. With sanitizers, which see backends
/// of the CPU only and make everything ten times as slow, a quarter.
[[nodiscard]] constexpr unsigned large_batch(unsigned count) {
#if defined(__SANITIZE_ADDRESS__)
  return (count + 3) / 4;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
  return (count + 3) / 4;
#endif
#endif
  return count;
}

__extension__ using u128 = unsigned __int128;

/// Independent modular arithmetic, for references.
[[nodiscard]] inline std::uint64_t naive_mul(std::uint64_t a, std::uint64_t b, std::uint64_t q) {
  return static_cast<std::uint64_t>(static_cast<u128>(a) * b % q);
}
[[nodiscard]] inline std::uint64_t naive_pow(std::uint64_t base, std::uint64_t exponent, std::uint64_t q) {
  std::uint64_t result = 1;
  for (; exponent != 0; exponent /= 2, base = naive_mul(base, base, q)) {
    if (exponent % 2 != 0) result = naive_mul(result, base, q);
  }
  return result;
}

/// Host side of a ring: primes of mixed sizes, some just below the limit of the word, some small.
template <typename WordT>
struct host_ring {
  unsigned log_n;
  std::vector<std::uint64_t> primes;

  explicit host_ring(unsigned n_bits) : log_n(n_bits) {
    const std::uint64_t two_n = std::uint64_t{2} << log_n;
    const std::vector<double> sizes = sizeof(WordT) == 4
                                          ? std::vector<double>{30, 30, 29.5, 25.1, 30, 27, 24, 30, 30}
                                          : std::vector<double>{61, 61, 50.3, 40, 61, 33, 58, 61, 31};
    for (const double bits : sizes) primes.push_back(params::primes_below(bits, 1, two_n, primes).front());
    if (sizeof(WordT) == 4)
      primes.push_back(786433);  // 3 * 2^18 + 1: far above a power of two, so candidates fail
  }
  [[nodiscard]] std::size_t n() const { return std::size_t{1} << log_n; }
  [[nodiscard]] arith::window all() const { return {0, static_cast<std::uint32_t>(primes.size())}; }
};

/// Limbs on the host, in the order of a window.
template <typename WordT>
using limbs = std::vector<std::vector<WordT>>;

/// A ring bound to a device, and views that hold their buffers.
template <typename WordT>
class device_ring {
 public:
  static constexpr unsigned char poison = 0xa5;

  device_ring(const host_ring<WordT>& host, backend::backend& device) : host_(host), device_(device) {
    tables_.log_n = host.log_n;
    tables_.word_bits = 8 * sizeof(WordT);
    tables_.primes = host.primes;
    std::vector<arith::modulus<WordT>> moduli;
    std::vector<WordT> roots;
    for (const std::uint64_t prime : host.primes) {
      moduli.push_back(arith::make_modulus(static_cast<WordT>(prime)));
      roots.resize(roots.size() + 4 * host.n());
      ring::fill_roots<WordT>(moduli.back(), host.log_n, std::span(roots).last(4 * host.n()));
    }
    tables_.moduli = upload(std::as_bytes(std::span(moduli)));
    tables_.roots = upload(std::as_bytes(std::span(roots)));
  }

  [[nodiscard]] const backend::ring_tables& tables() const { return tables_; }
  [[nodiscard]] backend::backend& device() const { return device_; }

  [[nodiscard]] memory::buffer upload(std::span<const std::byte> bytes) {
    memory::buffer data = device_.runtime().allocate(bytes.size(), memory::object_class::table, "test");
    device_.upload(data, 0, bytes);
    return data;
  }

  /// Uploads and keeps a table; the reference stays valid.
  template <typename T>
  const memory::buffer& keep(const std::vector<T>& values) {
    return buffers_.emplace_back(upload(std::as_bytes(std::span(values))));
  }

  /// Poisoned limbs of `primes`, with a poisoned limb before and one behind.
  [[nodiscard]] backend::limb_view poisoned(arith::window primes, unsigned log_repeat = 0) {
    const std::size_t limb = tables_.limb_bytes() >> log_repeat;
    return {&keep(std::vector<unsigned char>((primes.count + 2) * limb, poison)), 1, primes, log_repeat};
  }
  [[nodiscard]] backend::limb_view filled(arith::window primes, const limbs<WordT>& values,
                                          unsigned log_repeat = 0) {
    const backend::limb_view view = poisoned(primes, log_repeat);
    write(view, values);
    return view;
  }
  void write(const backend::limb_view& view, const limbs<WordT>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      device_.upload(*view.data, (view.limb + i) * (tables_.limb_bytes() >> view.log_repeat),
                     std::as_bytes(std::span(values[i])));
    }
  }
  [[nodiscard]] limbs<WordT> read(const backend::limb_view& view) {
    limbs<WordT> values(view.primes.count, std::vector<WordT>(host_.n() >> view.log_repeat));
    for (std::size_t i = 0; i < values.size(); ++i) {
      device_.download(std::as_writable_bytes(std::span(values[i])), *view.data,
                       (view.limb + i) * (tables_.limb_bytes() >> view.log_repeat));
    }
    return values;
  }
  /// Whether the limbs before and behind a view of `poisoned` are as they were.
  [[nodiscard]] bool guards_intact(const backend::limb_view& view) {
    std::vector<unsigned char> bytes(view.data->size());
    device_.download(std::as_writable_bytes(std::span(bytes)), *view.data, 0);
    const std::size_t limb = tables_.limb_bytes() >> view.log_repeat;
    for (std::size_t i = 0; i < limb; ++i) {
      if (bytes[i] != poison || bytes[bytes.size() - 1 - i] != poison) return false;
    }
    return true;
  }

 private:
  const host_ring<WordT>& host_;
  backend::backend& device_;
  backend::ring_tables tables_;
  std::deque<memory::buffer> buffers_;
};

/// Reduced residues: random, with 0, 1 and q - 1 sprinkled in.
template <typename WordT>
[[nodiscard]] limbs<WordT> random_limbs(const host_ring<WordT>& ring, arith::window primes,
                                        std::mt19937_64& random) {
  limbs<WordT> values;
  for (std::uint32_t p = primes.first; p < primes.end(); ++p) {
    auto& limb = values.emplace_back(ring.n());
    const std::uint64_t q = ring.primes[p];
    for (WordT& x : limb) {
      const std::uint64_t draw = random();
      const std::uint64_t edges[] = {0, 1, q - 1, q - 2};
      x = static_cast<WordT>(draw % 16 == 0 ? edges[(draw >> 8) % 4] : (draw >> 4) % q);
    }
  }
  return values;
}

/// Applies `f(q, word of each source...)` word by word: the reference of elementwise operations.
template <typename WordT, typename F, typename... SourceT>
[[nodiscard]] limbs<WordT> map_limbs(const host_ring<WordT>& ring, arith::window primes, const F& f,
                                     const SourceT&... sources) {
  limbs<WordT> result(primes.count, std::vector<WordT>(ring.n()));
  for (std::size_t i = 0; i < primes.count; ++i) {
    const std::uint64_t q = ring.primes[primes.first + i];
    for (std::size_t j = 0; j < ring.n(); ++j) {
      result[i][j] = static_cast<WordT>(f(q, static_cast<std::uint64_t>(sources[i][j])...));
    }
  }
  return result;
}

}  // namespace halocline::test
