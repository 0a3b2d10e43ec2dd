// SPDX-License-Identifier: Apache-2.0
// split_digits and digit_product.
#include "halocline/ring/automorphism.hpp"
#include "retrieval_fixture.hpp"

namespace {

using namespace halocline;
using namespace halocline::test;
using backend::digit_product_job;
using backend::digit_split;
using backend::poly_array;
using backend::split_job;

/// Splits that cover primes of so many bits.
std::vector<digit_split> splits_for(const ring32& host) {
  const auto largest = *std::max_element(host.primes.begin(), host.primes.end());
  unsigned bits = 0;
  while (largest >> bits != 0) ++bits;
  std::vector<digit_split> splits{{1, bits}, {1, 30}, {2, 30}};
  for (const unsigned digits : {2U, 3U, 4U, 5U, 8U}) {
    splits.push_back({digits, std::max((bits + digits - 1) / digits, 3U)});
  }
  splits.push_back({8, 10});
  return splits;
}

/// Residue of a signed integer.
std::uint32_t reduced(std::int64_t x, std::uint64_t q) {
  const auto signed_q = static_cast<std::int64_t>(q);
  return static_cast<std::uint32_t>(((x % signed_q) + signed_q) % signed_q);
}

/// Digits of one residue, from the definition.
std::vector<std::int64_t> digits_of(std::uint64_t residue, std::uint64_t q, const digit_split& split) {
  const std::int64_t base = std::int64_t{1} << split.base_bits;
  std::int64_t left = static_cast<std::int64_t>(residue);
  if (2 * residue >= q) left -= static_cast<std::int64_t>(q);
  std::vector<std::int64_t> digits;
  for (unsigned k = 0; k + 1 < split.digits; ++k) {
    const std::int64_t shifted = left + base / 2;
    digits.push_back((shifted % base + base) % base - base / 2);
    left = (left - digits.back()) / base;
  }
  digits.push_back(left);
  return digits;
}

polys split_of(const ring32& host, const polys& src, const digit_split& split) {
  polys made;
  for (const poly& x : src) {
    for (std::size_t l = 0; l < host.primes.size(); ++l) {
      polys digits(split.digits, poly(host.primes.size(), std::vector<std::uint32_t>(host.n())));
      for (std::size_t j = 0; j < host.n(); ++j) {
        const auto values = digits_of(x[l][j], host.primes[l], split);
        for (std::size_t k = 0; k < split.digits; ++k) {
          for (std::size_t t = 0; t < host.primes.size(); ++t)
            digits[k][t][j] = reduced(values[k], host.primes[t]);
        }
      }
      made.insert(made.end(), digits.begin(), digits.end());
    }
  }
  return made;
}

/// Residues where digits carry: about half of the prime, and half bases.
polys with_edges(const ring32& host, polys values, std::mt19937_64& random) {
  for (poly& x : values) {
    for (std::size_t l = 0; l < x.size(); ++l) {
      const std::uint64_t q = host.primes[l];
      for (std::uint32_t& word : x[l]) {
        const std::uint64_t power = std::uint64_t{1} << (random() % 20);
        const std::uint64_t edges[] = {q / 2, q / 2 + 1, power, power - 1, q - power, q - power - 1};
        if (random() % 4 == 0) word = static_cast<std::uint32_t>(edges[random() % 6] % q);
      }
    }
  }
  return values;
}

TEST(RetrievalDigits, SplitsAreThoseOfTheDefinition) {
  for_each_retrieval_ring([](const ring32& host, std::mt19937_64& random) {
    const polys a = with_edges(host, random_polys(host, 3, random), random);
    for (const digit_split& split : splits_for(host)) {
      const auto primes = static_cast<std::uint32_t>(host.primes.size());
      const polys expected = split_of(host, a, split);
      on_each_device(host, [&](retrieval_rig& rig) {
        const placed_array src = rig.singles(a, 1), dst = rig.room(3 * primes * split.digits, 1, 1);
        const placed_array last = rig.room(primes * split.digits, 1);
        const std::vector<split_job> jobs{{dst, src, 3, split}, {last, src.view().from(2), 1, split}};
        rig.device().split_digits(rig.tables(), jobs);
        ASSERT_EQ(dst.read(), expected) << split.digits << " digits, base 2^" << split.base_bits;
        ASSERT_EQ(last.read(), polys(expected.end() - primes * split.digits, expected.end()));
        ASSERT_TRUE(dst.guards_intact() && last.guards_intact());
        ASSERT_EQ(src.read(), a);
      });
    }
  });
}

/// Digits times powers of the base add up to the residue, and all but the last are balanced.
TEST(RetrievalDigits, DigitsComposeToWhatWasSplit) {
  for_each_retrieval_ring([](const ring32& host, std::mt19937_64& random) {
    const polys a = with_edges(host, random_polys(host, 1, random), random);
    for (const digit_split& split : splits_for(host)) {
      const auto primes = static_cast<std::uint32_t>(host.primes.size());
      on_each_device(host, [&](retrieval_rig& rig) {
        const placed_array src = rig.singles(a), dst = rig.room(primes * split.digits, 1);
        const split_job job{dst, src, 1, split};
        rig.device().split_digits(rig.tables(), {&job, 1});
        const polys digits = dst.read();
        for (std::size_t i = 0; i < digits.size(); ++i) {
          const std::size_t l = i / split.digits, k = i % split.digits;
          if (k != 0) continue;
          for (std::size_t j = 0; j < host.n(); ++j) {
            std::uint64_t sum = 0;
            for (unsigned d = 0; d < split.digits; ++d) {
              const std::uint64_t q = host.primes[l], word = digits[i + d][l][j];
              sum = (sum + naive_mul(word, naive_pow(2, d * split.base_bits, q), q)) % q;
              const std::uint64_t size = std::min(word, q - word);
              const bool balanced = d + 1 == split.digits || size <= std::uint64_t{1}
                                                                         << (split.base_bits - 1);
              ASSERT_TRUE(balanced) << size << " in base 2^" << split.base_bits;
            }
            ASSERT_EQ(sum, a[0][l][j]);
          }
        }
      });
    }
  });
}

/// What a product is made of, on the host.
struct product_case {
  std::size_t terms, count;
  polys digits, rows, plus0, plus1;

  product_case(const ring32& host, std::size_t terms, std::size_t count, std::mt19937_64& random)
      : terms(terms),
        count(count),
        digits(random_polys(host, count * terms, random)),
        rows(random_polys(host, 2 * terms, random)),
        plus0(random_polys(host, count, random)),
        plus1(random_polys(host, count, random)) {}

  /// By definition, with 128-bit sums.
  [[nodiscard]] polys result(const ring32& host, bool first, bool second,
                             const std::vector<std::uint32_t>* permutation) const {
    polys made(2 * count, poly(host.primes.size(), std::vector<std::uint32_t>(host.n())));
    for (std::size_t at = 0; at < 2 * count * host.primes.size() * host.n(); ++at) {
      const std::size_t j = at % host.n(), l = at / host.n() % host.primes.size();
      const std::size_t i = at / host.n() / host.primes.size() / 2,
                        c = at / host.n() / host.primes.size() % 2;
      const std::size_t from = permutation != nullptr ? (*permutation)[j] : j;
      u128 sum = 0;
      for (std::size_t r = 0; r < terms; ++r) {
        sum += static_cast<u128>(digits[i * terms + r][l][from]) * rows[2 * r + c][l][from];
      }
      const std::uint64_t q = host.primes[l];
      std::uint64_t value = naive_mul(static_cast<std::uint64_t>(sum % q), inverse_word(q), q);
      if (c == 0 ? first : second) value += (c == 0 ? plus0 : plus1)[i][l][from];
      made[2 * i + c][l][j] = static_cast<std::uint32_t>(value % q);
    }
    return made;
  }
};

TEST(RetrievalDigits, ProductsWithAddendsAndPermutations) {
  for_each_retrieval_ring([](const ring32& host, std::mt19937_64& random) {
    for (const std::size_t terms : {1U, 2U, 8U, 13U, 24U, 64U}) {
      if (terms > 13 && host.log_n > 9) continue;
      const product_case data(host, terms, 3, random);
      const auto permutation = ring::automorphism_permutation(random() % (2 * host.n()) | 1, host.log_n);
      const auto count = static_cast<std::uint32_t>(data.count), some = static_cast<std::uint32_t>(terms);
      on_each_device(host, [&](retrieval_rig& rig) {
        const placed_array digits = rig.singles(data.digits, 1), rows = rig.pairs(data.rows, 2);
        const placed_array plus0 = rig.singles(data.plus0, 1), plus1 = rig.singles(data.plus1);
        const placed_array bare = rig.room(3, 2), turned = rig.room(3, 2, 1), both = rig.room(3, 2, 2);
        const memory::buffer* const table = &rig.ring.keep(permutation);
        const std::vector<digit_product_job> jobs{{bare, digits, rows, some, count, {}, {}, nullptr},
                                                  {turned, digits, rows, some, count, plus0, {}, table},
                                                  {both, digits, rows, some, count, plus0, plus1, nullptr}};
        rig.device().digit_product(rig.tables(), jobs);
        ASSERT_EQ(bare.read(), data.result(host, false, false, nullptr)) << terms << " terms";
        ASSERT_EQ(turned.read(), data.result(host, true, false, &permutation)) << terms << " terms";
        ASSERT_EQ(both.read(), data.result(host, true, true, nullptr)) << terms << " terms";
        ASSERT_TRUE(bare.guards_intact() && turned.guards_intact() && both.guards_intact());
      });
    }
  });
}

/// Sums that wrap 64 bits unless they are reduced on the way: all residues are q - 1.
TEST(RetrievalDigits, ProductsOfTheLargestResidues) {
  for_each_retrieval_ring([](const ring32& host, std::mt19937_64& random) {
    if (host.log_n > 6) return;
    product_case data(host, 64, 1, random);
    for (polys* part : {&data.digits, &data.rows, &data.plus0, &data.plus1}) {
      for (poly& x : *part) {
        for (std::size_t l = 0; l < x.size(); ++l) std::fill(x[l].begin(), x[l].end(), host.primes[l] - 1);
      }
    }
    on_each_device(host, [&](retrieval_rig& rig) {
      const placed_array digits = rig.singles(data.digits), rows = rig.pairs(data.rows), dst = rig.room(1, 2);
      const placed_array plus0 = rig.singles(data.plus0), plus1 = rig.singles(data.plus1);
      const digit_product_job job{dst, digits, rows, 64, 1, plus0, plus1, nullptr};
      rig.device().digit_product(rig.tables(), {&job, 1});
      ASSERT_EQ(dst.read(), data.result(host, true, true, nullptr));
    });
  });
}

TEST(RetrievalDigits, ProductsInThePlaceOfTheirAddends) {
  for_each_retrieval_ring([](const ring32& host, std::mt19937_64& random) {
    const auto primes = static_cast<std::uint32_t>(host.primes.size());
    const product_case data(host, 4, 2, random);
    const polys together{data.plus0[0], data.plus1[0], data.plus0[1], data.plus1[1]};
    on_each_device(host, [&](retrieval_rig& rig) {
      const placed_array digits = rig.singles(data.digits), rows = rig.pairs(data.rows);
      const placed_array dst = rig.pairs(together, 1);
      const poly_array second{dst.view().data, dst.view().first + primes, dst.view().stride};
      const digit_product_job job{dst, digits, rows, 4, 2, dst.view(), second, nullptr};
      rig.device().digit_product(rig.tables(), {&job, 1});
      ASSERT_EQ(dst.read(), data.result(host, true, true, nullptr));
      ASSERT_TRUE(dst.guards_intact());
    });
  });
}

}  // namespace
