// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sodium.h>

#include "halocline/arith/uniform_stream.hpp"
#include "halocline/ring/automorphism.hpp"
#include "keep_key.hpp"
#include "ops_fixture.hpp"

namespace {

using namespace halocline;
using namespace halocline::test;
using arith::window;
using backend::limb_view;

/// Word i of a seeded limb from its definition in arith/uniform_stream.hpp, with libsodium's ChaCha20.
template <typename WordT>
std::vector<WordT> sodium_limb(const backend::uniform_source& source, std::uint32_t prime, std::uint64_t q,
                               std::size_t n) {
  unsigned bits = 0;
  while (q >> bits != 0) ++bits;
  std::vector<WordT> limb(n), candidates(n);
  std::vector<bool> done(n, false);
  std::size_t missing = n;
  for (std::uint32_t attempt = 0; missing != 0; ++attempt) {
    const std::uint32_t nonce[3] = {source.stream, prime, attempt};
    std::memset(candidates.data(), 0, n * sizeof(WordT));
    auto* const bytes = reinterpret_cast<unsigned char*>(candidates.data());
    crypto_stream_chacha20_ietf_xor_ic(bytes, bytes, n * sizeof(WordT),
                                       reinterpret_cast<const unsigned char*>(nonce), 0, source.seed.data());
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t candidate = candidates[i] & ((std::uint64_t{1} << bits) - 1);
      if (done[i] || candidate >= q) continue;
      limb[i] = static_cast<WordT>(candidate);
      done[i] = true;
      --missing;
    }
  }
  return limb;
}

/// The same for the rule of spare words, from lists of accepted words. The block function has tests of its
/// own.
template <typename WordT>
std::vector<WordT> listed_limb(const backend::uniform_source& source, std::uint32_t prime, std::uint64_t q,
                               std::size_t n) {
  unsigned bits = 0;
  while (q >> bits != 0) ++bits;
  constexpr std::size_t per_block = 64 / sizeof(WordT);
  const auto append = [&](std::vector<WordT>& to, std::size_t counter, std::uint32_t attempt, bool accepted) {
    const auto block = arith::chacha<8>(arith::make_chacha_key(source.seed.data()),
                                        static_cast<std::uint32_t>(counter), {source.stream, prime, attempt});
    WordT drawn[per_block];
    std::memcpy(drawn, block.words, sizeof drawn);
    for (const WordT word : drawn) {
      const std::uint64_t candidate = word & ((std::uint64_t{1} << bits) - 1);
      if (!accepted || candidate < q) to.push_back(static_cast<WordT>(candidate));
    }
  };
  std::vector<WordT> limb;
  for (std::size_t group = 0; limb.size() < n; ++group) {
    std::vector<WordT> words, spare;
    for (std::size_t b = 0; b < 16; ++b) append(words, 16 * group + b, 0, false);
    std::uint32_t attempt = 0;
    std::size_t next = 0;
    for (WordT& word : words) {
      while (word >= q && next == spare.size()) append(spare, group, ++attempt, true);
      if (word >= q) word = spare[next++];
    }
    limb.insert(limb.end(), words.begin(), words.end());
  }
  limb.resize(n);
  return limb;
}

template <typename WordT>
std::vector<WordT> reference_limb(const backend::uniform_source& source, std::uint32_t prime, std::uint64_t q,
                                  std::size_t n) {
  return source.rule == stream_rule::chacha20_retry ? sodium_limb<WordT>(source, prime, q, n)
                                                    : listed_limb<WordT>(source, prime, q, n);
}

backend::uniform_source random_source(std::mt19937_64& random) {
  backend::uniform_source source;
  source.rule = random() % 2 == 0 ? stream_rule::chacha20_retry : stream_rule::chacha8_spare;
  for (auto& byte : source.seed) byte = static_cast<std::uint8_t>(random());
  source.stream = static_cast<std::uint32_t>(random());
  return source;
}

template <typename WordT>
class KeyOps : public testing::Test {};
using words = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(KeyOps, words);

/// The prime above 2^`bits` that is nearest: almost half of all candidates fail.
std::uint64_t prime_above(unsigned bits, std::uint64_t two_n) {
  std::uint64_t q = (std::uint64_t{1} << bits) + 1;
  const auto divides = [&](std::uint64_t d) { return q % d == 0; };
  const auto composite = [&] {
    for (std::uint64_t d = 3; d * d <= q; d += 2) {
      if (divides(d)) return true;
    }
    return false;
  };
  while (composite()) q += two_n;
  return q;
}

TYPED_TEST(KeyOps, SampleUniformMatchesItsDefinition) {
  ASSERT_GE(sodium_init(), 0);
  for (const unsigned log_n : {4U, 5U, 6U, 7U, 8U, 9U, 12U, 14U}) {
    host_ring<TypeParam> host(log_n);
    host.primes.push_back(prime_above(sizeof(TypeParam) == 4 ? 22 : 34, 2 * host.n()));
    const window w{1, host.all().count - 1};
    std::mt19937_64 random(test_seed() + log_n);
    auto first = random_source(random), second = random_source(random);
    first.rule = log_n % 2 == 0 ? stream_rule::chacha20_retry : stream_rule::chacha8_spare;
    second.rule = log_n % 2 == 1 ? stream_rule::chacha20_retry : stream_rule::chacha8_spare;
    limbs<TypeParam> expected, expected_second;
    for (std::uint32_t p = w.first; p < w.end(); ++p) {
      expected.push_back(reference_limb<TypeParam>(first, p, host.primes[p], host.n()));
      expected_second.push_back(reference_limb<TypeParam>(second, p, host.primes[p], host.n()));
    }
    for (const device_under_test& dut : devices_under_test()) {
      if (dut.name == "scalar" && log_n > 12) continue;  // a block per word takes seconds
      SCOPED_TRACE(testing::Message() << dut.name << ", N = 2^" << log_n);
      device_ring<TypeParam> ring(host, *dut.device);
      const limb_view a = ring.poisoned(w), b = ring.poisoned(w);
      ring.device().sample_uniform(ring.tables(), std::vector<backend::uniform_job>{{a, first}, {b, second}});
      ASSERT_EQ(ring.read(a), expected);
      ASSERT_EQ(ring.read(b), expected_second);
      ASSERT_TRUE(ring.guards_intact(a) && ring.guards_intact(b));
    }
  }
}

/// A limb depends on its prime alone, not on those beside it, and that of a smaller ring is the beginning of
/// that of a larger one.
TYPED_TEST(KeyOps, PartsOfSeededPolynomialsAgreeWithTheWhole) {
  const host_ring<TypeParam> host(12);
  for (const stream_rule rule : {stream_rule::chacha20_retry, stream_rule::chacha8_spare}) {
    std::mt19937_64 random(test_seed());
    auto source = random_source(random);
    source.rule = rule;
    for (const device_under_test& dut : devices_under_test()) {
      SCOPED_TRACE(testing::Message() << dut.name << ", rule " << static_cast<unsigned>(rule));
      device_ring<TypeParam> ring(host, *dut.device);
      const limb_view whole = ring.poisoned(host.all());
      ring.device().sample_uniform(ring.tables(), std::vector<backend::uniform_job>{{whole, source}});
      const auto limb_of = ring.read(whole);
      for (const unsigned log_n : {4U, 5U, 7U, 8U, 10U}) {
        host_ring<TypeParam> less(log_n);
        less.primes = host.primes;
        device_ring<TypeParam> small(less, *dut.device);
        const window w{2, 4};
        const limb_view part = small.poisoned(w);
        small.device().sample_uniform(small.tables(), std::vector<backend::uniform_job>{{part, source}});
        const auto found = small.read(part);
        for (std::uint32_t i = 0; i < w.count; ++i) {
          const auto& from = limb_of[w.first + i];
          ASSERT_EQ(found[i], std::vector<TypeParam>(from.begin(), from.begin() + found[i].size()));
        }
        ASSERT_TRUE(small.guards_intact(part));
      }
    }
  }
}

/// Digits of a key switch on the host; every third one is seeded.
template <typename WordT>
struct host_digits {
  std::vector<limbs<WordT>> digit, b, a;
  std::vector<backend::uniform_source> sources;

  [[nodiscard]] static bool seeded(std::size_t t) { return t % 3 == 1; }

  host_digits(const host_ring<WordT>& host, window w, std::size_t terms, std::mt19937_64& random) {
    for (std::size_t t = 0; t < terms; ++t) {
      digit.push_back(t == 0 ? map_limbs(host, w, [](auto q) { return q - 1; })
                             : random_limbs(host, w, random));
      b.push_back(random_limbs(host, host.all(), random));
      a.push_back(random_limbs(host, host.all(), random));
      sources.push_back(random_source(random));
      if (!seeded(t)) continue;
      for (std::uint32_t p = w.first; p < w.end(); ++p) {
        a[t][p] = reference_limb<WordT>(sources[t], p, host.primes[p], host.n());
      }
    }
  }

  /// sum_t digit_t key_t 2^-w mod q, plus `before`.
  [[nodiscard]] limbs<WordT> sum(const host_ring<WordT>& host, window w, const std::vector<limbs<WordT>>& key,
                                 limbs<WordT> before) const {
    for (std::size_t i = 0; i < w.count; ++i) {
      const std::uint64_t q = host.primes[w.first + i];
      const std::uint64_t inverse = naive_pow(naive_pow(2, 8 * sizeof(WordT), q), q - 2, q);
      for (std::size_t j = 0; j < host.n(); ++j) {
        std::uint64_t z = 0;
        for (std::size_t t = 0; t < digit.size(); ++t) {
          z = (z + naive_mul(digit[t][i][j], key[t][w.first + i][j], q)) % q;
        }
        before[i][j] = static_cast<WordT>((before[i][j] + naive_mul(z, inverse, q)) % q);
      }
    }
    return before;
  }
};

template <typename WordT>
void check_key_multiply(const host_ring<WordT>& host, window w, std::size_t terms) {
  std::mt19937_64 random(test_seed() + terms);
  const host_digits<WordT> data(host, w, terms, random);
  const auto zero = map_limbs(host, w, [](auto) { return 0; });
  const auto before0 = random_limbs(host, w, random), before1 = random_limbs(host, w, random);
  for (const device_under_test& dut : devices_under_test()) {
    SCOPED_TRACE(testing::Message() << dut.name << ", N = 2^" << host.log_n << ", " << terms << " digits");
    device_ring<WordT> ring(host, *dut.device);
    backend::key_job set{ring.poisoned(w), ring.poisoned(w), {}, false};
    backend::key_job added{ring.filled(w, before0), ring.filled(w, before1), {}, true};
    backend::key_job plus{ring.poisoned(w), ring.poisoned(w), {}, false};
    plus.plus0 = ring.filled(w, before0);
    for (std::uint32_t i = 0; i < w.count; ++i) plus.factors.push_back(i + 5);
    for (std::size_t t = 0; t < terms; ++t) {
      const auto key_buffer = [&](const limbs<WordT>& key) {
        std::vector<WordT> joined;
        for (const auto& limb : key) joined.insert(joined.end(), limb.begin(), limb.end());
        return &ring.keep(joined);
      };
      set.digits.push_back({ring.filled(w, data.digit[t]), key_buffer(data.b[t]),
                            data.seeded(t) ? nullptr : key_buffer(data.a[t]), data.sources[t]});
    }
    added.digits = set.digits;
    plus.digits = set.digits;
    ring.device().key_multiply_accumulate(ring.tables(), std::vector<backend::key_job>{set, added, plus});
    auto scaled = before0;
    for (std::uint32_t i = 0; i < w.count; ++i) {
      for (WordT& x : scaled[i]) {
        x = static_cast<WordT>(naive_mul(x, plus.factors[i], host.primes[w.first + i]));
      }
    }
    ASSERT_EQ(ring.read(plus.dst0), data.sum(host, w, data.b, scaled));
    ASSERT_EQ(ring.read(plus.dst1), data.sum(host, w, data.a, zero));
    ASSERT_EQ(ring.read(set.dst0), data.sum(host, w, data.b, zero));
    ASSERT_EQ(ring.read(set.dst1), data.sum(host, w, data.a, zero));
    ASSERT_EQ(ring.read(added.dst0), data.sum(host, w, data.b, before0));
    ASSERT_EQ(ring.read(added.dst1), data.sum(host, w, data.a, before1));
    ASSERT_TRUE(ring.guards_intact(set.dst0) && ring.guards_intact(set.dst1));
  }
}

/// sum[permutation[j]], from the definition: point j is at psi^(2 bitrev(j) + 1).
template <typename WordT>
limbs<WordT> turned(const limbs<WordT>& sum, std::uint64_t galois, unsigned log_n) {
  const auto mirror = [&](std::uint64_t x) {
    std::uint64_t y = 0;
    for (unsigned i = 0; i < log_n; ++i) y = 2 * y + (x >> i) % 2;
    return y;
  };
  auto result = sum;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    for (std::size_t j = 0; j < sum[i].size(); ++j) {
      const std::uint64_t exponent = galois * (2 * mirror(j) + 1) % (2 * sum[i].size());
      result[i][j] = sum[i][mirror(exponent / 2)];
    }
  }
  return result;
}

template <typename WordT>
limbs<WordT> sum_of(const host_ring<WordT>& host, window w, const limbs<WordT>& x, const limbs<WordT>& y) {
  return map_limbs(
      host, w, [](auto q, auto a, auto b) { return (a + b) % q; }, x, y);
}

/// An automorphism of the sums, with and without addends and what dst held, beside a job without one.
template <typename WordT>
void check_turned(const host_ring<WordT>& host, window w, std::size_t terms, bool with_seeds) {
  std::mt19937_64 random(test_seed() + 31 * terms + host.log_n);
  const host_digits<WordT> data(host, w, terms, random);
  const auto zero = map_limbs(host, w, [](auto) { return 0; });
  const auto before0 = random_limbs(host, w, random), before1 = random_limbs(host, w, random);
  const auto addend = random_limbs(host, w, random);
  const std::uint64_t galois = random() % (2 * host.n()) | 1, other = random() % (2 * host.n()) | 1;
  for (const device_under_test& dut : devices_under_test()) {
    SCOPED_TRACE(testing::Message() << dut.name << ", N = 2^" << host.log_n << ", " << terms << " digits, X^"
                                    << galois << ", X^" << other);
    device_ring<WordT> ring(host, *dut.device);
    const auto table = [&](std::uint64_t element) {
      return &ring.keep(ring::automorphism_permutation(element, host.log_n));
    };
    std::vector<backend::key_digit> digits;
    for (std::size_t t = 0; t < terms; ++t) {
      // Some keys leave out their first primes.
      const auto left_out = static_cast<std::uint32_t>(t % (w.first + 1));
      const auto key_buffer = [&](const limbs<WordT>& key) {
        std::vector<WordT> joined;
        for (auto limb = key.begin() + left_out; limb != key.end(); ++limb) {
          joined.insert(joined.end(), limb->begin(), limb->end());
        }
        return &ring.keep(joined);
      };
      digits.push_back({ring.filled(w, data.digit[t]), key_buffer(data.b[t]),
                        with_seeds && data.seeded(t) ? nullptr : key_buffer(data.a[t]), data.sources[t],
                        left_out});
    }
    backend::key_job turned_job{ring.poisoned(w), ring.poisoned(w), digits};
    turned_job.permutation = table(galois);
    backend::key_job all{ring.filled(w, before0), ring.filled(w, before1), digits, true};
    all.permutation = table(other);
    all.plus1 = ring.filled(w, addend);
    all.factors.assign(w.count, 1);
    const backend::key_job plain{ring.poisoned(w), ring.poisoned(w), digits};
    ring.device().key_multiply_accumulate(ring.tables(),
                                          std::vector<backend::key_job>{turned_job, plain, all});
    const auto sum0 = data.sum(host, w, data.b, zero), sum1 = data.sum(host, w, data.a, zero);
    ASSERT_EQ(ring.read(plain.dst0), sum0);
    ASSERT_EQ(ring.read(plain.dst1), sum1);
    ASSERT_EQ(ring.read(turned_job.dst0), turned(sum0, galois, host.log_n));
    ASSERT_EQ(ring.read(turned_job.dst1), turned(sum1, galois, host.log_n));
    ASSERT_EQ(ring.read(all.dst0), sum_of(host, w, before0, turned(sum0, other, host.log_n)));
    const auto with_addend = sum_of(host, w, sum1, addend);
    ASSERT_EQ(ring.read(all.dst1), sum_of(host, w, before1, turned(with_addend, other, host.log_n)));
    ASSERT_TRUE(ring.guards_intact(turned_job.dst0) && ring.guards_intact(all.dst1));
  }
}

/// Jobs that each have keys of their own, and several sums with an automorphism each: dst is what it held,
/// where it is added to, plus all of them; the addend is part of every sum, but for some with one of their
/// own.
template <typename WordT>
void check_sums(const host_ring<WordT>& host, window w, std::size_t jobs, std::size_t sums) {
  std::mt19937_64 random(test_seed() + 7 * jobs + 131 * sums + host.log_n);
  const auto zero = map_limbs(host, w, [](auto) { return 0; });
  const auto before = random_limbs(host, w, random), addend = random_limbs(host, w, random),
             own = random_limbs(host, w, random);
  std::vector<host_digits<WordT>> keys;
  std::vector<std::uint64_t> elements;
  for (std::size_t i = 0; i < jobs * sums; ++i) {
    keys.emplace_back(host, w, 1 + i % 3, random);
    elements.push_back(i % 5 == 4 ? 1 : random() % (2 * host.n()) | 1);
  }
  for (const device_under_test& dut : devices_under_test()) {
    SCOPED_TRACE(testing::Message() << dut.name << ", N = 2^" << host.log_n << ", " << jobs << " jobs");
    device_ring<WordT> ring(host, *dut.device);
    const auto part_of = [&](std::size_t i) {
      const auto buffer = [&](const limbs<WordT>& key) { return keep_key(ring, key); };
      backend::key_part part;
      for (std::size_t t = 0; t < keys[i].digit.size(); ++t) {
        part.digits.push_back({ring.filled(w, keys[i].digit[t]), buffer(keys[i].b[t]),
                               keys[i].seeded(t) ? nullptr : buffer(keys[i].a[t]), keys[i].sources[t]});
      }
      if (elements[i] != 1)
        part.permutation = &ring.keep(ring::automorphism_permutation(elements[i], host.log_n));
      return part;
    };
    std::vector<backend::key_job> list;
    for (std::size_t j = 0; j < jobs; ++j) {
      backend::key_part first = part_of(j * sums);
      list.push_back({ring.filled(w, before), ring.filled(w, before), first.digits, j % 2 == 1});
      list[j].permutation = first.permutation;
      for (std::size_t k = 1; k < sums; ++k) {
        list[j].more.push_back(part_of(j * sums + k));
        if (k % 3 == 2) list[j].more.back().plus0 = ring.filled(w, own);
      }
      if (j % 3 != 2) list[j].factors.assign(w.count, 1);
      if (j % 3 == 0) list[j].plus0 = ring.filled(w, addend);
      if (j % 3 == 1) list[j].plus1 = ring.filled(w, addend);
    }
    ring.device().key_multiply_accumulate(ring.tables(), list);
    for (std::size_t j = 0; j < jobs; ++j) {
      auto sum0 = j % 2 == 1 ? before : zero, sum1 = sum0;
      for (std::size_t i = j * sums; i < (j + 1) * sums; ++i) {
        const bool has_own = i % sums % 3 == 2;
        const auto b = keys[i].sum(host, w, keys[i].b,
                                   j % 3 == 2   ? zero
                                   : has_own    ? own
                                   : j % 3 == 0 ? addend
                                                : zero);
        const auto a = keys[i].sum(host, w, keys[i].a, j % 3 == 1 && !has_own ? addend : zero);
        sum0 = sum_of(host, w, sum0, turned(b, elements[i], host.log_n));
        sum1 = sum_of(host, w, sum1, turned(a, elements[i], host.log_n));
      }
      ASSERT_EQ(ring.read(list[j].dst0), sum0) << "job " << j;
      ASSERT_EQ(ring.read(list[j].dst1), sum1) << "job " << j;
      ASSERT_TRUE(ring.guards_intact(list[j].dst0) && ring.guards_intact(list[j].dst1));
    }
  }
}

TYPED_TEST(KeyOps, ManyKeysInOneCall) {
  ASSERT_GE(sodium_init(), 0);
  for (const unsigned log_n : {4U, 7U}) check_sums(host_ring<TypeParam>(log_n), {1, 2}, 70, 1);
  for (const unsigned log_n : {4U, 5U, 8U, 11U}) check_sums(host_ring<TypeParam>(log_n), {2, 3}, 6, 4);
  check_sums(host_ring<TypeParam>(5), {1, 2}, 3, 80);
}

TYPED_TEST(KeyOps, AutomorphismOfAKeyProduct) {
  ASSERT_GE(sodium_init(), 0);
  for (const unsigned log_n : {4U, 5U, 8U, 12U}) {
    const host_ring<TypeParam> host(log_n);
    for (const std::size_t terms : {1U, 3U, 5U}) {
      check_turned(host, {2, 3}, terms, false);
      if (log_n < 12) check_turned(host, {2, 3}, terms, true);
    }
  }
  check_turned(host_ring<TypeParam>(6), {1, 2}, 37, true);
  check_turned(host_ring<TypeParam>(15), {1, 1}, 2, false);
}

TYPED_TEST(KeyOps, KeyMultiplyAccumulate) {
  ASSERT_GE(sodium_init(), 0);
  for (const unsigned log_n : {4U, 6U, 7U, 9U}) {
    const host_ring<TypeParam> host(log_n);
    for (const std::size_t terms : {1U, 2U, 4U, 11U, 13U}) check_key_multiply(host, {2, 3}, terms);
  }
  check_key_multiply(host_ring<TypeParam>(14), {1, 1}, 2);
}

}  // namespace
