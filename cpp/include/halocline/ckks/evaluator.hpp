// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "halocline/ckks/ciphertext.hpp"
#include "halocline/ckks/encoder.hpp"
#include "halocline/ckks/key_routes.hpp"
#include "halocline/ckks/key_set.hpp"
#include "halocline/ckks/plaintext.hpp"
#include "halocline/ckks/rotation_sums.hpp"

namespace halocline::ckks {

/// How products are finished.
enum class maintenance : unsigned char {
  automatic,  ///< multiply relinearizes and rescales, operands are brought to a common level and scale
  manual,     ///< multiply only multiplies; levels must agree and scales must agree to 2^-30
};

/// A ciphertext (constant, linear) under the sparse secret of encapsulation whose modulus was raised; both
/// polynomials are below Q_0, so that products with a key need no decomposition. What
/// `raised_rotation_element` keys switch to the main secret.
struct raised_ciphertext {
  ring::poly constant;  ///< over `encapsulation_info::raised_scale` and the chain of the level
  ring::poly linear;    ///< over `raised_special`, `raised_scale` and the chain
  unsigned level = 0;
  double scale = 1;
  std::uint32_t slots = 0;
  key_id key{};  ///< of the main secret
};

/// Evaluates ciphertexts. Every operation returns a new ciphertext and leaves its operands alone; levels and
/// scales follow `params::level_info`: at level l the canonical scale is `level(l).scale`, and automatic
/// operations on canonical operands give canonical results, so that scales never drift apart.
///
/// All operations throw invalid_argument for operands of other parameters or runtimes, level_exhausted
/// (naming the operation) when a product has no level left, missing_key (naming the rotation) and, in manual
/// mode, scale_mismatch.
class evaluator {
 public:
  evaluator(ckks::context& ctx, key_set& keys, maintenance mode = maintenance::automatic);

  [[nodiscard]] ckks::context& context() const noexcept { return ctx_; }
  [[nodiscard]] key_set& keys() const noexcept { return keys_; }
  /// The encoder for plaintext operands.
  [[nodiscard]] ckks::encoder& encoder() noexcept { return encoder_; }
  [[nodiscard]] maintenance mode() const noexcept { return mode_; }
  /// Chooses how products are finished from now on.
  void set_mode(maintenance mode) noexcept { mode_ = mode; }

  /// a + b, a - b, -a. Automatic: the operand of the higher level comes down to the other's level and scale.
  [[nodiscard]] ciphertext add(const ciphertext& a, const ciphertext& b);
  [[nodiscard]] ciphertext sub(const ciphertext& a, const ciphertext& b);
  [[nodiscard]] ciphertext negate(const ciphertext& a);
  /// a + p; the plaintext must have the level and scale of a.
  [[nodiscard]] ciphertext add_plain(const ciphertext& a, const plaintext& p);
  /// a + values, encoded at the level and scale of a.
  [[nodiscard]] ciphertext add_values(const ciphertext& a, std::span<const std::complex<double>> values);
  /// a + c in every slot. No NTT.
  [[nodiscard]] ciphertext add_constant(const ciphertext& a, std::complex<double> c);

  /// a * b. Automatic: relinearized and rescaled, one level lower than the lower operand. Manual: three
  /// components at scale a.scale * b.scale.
  [[nodiscard]] ciphertext multiply(const ciphertext& a, const ciphertext& b);
  [[nodiscard]] ciphertext square(const ciphertext& a);
  /// a * p without rescale, at scale a.scale * p.scale; levels must agree.
  [[nodiscard]] ciphertext multiply_plain(const ciphertext& a, const plaintext& p);
  /// a * values. Automatic: encoded so that the rescaled result is canonical.
  [[nodiscard]] ciphertext multiply_values(const ciphertext& a, std::span<const std::complex<double>> values);
  /// a * c in every slot. No NTT for the constant. A Gaussian integer c of modulus at most 2^20 costs no
  /// level.
  [[nodiscard]] ciphertext multiply_constant(const ciphertext& a, std::complex<double> c);
  /// Scale at which `multiply_values` and `multiply_constant` encode; a factor below half of its reciprocal
  /// becomes 0.
  [[nodiscard]] double plain_scale(const ciphertext& a) const;
  /// a * c with the constant encoded at `scale`, not rescaled; the result has scale a.scale * scale.
  [[nodiscard]] ciphertext multiply_constant_raw(const ciphertext& a, std::complex<double> c, double scale);
  /// i * a. Exact, costs no level.
  [[nodiscard]] ciphertext multiply_by_i(const ciphertext& a);
  /// sum_i a_i * b_i with one relinearization and one rescale for the whole sum.
  [[nodiscard]] ciphertext dot(std::span<const ciphertext* const> a, std::span<const ciphertext* const> b);

  /// `multiply` and `dot` up to their key switch, in either mode: three components at the scale of the
  /// product.
  [[nodiscard]] ciphertext unfinished_product(const ciphertext& a, const ciphertext& b);
  [[nodiscard]] ciphertext unfinished_dot(std::span<const ciphertext* const> a,
                                          std::span<const ciphertext* const> b);
  /// What they make of that in automatic mode: relinearized and rescaled by one division, one level lower.
  /// The integers are those of `multiply` and `dot`, wherever this is done.
  /// @throws level_exhausted at level 0
  [[nodiscard]] ciphertext finish_product(const ciphertext& a);

  /// The operations above and below on several ciphertexts that take the same steps: result i is that of
  /// operand i (and of b[i]), with the same integers, in joined calls of the backend, which fill a device
  /// better. All need memory at the same time.
  /// @throws invalid_argument also for no operands, lists of different lengths, and operands of one list that
  ///   differ in level, slots, components or, except in `finish_product` and `rescale`, scale
  [[nodiscard]] std::vector<ciphertext> add(ciphertext_span a, ciphertext_span b);
  [[nodiscard]] std::vector<ciphertext> sub(ciphertext_span a, ciphertext_span b);
  [[nodiscard]] std::vector<ciphertext> add_constant(ciphertext_span many, std::complex<double> c);
  [[nodiscard]] std::vector<ciphertext> multiply(ciphertext_span a, ciphertext_span b);
  [[nodiscard]] std::vector<ciphertext> multiply_constant(ciphertext_span many, std::complex<double> c);
  [[nodiscard]] std::vector<ciphertext> multiply_constant_raw(ciphertext_span many, std::complex<double> c,
                                                              double scale);
  /// Result j is sum_i a[i][j] * b[i][j].
  [[nodiscard]] std::vector<ciphertext> dot(std::span<const std::vector<const ciphertext*>> a,
                                            std::span<const std::vector<const ciphertext*>> b);
  [[nodiscard]] std::vector<ciphertext> finish_product(ciphertext_span many);
  /// Sums at `level` of factors there or above, whose limbs beyond it are ignored: scales stay what they are.
  /// @throws invalid_argument also where the primes of `level` are not all among those of a factor
  [[nodiscard]] std::vector<ciphertext> unfinished_dot(std::span<const std::vector<const ciphertext*>> a,
                                                       std::span<const std::vector<const ciphertext*>> b,
                                                       unsigned level);
  /// c * many[i] at `level` and `scale`, not rescaled; limbs are ignored in the same way.
  [[nodiscard]] std::vector<ciphertext> multiples(ciphertext_span many, std::complex<double> c,
                                                  unsigned level, double scale);
  /// sums[i] += c * many[i] in place, c encoded so that the scales agree; limbs are ignored in the same way.
  void add_multiples(std::vector<ciphertext>& sums, ciphertext_span many, std::complex<double> c);
  /// sums[i] += c in every slot, in place.
  void add_constants(std::vector<ciphertext>& sums, std::complex<double> c);
  [[nodiscard]] std::vector<ciphertext> rescale(ciphertext_span many);
  [[nodiscard]] std::vector<ciphertext> drop_level(ciphertext_span many, unsigned level);
  [[nodiscard]] std::vector<ciphertext> adjust(ciphertext_span many, unsigned level, double scale);

  /// Three components to two.
  [[nodiscard]] ciphertext relinearize(const ciphertext& a);
  /// One level lower; scale multiplied by Q_(l-1) / Q_l.
  [[nodiscard]] ciphertext rescale(const ciphertext& a);
  /// To `level` (at most a.level) with the message unchanged and the scale multiplied by
  /// level(target).scale / level(a.level).scale. Costs no multiplication beyond the levels dropped.
  [[nodiscard]] ciphertext drop_level(const ciphertext& a, unsigned level);
  /// To `level` and exactly `scale`. Needs one level more than `level` unless the scale is already right.
  [[nodiscard]] ciphertext adjust(const ciphertext& a, unsigned level, double scale);

  /// ModRaise of bootstrapping: a ciphertext at `level`, above max_level(), whose coefficients are those of
  /// the message plus Q_0 times small integers I, and whose scale is that of the message, exactly. The
  /// operand comes down to level 0 and its canonical scale first; at level 0 it keeps the scale that it has.
  /// Parameters with `encapsulation()` go to a fresh sparse secret and back, which bounds I
  /// (params/raise_range.hpp), and need the encapsulation key up to `level`.
  /// @throws invalid_argument when the parameters cannot be bootstrapped, the level is none of those that
  ///   bootstrapping uses, or the operand is not relinearized; missing_key
  [[nodiscard]] ciphertext mod_raise(const ciphertext& a, unsigned level);
  /// The same of several ciphertexts in one pass over the key.
  [[nodiscard]] std::vector<ciphertext> mod_raise(std::span<const ciphertext* const> many, unsigned level);

  /// ModRaise without the switch back to the main secret; for parameters with `encapsulation()` that have
  /// primes for raised rotation keys (`encapsulation_info::raised_special`).
  /// @throws as `mod_raise`
  [[nodiscard]] std::vector<raised_ciphertext> raise_sparse(std::span<const ciphertext* const> many,
                                                            unsigned level);

  /// Slots rotated to the left by `steps` (negative: to the right). Follows a route, if there is one.
  [[nodiscard]] ciphertext rotate(const ciphertext& a, std::int64_t steps);
  /// The same ciphertext rotated by each step; the decomposition is done once (hoisting; Halevi, Shoup 2018).
  [[nodiscard]] std::vector<ciphertext> rotate_hoisted(const ciphertext& a,
                                                       std::span<const std::int64_t> steps);
  /// Complex conjugate of every slot.
  [[nodiscard]] ciphertext conjugate(const ciphertext& a);
  /// sum_{i < count} rotate(a, i * stride) with about log2(count) key switches.
  [[nodiscard]] ciphertext inner_sum(const ciphertext& a, std::int64_t stride, std::uint32_t count);
  /// The same by `sum_rotations` of `sum_stages(stride, count, radix)`; radix 2 is the one above.
  [[nodiscard]] ciphertext inner_sum(const ciphertext& a, std::int64_t stride, std::uint32_t count,
                                     unsigned radix);
  /// sum_i rotate(a, steps[i]), 0 for a itself, with one decomposition and one division by P for all: faster
  /// than the rotations, and with the rounding of one. Follows no routes.
  /// @throws invalid_argument also for no steps, and for one that is there twice
  [[nodiscard]] ciphertext sum_rotations(const ciphertext& a, std::span<const std::int64_t> steps);
  /// Stage by stage, each of what the one before gives, of several ciphertexts. Between stages only the
  /// second component is divided, so results are not those of one call a stage to the last bit.
  [[nodiscard]] std::vector<ciphertext> sum_rotations(ciphertext_span many,
                                                      std::span<const rotation_stage> stages);

  /// Makes lone rotations by some keys of others from now on; see `key_routes`.
  /// @throws invalid_argument as `check_routes`, and when the key of a part is not there, or does not reach
  ///   the level of the key that it replaces
  void set_routes(key_routes routes);
  /// Whether routes are followed from now on.
  void follow_routes(bool follow) noexcept { follows_routes_ = follow; }
  /// Lone rotations so far by Galois element, routed or not.
  [[nodiscard]] const std::map<std::uint64_t, std::uint64_t>& lone_rotations() const noexcept {
    return lone_rotations_;
  }
  /// Begins to count them anew.
  void reset_lone_rotations() { lone_rotations_.clear(); }

 private:
  key_routes routes_;
  bool follows_routes_ = true;
  std::map<std::uint64_t, std::uint64_t> lone_rotations_;
  ckks::context& ctx_;
  key_set& keys_;
  maintenance mode_;
  ckks::encoder encoder_;
};

}  // namespace halocline::ckks
