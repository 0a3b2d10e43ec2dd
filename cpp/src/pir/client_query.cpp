// SPDX-License-Identifier: Apache-2.0
// Keys and queries of a client (OnionPIRv2, ePrint 2025/1142: QueryPack, section 4.1, with the packing of
// docs/concepts/retrieval.md).
#include <algorithm>
#include <bit>

#include "client_core.hpp"
#include "halocline/arith/arith.hpp"
#include "halocline/ring/automorphism.hpp"

namespace halocline::pir {
namespace {

using backend::limb_view;
using memory::object_class;
__extension__ using uint128 = unsigned __int128;

/// The stored bits of a number in reverse order.
std::uint64_t reversed(std::uint64_t number, unsigned bits) {
  std::uint64_t result = 0;
  for (unsigned i = 0; i < bits; ++i) result |= (number >> i & 1) << (bits - 1 - i);
  return result;
}

/// s(X^(1/g)) in NTT form.
ring::poly rotated_secret(client_core& core, std::uint64_t galois_element) {
  context& ctx = core.ctx;
  const unsigned log_n = ctx.tables().log_n;
  const auto index =
      ring::automorphism_permutation(ring::inverse_galois_element(galois_element, log_n), log_n);
  const auto bytes = std::as_bytes(std::span(index));
  const memory::buffer permutation =
      ctx.runtime().allocate(bytes.size(), object_class::scratch, "retrieval.permutation");
  ctx.device().upload(permutation, 0, bytes);
  ring::poly result = core.make_poly("retrieval.rotated_secret");
  const backend::automorphism_job job{result.chain(), core.secret.chain(), &permutation};
  ctx.device().automorphism(ctx.tables(), {&job, 1});
  return result;
}

ring::poly squared_secret(client_core& core) {
  ring::poly result = core.make_poly("retrieval.squared_secret");
  const backend::binary_job job{result.chain(), core.secret.chain(), core.secret.chain()};
  core.ctx.device().multiply(core.ctx.tables(), {&job, 1});
  return result;
}

/// Makes rows one after the other; scratch is shared by all of them.
class row_maker {
 public:
  row_maker(client_core& core, server_keys_message& into)
      : core_(core),
        into_(into),
        error_(core.make_poly("retrieval.error")),
        uniform_(core.make_poly("retrieval.uniform")),
        body_(core.make_poly("retrieval.body")) {}

  /// Rows (l, k): `source` times the gadget under `target`.
  void make_rows(const limb_view& target, const limb_view& source, const gadget& split) {
    for (std::uint32_t limb = 0; limb < core_.ctx.limbs(); ++limb) {
      for (unsigned digit = 0; digit < split.digits; ++digit) {
        make_row(target, source, limb, digit * split.base_bits);
      }
    }
  }

 private:
  /// b = R (e + B^k source on limb l) - a target, where a, too, is R times that of the encryption.
  void make_row(const limb_view& target, const limb_view& source, std::uint32_t limb, unsigned shift) {
    context& ctx = core_.ctx;
    const limb_view error = error_.chain(), a = uniform_.chain(), b = body_.chain();
    core_.draw_error(error);
    backend::linear_job with_source{error, error, source, {}, {}};
    for (std::uint32_t i = 0; i < ctx.limbs(); ++i) {
      const auto q = core_.modulus_of(i);
      with_source.factor_a.push_back(q.r);
      with_source.factor_b.push_back(i == limb ? arith::mul_mod(q.r, arith::pow_mod(2U, shift, q), q) : 0);
    }
    ctx.device().linear_combine(ctx.tables(), {&with_source, 1});
    const backend::uniform_job uniform{a, {into_.seed, row_++}};
    ctx.device().sample_uniform(ctx.tables(), {&uniform, 1});
    const backend::binary_job product{b, a, target};
    ctx.device().multiply(ctx.tables(), {&product, 1});
    const backend::binary_job difference{b, error, b};
    ctx.device().sub(ctx.tables(), {&difference, 1});
    const std::size_t words = ctx.polynomial_bytes() / sizeof(std::uint32_t);
    into_.b.resize(into_.b.size() + words);
    core_.download(body_, std::span(into_.b).last(words));
  }

  client_core& core_;
  server_keys_message& into_;
  ring::poly error_, uniform_, body_;
  std::uint32_t row_ = 0;
};

/// Constants of a query and where they stand.
class packed_query {
 public:
  packed_query(const client_core& core, std::size_t limb, std::span<std::uint32_t> out)
      : out_(out),
        q_(core.modulus_of(limb)),
        depth_(core.ctx.shape().at.expansion_depth(core.ctx.shape().scheme)),
        inverse_(arith::inverse_mod(arith::pow_mod(2U, depth_, q_), q_)) {}

  [[nodiscard]] const arith::modulus<std::uint32_t>& q() const noexcept { return q_; }
  /// Puts the next constant, or 0 unless it is `wanted`: time and places depend on no secret.
  void put(std::uint32_t residue, bool wanted) {
    const auto mask = static_cast<std::uint32_t>(0) - static_cast<std::uint32_t>(wanted);
    out_[reversed(next_++, depth_)] = arith::mul_mod(residue, inverse_, q_) & mask;
  }

 private:
  std::span<std::uint32_t> out_;
  arith::modulus<std::uint32_t> q_;
  unsigned depth_;
  std::uint32_t inverse_;
  std::uint64_t next_ = 0;
};

/// round(q / t).
uint128 plaintext_step(const parameters& of) {
  uint128 product = 1;
  for (const std::uint64_t prime : of.primes()) product *= prime;
  return (product + (uint128{1} << (of.source().plain_bits - 1))) >> of.source().plain_bits;
}

/// One limb of the payload of a query: coefficient form.
void pack_limb(const client_core& core, std::size_t limb, std::uint64_t plaintext,
               std::span<std::uint32_t> out) {
  const geometry& of = core.ctx.shape();
  packed_query packed(core, limb, out);
  const std::uint64_t row = plaintext % of.at.rows, column = plaintext / of.at.rows;
  const auto step = static_cast<std::uint32_t>(plaintext_step(of.scheme) % packed.q().value);
  for (std::uint64_t r = 0; r < of.at.rows; ++r) packed.put(step, r == row);
  for (unsigned bit = 0; bit < of.at.column_bits(); ++bit) {
    for (std::size_t prime = 0; prime < core.ctx.limbs(); ++prime) {
      for (unsigned digit = 0; digit < of.at.selection.digits; ++digit) {
        const std::uint32_t base =
            arith::pow_mod(2U, std::uint64_t{digit} * of.at.selection.base_bits, packed.q());
        packed.put(prime == limb ? base : 0, (column >> bit & 1) != 0);
      }
    }
  }
}

}  // namespace

server_keys_message make_server_keys(client_core& core) {
  const geometry& of = core.ctx.shape();
  server_keys_message keys;
  keys.key_shape = key_shape_of(of);
  keys.client = core.id;
  keys.levels = of.at.expansion_depth(of.scheme);
  keys.seed = core.random.next_seed();
  row_maker maker(core, keys);
  for (std::uint32_t level = 0; level < keys.levels; ++level) {
    const ring::poly target = rotated_secret(core, (of.scheme.n() >> level) + 1);
    maker.make_rows(target.chain(), core.secret.chain(), of.at.expansion);
  }
  const ring::poly squared = squared_secret(core);
  maker.make_rows(core.secret.chain(), squared.chain(), of.at.secret);
  return keys;
}

query_message make_query(client_core& core, std::uint64_t plaintext) {
  context& ctx = core.ctx;
  const std::size_t n = ctx.tables().n();
  wiped<std::uint32_t> payload(ctx.limbs() * n);
  for (std::uint32_t limb = 0; limb < ctx.limbs(); ++limb) {
    pack_limb(core, limb, plaintext, std::span(payload.values).subspan(limb * n, n));
  }
  query_message query{fingerprint_of(ctx.shape()), core.id, core.random.next_seed(), {}};
  const ring::poly message = core.make_poly("retrieval.payload"), error = core.make_poly("retrieval.error"),
                   uniform = core.make_poly("retrieval.uniform"), body = core.make_poly("retrieval.body");
  ctx.device().upload(message.data(), 0, std::as_bytes(std::span(payload.values)));
  const backend::unary_job transform{message.chain(), message.chain()};
  ctx.device().ntt(ctx.tables(), {&transform, 1});
  core.draw_error(error.chain());
  const backend::binary_job sum{error.chain(), error.chain(), message.chain()};
  ctx.device().add(ctx.tables(), {&sum, 1});
  const backend::uniform_job draw{uniform.chain(), {query.seed, 0}};
  ctx.device().sample_uniform(ctx.tables(), {&draw, 1});
  const backend::binary_job product{body.chain(), uniform.chain(), core.secret.chain()};
  ctx.device().multiply(ctx.tables(), {&product, 1});
  const backend::binary_job difference{body.chain(), error.chain(), body.chain()};
  ctx.device().sub(ctx.tables(), {&difference, 1});
  query.c0.resize(ctx.limbs() * n);
  core.download(body, query.c0);
  return query;
}

}  // namespace halocline::pir
