// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sodium.h>

#include <bit>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>

#include "ckks/encoder_fft.hpp"
#include "halocline/arith/coefficient_math.hpp"
#include "halocline/ring/sampler.hpp"
#include "ops_fixture.hpp"

namespace {

using namespace halocline;
using namespace halocline::test;
using arith::window;
using backend::limb_view;
using boost::multiprecision::cpp_int;

template <typename WordT>
class ClientOp : public testing::Test {};
using words = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(ClientOp, words);

/// 64-bit words of a buffer.
template <typename T, typename RingT>
std::vector<T> read_buffer(RingT& ring, const memory::buffer& data) {
  std::vector<T> values(data.size() / sizeof(T));
  ring.device().download(std::as_writable_bytes(std::span(values)), data, 0);
  return values;
}

/// Random doubles of every sign and of magnitudes below 2^bits, with ties and zeros among them.
std::vector<double> random_doubles(std::size_t count, int bits, std::mt19937_64& random) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    const double fraction = static_cast<double>(random() >> 11) * 0x1p-53;
    double value = std::ldexp(fraction, static_cast<int>(random() % static_cast<unsigned>(bits + 3)) - 2);
    if (i % 8 == 0) value = std::floor(value) + 0.5;
    if (i % 64 == 1) value = 0.0;
    values.push_back(random() % 2 == 0 ? value : -value);
  }
  return values;
}

/// Bytes of a ChaCha20 key stream, by libsodium.
std::vector<std::uint8_t> key_stream(const std::vector<std::uint8_t>& seed, std::uint32_t stream,
                                     std::uint32_t domain, std::uint32_t attempt, std::size_t bytes) {
  std::vector<std::uint8_t> nonce;
  for (const std::uint32_t word : {stream, domain, attempt}) {
    for (int i = 0; i < 4; ++i) nonce.push_back(static_cast<std::uint8_t>(word >> (8 * i)));
  }
  std::vector<std::uint8_t> out(bytes);
  crypto_stream_chacha20_ietf(out.data(), out.size(), nonce.data(), seed.data());
  return out;
}

std::vector<std::int64_t> reference_ternary(const std::vector<std::uint8_t>& seed, std::uint32_t stream,
                                            std::size_t n) {
  const auto bytes = key_stream(seed, stream, 0xfffffffe, 0, 4 * n);
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<int> pairs;
    for (int bit = 0; bit < 32; bit += 2) pairs.push_back(bytes[4 * i + bit / 8] >> (bit % 8) & 3);
    std::erase(pairs, 3);
    values.push_back(pairs.at(0) - 1);  // sixteen rejections do not happen in so few coefficients
  }
  return values;
}

std::vector<std::int64_t> reference_gaussian(const std::vector<std::uint8_t>& seed, std::uint32_t stream,
                                             std::size_t n, const std::vector<std::uint64_t>& table) {
  const auto bytes = key_stream(seed, stream, 0xffffffff, 0, 8 * n);
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < n; ++i) {
    std::uint64_t word = 0;
    for (int b = 0; b < 8; ++b) word |= std::uint64_t{bytes[8 * i + b]} << (8 * b);
    const auto magnitude = static_cast<std::int64_t>(
        std::upper_bound(table.begin(), table.end(), word & (~std::uint64_t{0} >> 1)) - table.begin());
    values.push_back(word >> 63 != 0 ? -magnitude : magnitude);
  }
  return values;
}

TYPED_TEST(ClientOp, SmallSamplesAreThoseOfTheirStreams) {
  for (const unsigned log_n : {4U, 5U, 10U, 15U, 17U}) {
    const host_ring<TypeParam> host(log_n);
    std::mt19937_64 random(test_seed() + log_n);
    std::vector<std::uint8_t> seed(32);
    for (auto& byte : seed) byte = static_cast<std::uint8_t>(random());
    const auto table = ring::gaussian_table(log_n == 5 ? 16.0 : 3.2);
    for (const device_under_test& dut : devices_under_test()) {
      SCOPED_TRACE(testing::Message() << dut.name << ", N = 2^" << log_n);
      device_ring<TypeParam> ring(host, *dut.device);
      const std::vector<std::int64_t> poison(host.n(), -0x5a5a5a5a);
      const memory::buffer& ternary = ring.keep(poison);
      const memory::buffer& gaussian = ring.keep(poison);
      const memory::buffer& key = ring.keep(seed);
      const memory::buffer& cumulative = ring.keep(table);
      ring.device().sample_small(ring.tables(),
                                 std::vector<backend::small_job>{{&ternary, &key, 3, nullptr},
                                                                 {&gaussian, &key, 0xfffffff1, &cumulative}});
      ASSERT_EQ(read_buffer<std::int64_t>(ring, ternary), reference_ternary(seed, 3, host.n()));
      ASSERT_EQ(read_buffer<std::int64_t>(ring, gaussian),
                reference_gaussian(seed, 0xfffffff1, host.n(), table));
    }
  }
}

/// The slot transform by complex long doubles would not have the same bits, so the reference is the plain
/// loop of arith/slot_fft.hpp; that it is the embedding is tested in tests/unit/test_encoder_fft.cpp.
void reference_passes(bool forward, unsigned log_slots, const arith::fft_factors* factors,
                      std::vector<double>& values) {
  const std::size_t n = std::size_t{1} << log_slots;
  const auto point = [&](std::size_t i) { return arith::fft_point{values[i], values[n + i]}; };
  const auto set = [&](std::size_t i, arith::fft_point z) { values[i] = z.re, values[n + i] = z.im; };
  const auto radix2 = [&] {
    for (std::size_t j = 0; log_slots % 2 == 1 && j < n / 2; ++j) {
      const arith::fft_pair in{point(j), point(j + n / 2)};
      const arith::fft_pair out = forward ? arith::fft_split_first(in) : arith::fft_join_first(in);
      set(j, out.low), set(j + n / 2, out.high);
    }
  };
  const auto radix4 = [&](unsigned depth) {
    const std::size_t quarter = n >> (depth + 2);
    for (std::size_t j = 0; j < n / 4; ++j) {
      const std::size_t block = j / quarter, at = 4 * quarter * block + j % quarter;
      const auto& w = factors[arith::fft_factor_offset(log_slots, depth) + block];
      const arith::fft_quad in{point(at), point(at + quarter), point(at + 2 * quarter),
                               point(at + 3 * quarter)};
      const arith::fft_quad out = forward ? arith::fft_split(in, w) : arith::fft_join(in, w);
      set(at, out.c0), set(at + quarter, out.c1), set(at + 2 * quarter, out.c2);
      set(at + 3 * quarter, out.c3);
    }
  };
  if (forward) radix2();
  for (unsigned i = 0; i < log_slots / 2; ++i) {
    radix4(forward ? log_slots % 2 + 2 * i : log_slots - 2 - 2 * i);
  }
  if (!forward) radix2();
}

TYPED_TEST(ClientOp, SlotTransformsHaveTheSameBits) {
  for (const unsigned log_slots : {0U, 1U, 2U, 3U, 6U, 9U, 10U, 11U, 12U, 13U, 14U, 15U, 16U}) {
    const host_ring<TypeParam> host(std::max(4U, log_slots + 1));
    const std::size_t n = std::size_t{1} << log_slots;
    std::mt19937_64 random(test_seed() + log_slots);
    const std::size_t count = log_slots > 3 ? n - random() % (n / 2) : n;
    const std::vector<std::byte> table = ckks::make_slot_table(static_cast<std::uint32_t>(n), 3);
    const auto* const factors = reinterpret_cast<const arith::fft_factors*>(table.data());
    const std::uint32_t* const places = arith::slot_places(factors, log_slots);
    const std::vector<double> slots = random_doubles(2 * count, 8, random);
    const std::vector<double> coefficients = random_doubles(2 * n, 30, random);
    std::vector<double> inverse(2 * n, 0.0), forward = coefficients, gathered(2 * n);
    for (std::size_t k = 0; k < count; ++k) {
      inverse[places[k] / 2] = slots[2 * k];
      inverse[n + places[k] / 2] = places[k] % 2 == 0 ? slots[2 * k + 1] : -slots[2 * k + 1];
    }
    reference_passes(false, log_slots, factors, inverse);
    reference_passes(true, log_slots, factors, forward);
    for (std::size_t k = 0; k < n; ++k) {
      gathered[2 * k] = forward[places[k] / 2];
      gathered[2 * k + 1] = places[k] % 2 == 0 ? forward[n + places[k] / 2] : -forward[n + places[k] / 2];
    }
    for (const device_under_test& dut : devices_under_test()) {
      SCOPED_TRACE(testing::Message() << dut.name << ", slots 2^" << log_slots);
      device_ring<TypeParam> ring(host, *dut.device);
      const memory::buffer& place = ring.keep(table);
      const memory::buffer& values = ring.keep(slots);
      const memory::buffer& found = ring.keep(std::vector<double>(2 * n, 1e300));
      const memory::buffer& source = ring.keep(coefficients);
      const memory::buffer& out = ring.keep(std::vector<double>(2 * n, 1e300));
      ring.device().slot_transform(
          ring.tables(),
          std::vector<backend::slot_job>{{backend::slot_direction::to_coefficients, &values,
                                          static_cast<std::uint32_t>(count), &found, &place, log_slots},
                                         {backend::slot_direction::to_slots, &out,
                                          static_cast<std::uint32_t>(n), &source, &place, log_slots}});
      // As bits: -0 is not 0 here.
      const auto bits = [](const std::vector<double>& of) {
        std::vector<std::uint64_t> result;
        for (const double x : of) result.push_back(std::bit_cast<std::uint64_t>(x));
        return result;
      };
      ASSERT_EQ(read_buffer<std::uint64_t>(ring, found), bits(inverse));
      ASSERT_EQ(read_buffer<std::uint64_t>(ring, out), bits(gathered));
    }
  }
}

TYPED_TEST(ClientOp, RoundingGoesToTheNearestIntegerAndTiesToEven) {
  __extension__ using i128 = __int128;
  const host_ring<TypeParam> host(12);
  std::mt19937_64 random(test_seed());
  for (const std::size_t count : {2UL, 64UL, 2048UL, 4096UL}) {
    for (const int bits : {20, 49, 61, 125}) {
      const unsigned width = bits > 61 ? 2 : 1;
      const double factor = bits % 2 == 0 ? 1.0 : 0.75;
      const std::vector<double> values = random_doubles(count, bits, random);
      std::vector<std::uint64_t> expected(host.n() * width, 0);
      double largest = 0.0;
      for (std::size_t j = 0; j < count; ++j) {
        const auto whole = static_cast<i128>(std::nearbyint(values[j] * factor));
        std::uint64_t* const at = expected.data() + j * (host.n() / count) * width;
        at[0] = static_cast<std::uint64_t>(whole);
        if (width == 2) at[1] = static_cast<std::uint64_t>(static_cast<u128>(whole) >> 64);
        largest = std::max(largest, std::abs(values[j]));
      }
      for (const device_under_test& dut : devices_under_test()) {
        SCOPED_TRACE(testing::Message() << dut.name << ", " << count << " of 2^" << bits);
        device_ring<TypeParam> ring(host, *dut.device);
        const memory::buffer& source = ring.keep(values);
        const memory::buffer& rounded = ring.keep(std::vector<std::uint64_t>(host.n() * width, 77));
        const memory::buffer& found = ring.keep(std::vector<double>{-1.0});
        backend::round_job job{&source, static_cast<std::uint32_t>(count), factor};
        job.largest = &found;
        backend::round_job both = job;
        both.dst = &rounded, both.words = width, both.bound = largest * factor;
        ring.device().round_coefficients(ring.tables(), {&job, 1});
        ASSERT_EQ(read_buffer<double>(ring, found), std::vector<double>{largest});
        ring.device().round_coefficients(ring.tables(), {&both, 1});
        ASSERT_EQ(read_buffer<std::uint64_t>(ring, rounded), expected);
        ASSERT_EQ(read_buffer<double>(ring, found), std::vector<double>{largest});
        std::vector<std::uint64_t> without_zeros;
        for (std::size_t j = 0; j < count * width; ++j) {
          without_zeros.push_back(expected[j / width * (host.n() / count) * width + j % width]);
        }
        const memory::buffer& few = ring.keep(std::vector<std::uint64_t>(count * width, 77));
        both.dst = &few, both.largest = nullptr, both.dense = true;
        ring.device().round_coefficients(ring.tables(), {&both, 1});
        ASSERT_EQ(read_buffer<std::uint64_t>(ring, few), without_zeros);
      }
    }
  }
}

/// Elimination constants, by big integers.
template <typename WordT>
std::vector<WordT> eliminations(const host_ring<WordT>& host, window primes) {
  std::vector<WordT> table;
  for (std::uint32_t i = 0; i < primes.count; ++i) {
    const std::uint64_t q = host.primes[primes.end() - 1 - i];
    for (std::uint32_t j = 0; j < i; ++j) {
      const std::uint64_t other = host.primes[primes.end() - 1 - j];
      const std::uint64_t inverse = naive_pow(other % q, q - 2, q);
      table.push_back(static_cast<WordT>((other / 2 + q - 1) / q * q));
      table.push_back(static_cast<WordT>(inverse));
      table.push_back(static_cast<WordT>((static_cast<u128>(inverse) << (8 * sizeof(WordT))) / q));
    }
  }
  return table;
}

TYPED_TEST(ClientOp, LiftsGiveTheIntegersOfLeastMagnitude) {
  const host_ring<TypeParam> host(11);
  std::mt19937_64 random(test_seed());
  for (const window primes : {window{3, 1}, window{2, 2}, window{4, 5}, host.all()}) {
    cpp_int modulus = 1;
    for (std::uint32_t p = primes.first; p < primes.end(); ++p) modulus *= host.primes[p];
    std::vector<cpp_int> integers;
    for (std::size_t j = 0; j < host.n(); ++j) {
      cpp_int value = 0;
      for (unsigned b = 0; b < msb(modulus); b += 32) value = (value << 32) + (random() & 0xffffffff);
      value >>= random() % (msb(modulus) + 1);
      value %= (modulus - 1) / 2;
      integers.push_back(random() % 2 == 0 ? value : cpp_int(-value));
    }
    integers[0] = (modulus - 1) / 2, integers[1] = -integers[0], integers[2] = 0;
    limbs<TypeParam> residues;
    for (std::uint32_t p = primes.first; p < primes.end(); ++p) {
      auto& limb = residues.emplace_back();
      const cpp_int q = host.primes[p];
      for (const cpp_int& value : integers) limb.push_back(static_cast<TypeParam>((value % q + q) % q));
    }
    std::vector<std::vector<double>> results;  // of the devices, equal bits
    for (const device_under_test& dut : devices_under_test()) {
      SCOPED_TRACE(testing::Message() << dut.name << ", primes " << primes.first << "+" << primes.count);
      device_ring<TypeParam> ring(host, *dut.device);
      const auto table = eliminations(host, primes);
      const memory::buffer* const constants = table.empty() ? nullptr : &ring.keep(table);
      for (const std::uint32_t stride : {1U, 4U}) {
        const std::uint32_t count = static_cast<std::uint32_t>(host.n()) / stride - (stride == 1 ? 0 : 3);
        const limb_view source = ring.filled(primes, residues);
        const memory::buffer& out = ring.keep(std::vector<double>(count, 1e300));
        const backend::lift_job job{source, &out, count, stride, 3.0, constants, nullptr};
        ring.device().lift(ring.tables(), {&job, 1});
        const auto got = read_buffer<double>(ring, out);
        for (std::size_t c = 0; c < count; ++c) {
          const double want = integers[c * stride].template convert_to<double>() / 3.0;
          ASSERT_NEAR(got[c], want, std::abs(want) * 0x1p-49) << c;
        }
        ASSERT_TRUE(ring.guards_intact(source));
        if (stride == 1) results.push_back(got);
      }
      ASSERT_EQ(results.back(), results.front());
    }
  }
}

TYPED_TEST(ClientOp, LiftsReportWhatTheGuardDoesNotHold) {
  const host_ring<TypeParam> host(9);
  const window primes{3, 3};
  const cpp_int held = (cpp_int(host.primes[4]) * host.primes[5] - 1) / 2;
  for (const int excess : {0, 1, -1}) {
    const cpp_int value = excess < 0 ? cpp_int(-held - 1) : cpp_int(held + excess);
    limbs<TypeParam> residues(3, std::vector<TypeParam>(host.n(), 0));
    for (std::size_t i = 0; i < 3; ++i) {
      const cpp_int q = host.primes[3 + i];
      residues[i][host.n() - 1] = static_cast<TypeParam>((value % q + q) % q);
    }
    for (const device_under_test& dut : devices_under_test()) {
      SCOPED_TRACE(testing::Message() << dut.name << ", excess " << excess);
      device_ring<TypeParam> ring(host, *dut.device);
      const limb_view source = ring.filled(primes, residues);
      const memory::buffer& out = ring.keep(std::vector<double>(host.n(), 1e300));
      const memory::buffer& flag = ring.keep(std::vector<std::uint64_t>{99});
      const memory::buffer& constants = ring.keep(eliminations(host, primes));
      const backend::lift_job job{source,     &out, static_cast<std::uint32_t>(host.n()), 1, 1.0,
                                  &constants, &flag};
      ring.device().lift(ring.tables(), {&job, 1});
      ASSERT_EQ(read_buffer<std::uint64_t>(ring, flag).front() != 0, excess != 0);
    }
  }
}

}  // namespace
