// SPDX-License-Identifier: Apache-2.0
// Answers to plaintexts. Everything that depends on the secret takes the same steps for all values.
#include <algorithm>
#include <vector>

#include "bit_packing.hpp"
#include "client_core.hpp"
#include "halocline/arith/arith.hpp"

namespace halocline::pir {
namespace {

/// Integers modulo 2^64 from residues of integers of magnitude at most q / 4: mixed radix digits (Garner),
/// from the first prime on; the last digit shows the sign.
class centred_lift {
 public:
  explicit centred_lift(const client_core& core) : n_(core.ctx.tables().n()) {
    for (std::uint32_t i = 0; i < core.ctx.limbs(); ++i) {
      moduli_.push_back(core.modulus_of(i));
      products_.push_back(i == 0 ? 1 : products_.back() * moduli_[i - 1].value);
      std::uint32_t product = 1;
      for (std::uint32_t k = 0; k < i; ++k) {
        product = arith::mul_mod(product, reduced(moduli_[k].value, i), moduli_[i]);
      }
      inverses_.push_back(arith::inverse_mod(product, moduli_[i]));
    }
    whole_ = products_.back() * moduli_.back().value;
  }

  [[nodiscard]] std::uint64_t operator()(std::span<const std::uint32_t> residues, std::size_t j) const {
    std::uint32_t digits[4] = {};
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < moduli_.size(); ++i) {
      const auto& q = moduli_[i];
      std::uint32_t known = 0;  // what the digits so far are modulo q, by Horner's rule
      for (std::size_t k = i; k-- > 0;) {
        known = arith::mul_mod(known, reduced(moduli_[k].value, i), q);
        known = arith::add_mod(known, reduced(digits[k], i), q);
      }
      digits[i] = arith::mul_mod(arith::sub_mod(residues[i * n_ + j], known, q), inverses_[i], q);
      value += digits[i] * products_[i];
    }
    const std::uint64_t half = moduli_.back().value / 2;
    const std::uint64_t negative = (half - digits[moduli_.size() - 1]) >> 63;
    return value - whole_ * negative;
  }

 private:
  /// x modulo prime i.
  [[nodiscard]] std::uint32_t reduced(std::uint32_t x, std::size_t i) const {
    return arith::reduce<std::uint32_t>(x, moduli_[i]);
  }

  std::size_t n_;
  std::vector<arith::modulus<std::uint32_t>> moduli_;
  std::vector<std::uint64_t> products_;  ///< of the primes before, modulo 2^64
  std::vector<std::uint32_t> inverses_;  ///< of these modulo the prime
  std::uint64_t whole_ = 0;              ///< q modulo 2^64
};

/// Bits of a factor whose product with a ternary polynomial has a magnitude of at most q / 4.
unsigned piece_bits(const context& ctx) {
  return static_cast<unsigned>(ctx.shape().scheme.log2_q()) - 2 - ctx.tables().log_n;
}

/// Products of polynomials with the secret.
class secret_product {
 public:
  explicit secret_product(client_core& core)
      : core_(core),
        lift_(core),
        product_(core.make_poly("retrieval.product")),
        residues_(core.ctx.limbs() * core.ctx.tables().n()) {}

  /// out = words * s modulo 2^64, exact in the lower `bits` bits. Words are split, so that products of the
  /// pieces are known from their residues.
  void multiply(std::span<const std::uint64_t> words, unsigned bits, std::span<std::uint64_t> out) {
    const unsigned width = piece_bits(core_.ctx);
    std::ranges::fill(out, 0);
    ring::small_coefficients piece(words.size());
    for (unsigned shift = 0; shift < bits; shift += width) {
      const std::uint64_t mask = (std::uint64_t{1} << std::min(width, 63U)) - 1;
      std::ranges::transform(words, piece.values().begin(), [shift, mask](std::uint64_t word) {
        return static_cast<std::int64_t>(word >> shift & mask);
      });
      multiply_piece(piece);
      for (std::size_t j = 0; j < out.size(); ++j) out[j] += lift_(residues_.values, j) << shift;
    }
  }

 private:
  void multiply_piece(ring::small_coefficients& piece) {
    context& ctx = core_.ctx;
    const memory::buffer uploaded = ring::upload_small(ctx.ring(), piece, "retrieval.answer");
    const backend::limb_view view = product_.chain();
    ring::expand_small(ctx.ring(), uploaded, {&view, 1});
    const backend::binary_job product{view, view, core_.secret.chain()};
    ctx.device().multiply(ctx.tables(), {&product, 1});
    const backend::unary_job back{view, view};
    ctx.device().intt(ctx.tables(), {&back, 1});
    core_.download(product_, residues_.values);
  }

  client_core& core_;
  centred_lift lift_;
  ring::poly product_;
  wiped<std::uint32_t> residues_;
};

}  // namespace

void decode_planes(client_core& core, const answer_message& answer, std::span<std::byte> out) {
  const geometry& of = core.ctx.shape();
  const std::size_t n = of.scheme.n();
  const unsigned plain_bits = of.scheme.source().plain_bits;
  const unsigned up0 = 64 - of.at.answer_bits0, up1 = 64 - of.at.answer_bits1;
  secret_product product(core);
  wiped<std::uint64_t> phase(n);
  for (std::size_t plane = 0; plane < of.planes(); ++plane) {
    const auto words = std::span(answer.words).subspan(plane * 2 * n, 2 * n);
    product.multiply(words.last(n), of.at.answer_bits1, phase.values);
    for (std::size_t j = 0; j < n; ++j) {
      // The phase in units of 2^-64, where overflow drops whole numbers; then times t, rounded.
      const std::uint64_t fraction = (words[j] << up0) + (phase.values[j] << up1);
      phase.values[j] = (fraction + (std::uint64_t{1} << (63 - plain_bits))) >> (64 - plain_bits);
    }
    const std::size_t bytes = of.scheme.plaintext_bytes();
    pack_bits(std::span<const std::uint64_t>(phase.values), plain_bits,
              out.subspan(plane * bytes, bytes).data());
  }
}

}  // namespace halocline::pir
