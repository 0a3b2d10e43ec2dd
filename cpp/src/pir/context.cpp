// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/context.hpp"

#include <span>
#include <utility>
#include <vector>

#include "halocline/backend/table_recipe.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/memory/identity.hpp"

namespace halocline::pir {
namespace {

/// The ring of a scheme: no special primes, one digit for each prime.
ring::shape ring_of(const parameters& scheme) {
  ring::shape made;
  made.log_n = scheme.source().log_n;
  made.word_bits = 32;
  made.primes.assign(scheme.primes().begin(), scheme.primes().end());
  for (std::uint32_t i = 0; i < made.primes.size(); ++i) made.digits.push_back({i, 1});
  return made;
}

/// Writes X^-k = -X^(N - k), times 2^32, in NTT form.
void write_monomial(backend::backend& device, const backend::ring_tables& tables, std::uint32_t k,
                    const memory::buffer& to) {
  std::vector<std::uint32_t> words(tables.primes.size() * tables.n());
  for (std::size_t l = 0; l < tables.primes.size(); ++l) {
    const std::uint64_t q = tables.primes[l];
    words[l * tables.n() + tables.n() - k] = static_cast<std::uint32_t>(q - (std::uint64_t{1} << 32) % q);
  }
  device.upload(to, 0, std::as_bytes(std::span(words)));
  const backend::poly_array all{&to, 0, static_cast<std::uint32_t>(tables.primes.size())};
  const backend::array_job transform{all, all, 1};
  device.array_ntt(tables, {&transform, 1});
}

}  // namespace

context::context(geometry of, std::shared_ptr<backend::backend> device)
    : shape_(std::move(of)),
      ring_(ring_of(shape_.scheme), std::move(device)),
      point_block_(ring_.device().describe().point_block) {}

memory::buffer context::make_ciphertexts(std::size_t count, memory::object_class cls, const char* tag) {
  return runtime().allocate(2 * count * polynomial_bytes(), cls, tag);
}

backend::poly_array context::ciphertexts(const memory::buffer& data, std::uint32_t first) const noexcept {
  return {&data, 2 * first * limbs(), 2 * limbs()};
}

backend::poly_array context::component(const memory::buffer& data, unsigned which,
                                       std::uint32_t first) const noexcept {
  return {&data, (2 * first + which) * limbs(), 2 * limbs()};
}

const memory::buffer& context::monomial(unsigned level) {
  const auto found = monomials_.find(level);
  if (found != monomials_.end()) return found->second;
  HALOCLINE_EXPECTS(level >= 1 && level <= tables().log_n, invalid_argument,
                    "retrieval: no monomial for level ", level, " of an expansion; expected 1 to ",
                    tables().log_n);
  const std::uint32_t k = std::uint32_t{1} << (level - 1);
  memory::buffer table = runtime().allocate(polynomial_bytes(), memory::object_class::table, "pir.monomial");
  runtime().set_identity(table, memory::identity_of("pir.monomial", tables().log_n, level));
  write_monomial(device(), tables(), k, table);
  const auto write = [device = &device(), tables = &tables(), k](const memory::buffer& to) {
    write_monomial(*device, *tables, k, to);
  };
  runtime().set_recipe(table, std::make_shared<backend::table_recipe>(write));
  return monomials_.emplace(level, std::move(table)).first->second;
}

}  // namespace halocline::pir
