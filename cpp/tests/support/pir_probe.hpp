// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "halocline/arith/arith.hpp"
#include "halocline/pir/client.hpp"
#include "halocline/ring/automorphism.hpp"
#include "pir/client_core.hpp"

/// Looks into a client of private retrieval: what ciphertexts are encryptions of, and how noisy they are.
namespace halocline::pir {

/// The way to the secret that `client` grants to tests.
struct client_probe {
  [[nodiscard]] static client_core& core(client& of) { return *of.state_; }
};

}  // namespace halocline::pir

namespace halocline::test {

using residue_vector = std::vector<std::uint32_t>;  ///< modulo all primes, limb by limb: L N of them

/// Measures ciphertexts of one client with its secret.
class pir_probe {
 public:
  explicit pir_probe(pir::client& of) : core_(pir::client_probe::core(of)) {}

  [[nodiscard]] std::size_t n() const { return core_.ctx.tables().n(); }
  [[nodiscard]] std::size_t limbs() const { return core_.ctx.limbs(); }
  [[nodiscard]] std::uint64_t prime(std::size_t limb) const { return core_.ctx.tables().primes[limb]; }

  /// Coefficients of the secret.
  [[nodiscard]] std::vector<std::int64_t> secret() const {
    std::vector<std::int64_t> out(n());
    core_.ctx.device().download(std::as_writable_bytes(std::span(out)), core_.coefficients, 0);
    return out;
  }

  /// Coefficients of the uniform polynomial of a seed: stream numbers are rows of keys, 0 in queries. NTT
  /// form, as it is stored.
  [[nodiscard]] residue_vector uniform(const arith::seed_bytes& seed, std::uint32_t stream) {
    const ring::poly drawn = core_.make_poly("probe");
    const backend::uniform_job job{drawn.chain(), {seed, stream}};
    core_.ctx.device().sample_uniform(core_.ctx.tables(), {&job, 1});
    residue_vector out(limbs() * n());
    core_.download(drawn, out);
    return out;
  }

  /// c0 + c1 s(X^(1/g)) in coefficient form, from NTT form.
  /// @param g Galois element: 1 for the secret itself
  /// @param montgomery residues are 2^32 times those of the ciphertext
  [[nodiscard]] residue_vector phase(std::span<const std::uint32_t> c0, std::span<const std::uint32_t> c1,
                                     std::uint64_t g = 1, bool montgomery = false) {
    auto& ctx = core_.ctx;
    const ring::poly sum = upload(c0), product = upload(c1), key = rotated(g);
    const backend::binary_job multiply{product.chain(), product.chain(), key.chain()};
    ctx.device().multiply(ctx.tables(), {&multiply, 1});
    const backend::binary_job add{sum.chain(), sum.chain(), product.chain()};
    ctx.device().add(ctx.tables(), {&add, 1});
    const backend::unary_job back{sum.chain(), sum.chain()};
    ctx.device().intt(ctx.tables(), {&back, 1});
    residue_vector out(limbs() * n());
    core_.download(sum, out);
    return montgomery ? without_montgomery(std::move(out)) : out;
  }
  /// Of a ciphertext of a server's buffer: 2 L N residues, the first component first.
  [[nodiscard]] residue_vector phase(std::span<const std::uint32_t> ciphertext, bool montgomery = false) {
    return phase(ciphertext.first(limbs() * n()), ciphertext.last(limbs() * n()), 1, montgomery);
  }

  /// factors[limb] times the integers, coefficient form: what a phase should be. One factor for each prime.
  [[nodiscard]] residue_vector multiple(std::span<const std::int64_t> integers,
                                        std::span<const std::uint64_t> factors) const {
    residue_vector out(limbs() * n());
    for (std::size_t limb = 0; limb < limbs(); ++limb) {
      const auto q = core_.modulus_of(limb);
      for (std::size_t j = 0; j < n(); ++j) {
        out[limb * n() + j] = arith::mul_mod(arith::signed_mod(integers[j], q),
                                             static_cast<std::uint32_t>(factors[limb] % q.value), q);
      }
    }
    return out;
  }
  /// Residues of round(q / t), the factor of messages.
  [[nodiscard]] std::vector<std::uint64_t> plaintext_step() const {
    const unsigned bits = core_.ctx.shape().scheme.source().plain_bits;
    const wide step = (product() + (wide{1} << (bits - 1))) >> bits;
    std::vector<std::uint64_t> out;
    for (std::size_t limb = 0; limb < limbs(); ++limb) {
      out.push_back(static_cast<std::uint64_t>(step % prime(limb)));
    }
    return out;
  }
  /// Residues of gadget entry (l, k): 2^(k base_bits) modulo prime l, 0 modulo the others.
  [[nodiscard]] std::vector<std::uint64_t> gadget_entry(std::size_t l, unsigned k,
                                                        const pir::gadget& split) const {
    std::vector<std::uint64_t> out(limbs());
    out[l] = arith::pow_mod(2U, std::uint64_t{k} * split.base_bits, core_.modulus_of(l));
    return out;
  }

  /// phase - expected, the integers of least magnitude with these residues (Chinese remainder theorem).
  [[nodiscard]] std::vector<double> error(const residue_vector& phase, const residue_vector& expected) const {
    const wide q = product();
    std::vector<double> out(n());
    std::vector<wide> others;  // q / q_l, and its inverses modulo q_l
    residue_vector inverses;
    for (std::size_t l = 0; l < limbs(); ++l) {
      others.push_back(q / prime(l));
      const auto rest = static_cast<std::uint32_t>(others[l] % prime(l));
      inverses.push_back(arith::inverse_mod(rest, core_.modulus_of(l)));
    }
    for (std::size_t j = 0; j < n(); ++j) {
      wide value = 0;
      for (std::size_t l = 0; l < limbs(); ++l) {
        const auto modulus = core_.modulus_of(l);
        const std::uint32_t difference = arith::sub_mod(phase[l * n() + j], expected[l * n() + j], modulus);
        value = (value + others[l] * arith::mul_mod(difference, inverses[l], modulus)) % q;
      }
      out[j] = value > q / 2 ? -static_cast<double>(q - value) : static_cast<double>(value);
    }
    return out;
  }

  /// log2 of the root mean square: what `noise_forecast` has.
  [[nodiscard]] static double log2_deviation(std::span<const double> errors) {
    double sum = 0;
    for (const double each : errors) sum += each * each;
    return 0.5 * std::log2(sum / static_cast<double>(errors.size()));
  }
  [[nodiscard]] static double largest(std::span<const double> errors) {
    double found = 0;
    for (const double each : errors) found = std::max(found, std::abs(each));
    return found;
  }

 private:
  __extension__ using wide = unsigned __int128;

  [[nodiscard]] wide product() const {
    wide q = 1;
    for (std::size_t limb = 0; limb < limbs(); ++limb) q *= prime(limb);
    return q;
  }
  [[nodiscard]] ring::poly upload(std::span<const std::uint32_t> residues) {
    ring::poly made = core_.make_poly("probe");
    core_.ctx.device().upload(made.data(), 0, std::as_bytes(residues));
    return made;
  }
  /// s(X^(1/g)) in NTT form.
  [[nodiscard]] ring::poly rotated(std::uint64_t g) {
    auto& ctx = core_.ctx;
    ring::poly made = core_.make_poly("probe");
    const auto& table = ctx.ring().permutation(ring::inverse_galois_element(g, ctx.tables().log_n));
    const backend::automorphism_job job{made.chain(), core_.secret.chain(), &table};
    ctx.device().automorphism(ctx.tables(), {&job, 1});
    return made;
  }
  [[nodiscard]] residue_vector without_montgomery(residue_vector residues) const {
    for (std::size_t limb = 0; limb < limbs(); ++limb) {
      const auto q = core_.modulus_of(limb);
      for (std::size_t j = 0; j < n(); ++j) {
        auto& each = residues[limb * n() + j];
        each = arith::montgomery_reduce<std::uint32_t>(each, q);
      }
    }
    return residues;
  }

  pir::client_core& core_;
};

}  // namespace halocline::test
