// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "halocline/backend/key_jobs.hpp"
#include "halocline/circuits/linear_transform.hpp"
#include "halocline/ckks/key_switch.hpp"

namespace halocline::circuits {

/// A linear map of ciphertexts that have just been raised and are still under the sparse secret of
/// encapsulation: the first matrix of CoeffToSlot.
///
/// What is raised is below Q_0, so each rotation is one product with a key of one digit that leads straight
/// to the main secret (`ckks::raised_rotation_element`): no decomposition, no switch back before. Diagonals
/// have as scale the product D of `encapsulation_info::raised_scale`, over which the ciphertext is raised as
/// well; the one division of the sum takes D off together with the special primes, so the map takes no level
/// (level conserving rescaling: Yan, Zeng, Song, Wang 2025). Every diagonal has a key of its own.
///
/// Key switching after ModRaise is a subject of US patent 12,506,608 and of US patent application
/// 2026/0052015. Whether they concern this method, whose keys have one digit from the beginning, has not been
/// examined by a lawyer: nothing uses it unless it is asked for.
///
/// Bound to the context it was made with; immutable.
class raised_transform {
 public:
  /// @param level of the raised ciphertexts and of results
  /// @throws invalid_argument for parameters that have no primes for it, no diagonal that is not 0, and as
  ///   `transform_grid`
  raised_transform(ckks::evaluator& eval, const diagonal_map& diagonals, unsigned level, bool compact);

  /// The transform of each, at the same level and scale.
  /// @throws missing_key; invalid_argument for another level or number of slots
  [[nodiscard]] std::vector<ckks::ciphertext> apply(ckks::evaluator& eval,
                                                    std::span<const ckks::raised_ciphertext> inputs) const;

  [[nodiscard]] unsigned level() const noexcept { return level_; }
  [[nodiscard]] std::uint32_t slots() const noexcept { return slots_; }
  /// Diagonals, and keys.
  [[nodiscard]] std::size_t count() const noexcept { return weights_.size(); }
  /// Keys that `apply` uses, ascending by element, all at `level()`.
  [[nodiscard]] std::vector<ckks::key_request> key_requests() const;
  /// Those of a map with these diagonals.
  [[nodiscard]] static std::vector<ckks::key_request> key_requests(const params::parameters& parameters,
                                                                   std::span<const int> diagonals,
                                                                   unsigned level);
  /// Bytes of the encoded diagonals.
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  struct weight {
    int diagonal = 0;
    std::uint64_t galois_element = 1;
    ring::poly expanded;
    ckks::compact_plaintext compact;
  };

  struct partial_sum;

  [[nodiscard]] weight encode(ckks::evaluator& eval, int diagonal,
                              const std::vector<std::complex<double>>& values, bool compact) const;
  [[nodiscard]] ring::poly expand(ckks::context& ctx, const ckks::compact_plaintext& coefficients,
                                  memory::object_class cls) const;
  void check(ckks::evaluator& eval, const ckks::raised_ciphertext& input) const;
  [[nodiscard]] ckks::poly_pair make_pair(ckks::context& ctx, const char* tag) const;
  void add_products(ckks::context& ctx, const weight& of, const ckks::evaluation_key& key,
                    const ckks::raised_ciphertext& input, const ckks::poly_pair& product,
                    std::vector<backend::key_job>& jobs) const;
  void add_group(ckks::evaluator& eval, std::span<const weight> group, std::span<const ring::poly> diagonals,
                 const ckks::raised_ciphertext& input, partial_sum& sum) const;
  [[nodiscard]] ckks::ciphertext finish(ckks::context& ctx, partial_sum&& sum) const;

  /// Special primes that products are over and that the division takes off: those of the keys, and the scale.
  [[nodiscard]] arith::window dropped() const noexcept;
  params::parameters parameters_;
  unsigned level_;
  std::uint32_t slots_;
  std::vector<weight> weights_;
};

}  // namespace halocline::circuits
