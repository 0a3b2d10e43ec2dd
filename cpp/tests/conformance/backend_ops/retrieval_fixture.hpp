// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "halocline/backend/retrieval_jobs.hpp"
#include "ops_fixture.hpp"

/// Rings and arrays of polynomials for the operations of private retrieval.
namespace halocline::test {

using ring32 = host_ring<std::uint32_t>;
/// A polynomial: limb l modulo prime l.
using poly = limbs<std::uint32_t>;
/// Polynomials of an array, those of a ciphertext one after the other.
using polys = std::vector<poly>;

/// A ring of primes of these sizes, none of which is twice another one.
[[nodiscard]] inline ring32 retrieval_ring(unsigned log_n, const std::vector<double>& sizes) {
  ring32 host(log_n);
  host.primes.clear();
  for (const double bits : sizes) {
    host.primes.push_back(params::primes_below(bits, 1, std::uint64_t{2} << log_n, host.primes).front());
  }
  return host;
}

/// Calls `body(host ring, random source)` for rings of 2 to 4 primes of 20 to 30 bits, N = 2^5 to 2^12.
template <typename BodyT>
void for_each_retrieval_ring(const BodyT& body) {
  const std::vector<std::vector<double>> sizes{
      {29, 29}, {20.7, 20}, {30, 29.1, 29.9}, {26.5, 26.5, 26.5, 26.5}};
  unsigned which = 0;
  for (const unsigned log_n : {5U, 6U, 9U, 11U, 12U}) {
    for (const unsigned more : {0U, 2U}) {
      const ring32 host = retrieval_ring(log_n, sizes[(which++ + more) % sizes.size()]);
      SCOPED_TRACE(testing::Message()
                   << host.primes.size() << " primes near " << host.primes[0] << ", N = 2^" << log_n);
      std::mt19937_64 random(test_seed() + log_n);
      body(host, random);
      if (testing::Test::HasFailure()) return;
    }
  }
}

[[nodiscard]] inline polys random_polys(const ring32& host, std::size_t count, std::mt19937_64& random) {
  polys made;
  for (std::size_t i = 0; i < count; ++i) made.push_back(random_limbs(host, host.all(), random));
  return made;
}

/// An array on a device, with poison before, between and behind its entries.
class placed_array {
 public:
  /// @param parts  polynomials of an entry
  /// @param gap    limbs between entries
  placed_array(const ring32& host, device_ring<std::uint32_t>& ring, std::size_t entries, std::uint32_t parts,
               std::uint32_t gap)
      : host_(&host), ring_(&ring), parts_(parts), entries_(entries) {
    const auto primes = static_cast<std::uint32_t>(host.primes.size());
    view_.first = 1 + gap;
    view_.stride = parts * primes + gap;
    const std::size_t count = view_.first + entries * view_.stride + 1;
    view_.data = &ring.keep(std::vector<unsigned char>(count * ring.tables().limb_bytes(), poison()));
  }
  placed_array(const ring32& host, device_ring<std::uint32_t>& ring, const polys& values, std::uint32_t parts,
               std::uint32_t gap)
      : placed_array(host, ring, values.size() / parts, parts, gap) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      ring.write({view_.data, static_cast<std::uint32_t>(limb_of(i)), host.all()}, values[i]);
    }
  }

  operator const backend::poly_array&() const { return view_; }  // NOLINT(google-explicit-constructor)
  [[nodiscard]] const backend::poly_array& view() const { return view_; }

  [[nodiscard]] polys read() const {
    polys made;
    for (std::size_t i = 0; i < entries_ * parts_; ++i) {
      made.push_back(ring_->read({view_.data, static_cast<std::uint32_t>(limb_of(i)), host_->all()}));
    }
    return made;
  }
  /// Whether everything beside the entries is as it was.
  [[nodiscard]] bool guards_intact() const {
    const std::size_t limb = ring_->tables().limb_bytes();
    std::vector<unsigned char> bytes(view_.data->size());
    ring_->device().download(std::as_writable_bytes(std::span(bytes)), *view_.data, 0);
    for (std::size_t i = 0; i < entries_ * parts_; ++i) {
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(limb_of(i) * limb), host_->primes.size() * limb,
                  poison());
    }
    return std::all_of(bytes.begin(), bytes.end(), [](unsigned char byte) { return byte == poison(); });
  }

 private:
  static constexpr unsigned char poison() { return device_ring<std::uint32_t>::poison; }
  [[nodiscard]] std::size_t limb_of(std::size_t polynomial) const {
    return view_.first + polynomial / parts_ * view_.stride + polynomial % parts_ * host_->primes.size();
  }

  const ring32* host_;
  device_ring<std::uint32_t>* ring_;
  std::uint32_t parts_;
  std::size_t entries_;
  backend::poly_array view_;
};

/// A ring on one device, with short names for what most cases do.
struct retrieval_rig {
  const ring32& host;
  device_ring<std::uint32_t> ring;

  retrieval_rig(const ring32& host, const device_under_test& dut) : host(host), ring(host, *dut.device) {}

  [[nodiscard]] backend::backend& device() const { return ring.device(); }
  [[nodiscard]] const backend::ring_tables& tables() const { return ring.tables(); }
  /// Ciphertexts, or polynomials.
  [[nodiscard]] placed_array pairs(const polys& values, std::uint32_t gap = 0) {
    return {host, ring, values, 2, gap};
  }
  [[nodiscard]] placed_array singles(const polys& values, std::uint32_t gap = 0) {
    return {host, ring, values, 1, gap};
  }
  [[nodiscard]] placed_array room(std::size_t entries, std::uint32_t parts, std::uint32_t gap = 0) {
    return {host, ring, entries, parts, gap};
  }
};

/// Calls `body(rig)` for every device.
template <typename BodyT>
void on_each_device(const ring32& host, const BodyT& body) {
  for (const device_under_test& dut : devices_under_test()) {
    if (!dut.device->supports(backend::op_kind::row_select, 32)) continue;
    SCOPED_TRACE(dut.name);
    retrieval_rig rig(host, dut);
    body(rig);
    if (testing::Test::HasFailure()) return;
  }
}

/// `f(q, x, y)` word by word.
template <typename F>
[[nodiscard]] polys map_polys(const ring32& host, const polys& a, const polys& b, const F& f) {
  polys made;
  for (std::size_t i = 0; i < a.size(); ++i) made.push_back(map_limbs(host, host.all(), f, a[i], b[i]));
  return made;
}

/// 2^-32 modulo q.
[[nodiscard]] inline std::uint64_t inverse_word(std::uint64_t q) {
  return naive_pow((std::uint64_t{1} << 32) % q, q - 2, q);
}

}  // namespace halocline::test
