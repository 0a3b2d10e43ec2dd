// SPDX-License-Identifier: Apache-2.0
#include "halocline/seal/client.hpp"

#include <sodium.h>

#include <algorithm>
#include <cstddef>

#include "halocline/arith/arith.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/ring/automorphism.hpp"
#include "halocline/seal/evaluator.hpp"

namespace halocline::seal {
namespace {

using wide_modulus = arith::modulus<std::uint64_t>;

constexpr double error_stddev = 3.2;

/// Words that are zeroed when they go.
template <typename WordT>
struct wiped {
  std::vector<WordT> words;

  explicit wiped(std::size_t count) : words(count) {}
  wiped(const wiped&) = delete;
  wiped& operator=(const wiped&) = delete;
  ~wiped() { sodium_memzero(words.data(), words.size() * sizeof(WordT)); }
};

/// Number of limbs in words of a ring.
std::uint32_t limbs_of(const context& of, std::span<const std::uint64_t> words, std::size_t least,
                       const char* what) {
  const std::size_t n = of.tables().n(), count = words.size() / n;
  HALOCLINE_EXPECTS(words.size() % n == 0 && count >= least && count <= of.tables().primes.size(),
                    invalid_argument, what, ": ", words.size(), " words; expected ", least, " to ",
                    of.tables().primes.size(), " limbs of ", n);
  return static_cast<std::uint32_t>(count);
}

}  // namespace

void client::transform(std::span<std::uint64_t> words, bool forward) {
  const std::uint32_t primes = limbs_of(*ctx_, words, 1, "transform");
  const polynomials data(*ctx_, 1, primes, memory::object_class::scratch, "seal.transform", true);
  ctx_->device().upload(data.data(), 0, std::as_bytes(words));
  const backend::unary_job job{data.part(0), data.part(0)};
  forward ? ctx_->device().ntt(ctx_->tables(), {&job, 1}) : ctx_->device().intt(ctx_->tables(), {&job, 1});
  ctx_->device().download(std::as_writable_bytes(words), data.data(), 0);
}

void client::to_ntt(std::span<std::uint64_t> words) { transform(words, true); }
void client::from_ntt(std::span<std::uint64_t> words) { transform(words, false); }

polynomials client::sample_on_device(noise kind, std::uint32_t primes) {
  const std::size_t n = ctx_->tables().n();
  wiped<std::int64_t> small(n);
  kind == noise::ternary ? ring::sample_ternary(*random_, small.words)
                         : ring::sample_gaussian(*random_, error_stddev, small.words);
  wiped<std::uint64_t> residues(n);
  polynomials made(*ctx_, 1, primes, memory::object_class::scratch, "seal.small", true);
  for (std::uint32_t i = 0; i < primes; ++i) {
    const std::uint64_t q = ctx_->prime(i);
    for (std::size_t j = 0; j < n; ++j) {
      const std::int64_t x = small.words[j];
      residues.words[j] = static_cast<std::uint64_t>(x) + (q & static_cast<std::uint64_t>(x >> 63));
    }
    ctx_->device().upload(made.data(), i * ctx_->tables().limb_bytes(),
                          std::as_bytes(std::span(residues.words)));
  }
  const backend::unary_job job{made.part(0), made.part(0)};
  ctx_->device().ntt(ctx_->tables(), {&job, 1});
  return made;
}

void client::sample(noise kind, std::uint32_t primes, std::span<std::uint64_t> to) {
  const polynomials made = sample_on_device(kind, primes);
  ctx_->device().download(std::as_writable_bytes(to), made.data(), 0);
}

void client::make_secret(std::span<std::uint64_t> to) {
  const std::uint32_t all = ctx_->chain().key_primes();
  sample(noise::ternary, limbs_of(*ctx_, to, all, "make_secret"), to);
}

void client::make_power(std::span<const std::uint64_t> secret, std::uint64_t power,
                        std::span<std::uint64_t> to) {
  const std::uint32_t primes = limbs_of(*ctx_, secret, 1, "make_power");
  HALOCLINE_EXPECTS(to.size() == secret.size(), invalid_argument, "make_power: ", to.size(),
                    " words for a key of ", secret.size());
  const std::size_t n = ctx_->tables().n();
  for (std::uint32_t i = 0; i < primes; ++i) {
    const wide_modulus q = arith::make_modulus(ctx_->prime(i));
    for (std::size_t j = i * n; j < (i + 1) * n; ++j) to[j] = arith::pow_mod(secret[j], power, q);
  }
}

void client::apply_galois(std::span<const std::uint64_t> secret, std::uint64_t element,
                          std::span<std::uint64_t> to) {
  const std::uint32_t primes = limbs_of(*ctx_, secret, 1, "apply_galois");
  HALOCLINE_EXPECTS(to.size() == secret.size(), invalid_argument, "apply_galois: ", to.size(),
                    " words for a key of ", secret.size());
  const std::size_t n = ctx_->tables().n();
  const std::vector<std::uint32_t> from = ring::automorphism_permutation(element, ctx_->tables().log_n);
  for (std::uint32_t i = 0; i < primes; ++i) {
    for (std::size_t j = 0; j < n; ++j) to[i * n + j] = secret[i * n + from[j]];
  }
}

seal_format::ciphertext client::encrypt_zero_symmetric(std::span<const std::uint64_t> secret,
                                                       std::uint32_t primes, seal_format::seed& seed) {
  (void)limbs_of(*ctx_, secret, primes, "encrypt_zero_symmetric");
  const std::size_t n = ctx_->tables().n();
  seal_format::ciphertext made;
  made.id = ctx_->chain().id(primes);
  made.size = 2;
  made.n = n;
  made.primes = primes;
  made.data.reserve(2 * primes * n);
  made.data.resize(primes * n);
  random_->fill(std::as_writable_bytes(std::span(seed.bytes)));
  seed.kind = seal_format::seed_kind::blake2xb;
  made.second = seed;
  ctx_->chain().expand(made);
  sample(noise::gaussian, primes, std::span(made.data).first(primes * n));
  for (std::uint32_t i = 0; i < primes; ++i) {
    const wide_modulus q = arith::make_modulus(ctx_->prime(i));
    for (std::size_t j = i * n; j < (i + 1) * n; ++j) {
      const std::uint64_t product = arith::mul_mod(made.data[primes * n + j], secret[j], q);
      made.data[j] = arith::negate_mod(arith::add_mod(product, made.data[j], q), q);
    }
  }
  return made;
}

seal_format::ciphertext client::make_switch_digit(std::span<const std::uint64_t> secret,
                                                  std::span<const std::uint64_t> from, std::uint32_t digit,
                                                  seal_format::seed& seed) {
  (void)limbs_of(*ctx_, from, digit + 1, "make_switch_digit");
  seal_format::ciphertext made = encrypt_zero_symmetric(secret, ctx_->chain().key_primes(), seed);
  const std::size_t n = ctx_->tables().n();
  const wide_modulus q = arith::make_modulus(ctx_->prime(digit));
  const std::uint64_t factor = ctx_->prime(ctx_->special()) % q.value;
  const std::uint64_t quotient = arith::shoup_quotient(factor, q);
  for (std::size_t j = digit * n; j < (digit + 1) * n; ++j) {
    made.data[j] = arith::add_mod(made.data[j], arith::mul_shoup(from[j], factor, quotient, q), q);
  }
  return made;
}

ciphertext client::encrypt_zero(const polynomials& key, std::uint32_t primes) {
  HALOCLINE_EXPECTS(key.is_of(*ctx_) && key.size() == 2 && key.primes() == ctx_->chain().key_primes() &&
                        primes >= 1 && primes <= ctx_->chain().data_primes(),
                    invalid_argument, "encrypt_zero: a public key of ", key.size(), " polynomials modulo ",
                    key.primes(), " primes, and ", primes, " primes wanted; expected a key of this context");
  const std::uint32_t used = std::min(primes + 1, key.primes());
  const arith::window window{0, used};
  const polynomials mask = sample_on_device(noise::ternary, used);
  ciphertext made{polynomials(*ctx_, 2, used, memory::object_class::ciphertext, "ciphertext"), 1.0};
  for (std::uint32_t i = 0; i < 2; ++i) {
    const polynomials error = sample_on_device(noise::gaussian, used);
    const backend::binary_job product{made.parts.part(i), key.part(i).slice(window), mask.part(0)};
    const backend::binary_job sum{made.parts.part(i), made.parts.part(i), error.part(0)};
    ctx_->device().multiply(ctx_->tables(), {&product, 1});
    ctx_->device().add(ctx_->tables(), {&sum, 1});
  }
  if (used == primes) return made;
  ciphertext divided = evaluator(*ctx_).rescale_to_next(made);
  divided.scale = 1.0;
  return divided;
}

void client::decrypt(std::span<const std::uint64_t> words, std::uint32_t size, std::uint32_t primes,
                     std::span<const std::uint64_t> secret, std::span<std::uint64_t> to) {
  const std::size_t n = ctx_->tables().n(), part = primes * n;
  (void)limbs_of(*ctx_, secret, primes, "decrypt");
  HALOCLINE_EXPECTS(size >= 1 && words.size() == size * part && to.size() == part, invalid_argument,
                    "decrypt: ", words.size(), " words for ", size, " polynomials, and ", to.size(),
                    " for the message");
  std::copy_n(words.begin() + static_cast<std::ptrdiff_t>((size - 1) * part), part, to.begin());
  for (std::uint32_t i = 0; i < primes; ++i) {
    const wide_modulus q = arith::make_modulus(ctx_->prime(i));
    for (std::uint32_t k = size - 1; k-- > 0;) {
      const std::uint64_t* const from = words.data() + k * part;
      for (std::size_t j = i * n; j < (i + 1) * n; ++j) {
        to[j] = arith::add_mod(arith::mul_mod(to[j], secret[j], q), from[j], q);
      }
    }
  }
}

}  // namespace halocline::seal
