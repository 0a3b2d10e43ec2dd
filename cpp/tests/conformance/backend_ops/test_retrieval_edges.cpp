// SPDX-License-Identifier: Apache-2.0
// Where retrieval begins and ends: unpack_plain and round_answer.
#include <boost/multiprecision/cpp_int.hpp>

#include "retrieval_fixture.hpp"

namespace {

using namespace halocline;
using namespace halocline::test;
using backend::round_answer_job;
using backend::unpack_job;
using boost::multiprecision::cpp_int;

/// Rounded coefficients: by the formula of the descriptor, and exactly.
struct rounded {
  std::vector<std::uint64_t> by_formula, exact;

  rounded(const ring32& host, const poly& x, unsigned bits) {
    cpp_int q = 1;
    for (const std::uint64_t prime : host.primes) q *= prime;
    for (std::size_t j = 0; j < host.n(); ++j) {
      cpp_int value = 0;
      std::uint64_t sum = std::uint64_t{1} << (63 - bits);
      for (std::size_t l = 0; l < host.primes.size(); ++l) {
        const std::uint64_t prime = host.primes[l];
        const auto cofactor = static_cast<std::uint64_t>(cpp_int(q / prime % prime));
        const std::uint64_t y = naive_mul(x[l][j], naive_pow(cofactor, prime - 2, prime), prime);
        value += q / prime * y;
        sum += static_cast<std::uint64_t>((static_cast<u128>(y) << 64) / prime);
      }
      by_formula.push_back(sum >> (64 - bits));
      const cpp_int modulus = cpp_int(1) << bits;
      exact.push_back(
          static_cast<std::uint64_t>(cpp_int((2 * (value % q) * modulus + q) / (2 * q) % modulus)));
    }
  }
};

std::uint64_t distance(std::uint64_t a, std::uint64_t b, unsigned bits) {
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  return std::min((a - b) & mask, (b - a) & mask);
}

TEST(RetrievalEdges, RoundsToSmallerModuli) {
  for_each_retrieval_ring([](const ring32& host, std::mt19937_64& random) {
    const polys a = random_polys(host, 6, random);
    for (const auto& each : {std::pair{22U, 27U}, std::pair{1U, 63U}, std::pair{32U, 12U}}) {
      const unsigned first = each.first, second = each.second;  // clang 14 captures no structured bindings
      const unsigned bits[2] = {first, second};
      std::vector<std::uint64_t> expected;
      for (std::size_t i = 0; i < a.size(); ++i) {
        const rounded values(host, a[i], bits[i % 2]);
        expected.insert(expected.end(), values.by_formula.begin(), values.by_formula.end());
        // The sum of floors is too small by less than the number of primes.
        const std::uint64_t slack = bits[i % 2] == 63 && host.primes.size() > 3 ? 2 : 1;
        for (std::size_t j = 0; j < host.n(); ++j) {
          ASSERT_LE(distance(values.by_formula[j], values.exact[j], bits[i % 2]), slack);
        }
      }
      const std::vector<std::uint64_t> last(expected.begin() + static_cast<std::ptrdiff_t>(4 * host.n()),
                                            expected.end());
      on_each_device(host, [&](retrieval_rig& rig) {
        const placed_array src = rig.pairs(a, 1);
        const std::vector<std::uint64_t> poison(2 * host.n() * 5, 0xa5a5a5a5a5a5a5a5U);
        const memory::buffer &all = rig.ring.keep(poison), &one = rig.ring.keep(poison);
        const std::vector<round_answer_job> jobs{{&all, 1, src, 3, {first, second}},
                                                 {&one, 0, src.view().from(2), 1, {first, second}}};
        rig.device().round_answer(rig.tables(), jobs);
        std::vector<std::uint64_t> found(poison.size()), wanted = poison, single = poison;
        std::copy(expected.begin(), expected.end(),
                  wanted.begin() + static_cast<std::ptrdiff_t>(2 * host.n()));
        std::copy(last.begin(), last.end(), single.begin());
        rig.device().download(std::as_writable_bytes(std::span(found)), all, 0);
        ASSERT_EQ(found, wanted) << first << " and " << second << " bits";
        rig.device().download(std::as_writable_bytes(std::span(found)), one, 0);
        ASSERT_EQ(found, single) << first << " and " << second << " bits";
      });
    }
  });
}

/// Coefficients of packed bytes, bit by bit.
poly unpacked(const ring32& host, std::span<const std::uint8_t> bytes, unsigned bits,
              const std::vector<std::uint64_t>& factors) {
  poly made(host.primes.size(), std::vector<std::uint32_t>(host.n()));
  for (std::size_t j = 0; j < host.n(); ++j) {
    std::int64_t value = 0;
    for (unsigned b = 0; b < bits; ++b) {
      const std::size_t at = j * bits + b;
      const bool set = at / 8 < bytes.size() && (bytes[at / 8] >> (at % 8) & 1) != 0;
      if (set) value += b + 1 == bits ? -(std::int64_t{1} << b) : std::int64_t{1} << b;
    }
    for (std::size_t l = 0; l < made.size(); ++l) {
      const auto q = static_cast<std::int64_t>(host.primes[l]);
      const auto residue = static_cast<std::uint64_t>((value % q + q) % q);
      made[l][j] = static_cast<std::uint32_t>(naive_mul(residue, factors[l], host.primes[l]));
    }
  }
  return made;
}

TEST(RetrievalEdges, PlaintextsOfBytes) {
  for_each_retrieval_ring([](const ring32& host, std::mt19937_64& random) {
    std::vector<std::uint64_t> factors;
    for (const std::uint64_t q : host.primes) factors.push_back(random() % q);
    for (const unsigned bits : {2U, 8U, 10U, 13U, 24U, 31U, 32U}) {
      const auto full = static_cast<std::uint32_t>(host.n() * bits / 8);
      for (const std::uint32_t count : {full, full - 1, full / 2 + 1, 1U}) {
        const std::uint64_t offset = random() % 5, stride = count + random() % 9;
        // No byte follows those of the last plaintext: reading more is an error that sanitizers find.
        std::vector<std::uint8_t> bytes(offset + 2 * stride + count);
        for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random() % 4 == 0 ? 0xff : random());
        polys expected;
        for (std::size_t i = 0; i < 3; ++i) {
          expected.push_back(
              unpacked(host, std::span(bytes).subspan(offset + i * stride, count), bits, factors));
        }
        on_each_device(host, [&](retrieval_rig& rig) {
          const memory::buffer* const src = &rig.ring.keep(bytes);
          const placed_array dst = rig.room(3, 1, 2), last = rig.room(1, 1);
          const std::vector<unpack_job> jobs{{dst, src, offset, stride, count, 3, bits, factors},
                                             {last, src, offset + 2 * stride, 0, count, 1, bits, factors}};
          rig.device().unpack_plain(rig.tables(), jobs);
          ASSERT_EQ(dst.read(), expected) << bits << " bits, " << count << " bytes";
          ASSERT_EQ(last.read(), polys{expected[2]}) << bits << " bits, " << count << " bytes";
          ASSERT_TRUE(dst.guards_intact() && last.guards_intact());
        });
      }
    }
  });
}

}  // namespace
