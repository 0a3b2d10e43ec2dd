// SPDX-License-Identifier: Apache-2.0
#include "halocline/params/footprint.hpp"

#include <set>

#include "halocline/arith/uniform_source.hpp"

namespace halocline::params {

namespace {

/// Bytes of a public seed (arith::seed_bytes).
constexpr std::size_t seed = sizeof(arith::seed_bytes);
/// Constants of one modulus, in words (arith::modulus: value, barrett, neg_inv, r, r2, bits).
constexpr std::size_t modulus_words = 6;

constexpr bool overlap(arith::window a, arith::window b) noexcept {
  return a.first < b.end() && b.first < a.end();
}

}  // namespace

std::size_t footprint::ciphertext(unsigned level, unsigned components) const {
  return components * plaintext(level);
}

std::size_t footprint::ciphertext_seeded(unsigned level) const { return plaintext(level) + seed; }

std::size_t footprint::plaintext(unsigned level) const {
  return params_.level(level).q.count * params_.limb_bytes();
}

std::size_t footprint::plaintext_compact() const { return 8 * params_.n(); }

unsigned footprint::key_digits(unsigned level) const {
  const unsigned chain = params_.key_limbs(level) - params_.special_count();
  return (chain + params_.digit_size() - 1) / params_.digit_size();
}

std::size_t footprint::evaluation_key(unsigned level) const {
  return std::size_t{2} * key_digits(level) * params_.key_limbs(level) * params_.limb_bytes();
}

std::size_t footprint::evaluation_key_seeded(unsigned level) const {
  return key_digits(level) * (params_.key_limbs(level) * params_.limb_bytes() + seed);
}

std::size_t footprint::encapsulation_key(unsigned level, bool seeded_half) const {
  if (!params_.encapsulation()) return 0;
  const encapsulation_info& e = *params_.encapsulation();
  const std::size_t base = params_.level(0).q.count;
  const std::size_t limbs = base * (base + e.to_sparse.count) + e.to_dense.count +
                            (params_.key_limbs(level) - params_.special_count());
  const std::size_t half = limbs * params_.limb_bytes();
  return half + (seeded_half ? (base + 1) * seed : half);
}

std::size_t footprint::key_set(std::span<const std::int64_t> rotations, bool relinearization,
                               bool conjugation, unsigned level, bool seeded) const {
  std::set<std::uint64_t> elements;
  for (const std::int64_t k : rotations) elements.insert(params_.galois_element(k));
  elements.erase(1);
  const std::size_t keys = elements.size() + (relinearization ? 1 : 0) + (conjugation ? 1 : 0);
  return keys * (seeded ? evaluation_key_seeded(level) : evaluation_key(level));
}

std::size_t footprint::public_key() const {
  return std::size_t{2} * (params_.prime_count() - params_.special_count()) * params_.limb_bytes();
}

std::size_t footprint::secret_key() const {
  return 8 * params_.n() + params_.prime_count() * params_.limb_bytes();
}

std::size_t footprint::ring_tables() const {
  return params_.prime_count() * (4 * params_.limb_bytes() + modulus_words * params_.word_bytes());
}

std::size_t footprint::permutation() const { return 4 * params_.n(); }

unsigned footprint::active_digits(unsigned level) const {
  const arith::window q = params_.level(level).q;
  unsigned count = 0;
  for (unsigned j = 0; j < params_.digit_count(); ++j) count += overlap(params_.digit(j), q) ? 1 : 0;
  return count;
}

std::size_t footprint::key_switch_workspace(unsigned level) const {
  const std::size_t limbs = params_.level(level).q.count;
  const std::size_t extended = limbs + params_.special_count();
  return (limbs + (active_digits(level) + std::size_t{2}) * extended) * params_.limb_bytes();
}

}  // namespace halocline::params
