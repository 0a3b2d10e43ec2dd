// SPDX-License-Identifier: Apache-2.0
#include "halocline/seal/objects.hpp"

#include <span>
#include <utility>

#include "halocline/arith/arith.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::seal {
namespace {

void upload(context& to, const polynomials& made, std::span<const std::uint64_t> words) {
  to.device().upload(made.data(), 0, std::as_bytes(words));
}

std::vector<std::uint64_t> download(context& of, const polynomials& from) {
  std::vector<std::uint64_t> words(from.data().size() / sizeof(std::uint64_t));
  store_words(of, from, words);
  return words;
}

/// One polynomial of a key, multiplied by 2^64, as kernels want it.
polynomials load_half(context& to, std::span<const std::uint64_t> words) {
  polynomials made(to, 1, to.chain().key_primes(), memory::object_class::evaluation_key, "seal.key");
  upload(to, made, words);
  backend::scalar_job job{made.part(0), made.part(0), {}};
  for (const std::uint64_t prime : to.tables().primes) {
    const std::uint64_t r = arith::make_modulus(prime).r;
    job.scalars.push_back({r, r});
  }
  to.device().scalar_multiply(to.tables(), {&job, 1});
  return made;
}

switch_digit load_digit(context& to, const seal_format::ciphertext& from) {
  if (from.second) {
    seal_format::ciphertext whole = from;
    to.chain().expand(whole);
    return load_digit(to, whole);
  }
  return seal::load_digit(to, from.data);
}

switch_key_set load_keys(context& to, const seal_format::switch_keys& from, bool galois) {
  to.chain().check(from, galois);
  switch_key_set made;
  for (std::size_t i = 0; i < from.keys.size(); ++i) {
    if (from.keys[i].empty()) continue;
    switch_key& key = made.keys[galois ? 2 * i + 1 : i];
    for (const seal_format::ciphertext& digit : from.keys[i]) key.push_back(load_digit(to, digit));
  }
  return made;
}

/// Polynomial i from stream `first + i`.
void fill_uniform(context& on, const polynomials& to, std::uint32_t seed, std::uint32_t first) {
  backend::uniform_source source;
  for (unsigned i = 0; i < 4; ++i) source.seed[i] = static_cast<std::uint8_t>(seed >> (8 * i));
  std::vector<backend::uniform_job> jobs;
  for (std::uint32_t i = 0; i < to.size(); ++i) {
    source.stream = first + i;
    jobs.push_back({to.part(i), source});
  }
  on.device().sample_uniform(on.tables(), jobs);
}

}  // namespace

polynomials::polynomials(context& of, std::uint32_t size, std::uint32_t primes, memory::object_class cls,
                         const char* tag, bool wipe)
    : home_(of.ring().home()),
      data_(of.runtime().allocate(std::size_t{size} * primes * of.tables().limb_bytes(), cls, tag, wipe)),
      size_(size),
      primes_(primes) {}

bool polynomials::is_of(const context& other) const noexcept {
  return data_.owner() == &other.runtime() && home_.get() != nullptr;
}

ciphertext load(context& to, const seal_format::ciphertext& from) {
  to.chain().check(from);
  polynomials parts(to, static_cast<std::uint32_t>(from.size), static_cast<std::uint32_t>(from.primes),
                    memory::object_class::ciphertext, "ciphertext");
  if (from.second) {
    seal_format::ciphertext whole = from;
    to.chain().expand(whole);
    upload(to, parts, whole.data);
  } else {
    upload(to, parts, from.data);
  }
  return {std::move(parts), from.scale};
}

plaintext load(context& to, const seal_format::plaintext& from) {
  to.chain().check(from);
  polynomials part(to, 1, to.chain().primes_of(from.id), memory::object_class::plaintext, "plaintext");
  upload(to, part, from.data);
  return {std::move(part), from.scale};
}

switch_key_set load_relin_keys(context& to, const seal_format::switch_keys& from) {
  return load_keys(to, from, false);
}

switch_key_set load_galois_keys(context& to, const seal_format::switch_keys& from) {
  return load_keys(to, from, true);
}

ciphertext uniform_ciphertext(context& on, std::uint32_t size, std::uint32_t primes, double scale,
                              std::uint32_t seed) {
  HALOCLINE_EXPECTS(size >= 2 && size <= seal_format::max_ciphertext_size && primes >= 1 &&
                        primes <= on.chain().data_primes(),
                    invalid_argument, "uniform_ciphertext: ", size, " polynomials of ", primes,
                    " primes; expected 2 to ", seal_format::max_ciphertext_size, " of 1 to ",
                    on.chain().data_primes());
  ciphertext made{polynomials(on, size, primes, memory::object_class::ciphertext, "ciphertext"), scale};
  fill_uniform(on, made.parts, seed, 0);
  return made;
}

switch_key_set uniform_keys(context& on, const std::vector<std::uint64_t>& indices, std::uint32_t seed) {
  switch_key_set made;
  std::uint32_t stream = 0;
  const auto half = [&] {
    polynomials of(on, 1, on.chain().key_primes(), memory::object_class::evaluation_key, "seal.key");
    fill_uniform(on, of, seed, stream++);
    return of;
  };
  for (const std::uint64_t index : indices) {
    switch_key& key = made.keys[index];
    for (std::uint32_t i = 0; i < on.chain().data_primes(); ++i) {
      polynomials b = half();
      key.push_back({std::move(b), half()});
    }
  }
  return made;
}

seal_format::ciphertext store(context& of, const ciphertext& from) {
  HALOCLINE_EXPECTS(from.parts.is_of(of), invalid_argument,
                    "SEAL ciphertext: it is of another engine; use that one");
  seal_format::ciphertext made;
  made.id = of.chain().id(from.parts.primes());
  made.size = from.parts.size();
  made.n = of.tables().n();
  made.primes = from.parts.primes();
  made.scale = from.scale;
  made.data = download(of, from.parts);
  return made;
}

seal_format::plaintext store(context& of, const plaintext& from) {
  HALOCLINE_EXPECTS(from.part.is_of(of), invalid_argument,
                    "SEAL plaintext: it is of another engine; use that one");
  seal_format::plaintext made;
  made.id = of.chain().id(from.part.primes());
  made.scale = from.scale;
  made.data = download(of, from.part);
  made.coefficients = made.data.size();
  return made;
}

polynomials load_words(context& to, std::span<const std::uint64_t> words, std::uint32_t size,
                       std::uint32_t primes, memory::object_class cls, const char* tag) {
  HALOCLINE_EXPECTS(size >= 1 && primes >= 1 && primes <= to.chain().key_primes() &&
                        words.size() == std::size_t{size} * primes * to.tables().n(),
                    invalid_argument, "SEAL object: ", words.size(), " words; expected ", size, " times ",
                    primes, " limbs of ", to.tables().n());
  polynomials made(to, size, primes, cls, tag);
  upload(to, made, words);
  return made;
}

void store_words(context& of, const polynomials& from, std::span<std::uint64_t> to) {
  HALOCLINE_EXPECTS(from.is_of(of) && to.size_bytes() == from.data().size(), invalid_argument,
                    "SEAL object: ", to.size(), " words for ", from.data().size() / sizeof(std::uint64_t),
                    ", or an object of another engine");
  of.device().download(std::as_writable_bytes(to), from.data(), 0);
}

switch_digit load_digit(context& to, std::span<const std::uint64_t> words) {
  const std::size_t half = to.chain().key_primes() * to.tables().n();
  HALOCLINE_EXPECTS(words.size() == 2 * half, invalid_argument, "SEAL key: ", words.size(),
                    " words; expected ", 2 * half);
  return {load_half(to, words.first(half)), load_half(to, words.subspan(half))};
}

}  // namespace halocline::seal
