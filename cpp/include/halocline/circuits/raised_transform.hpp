// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "halocline/backend/key_jobs.hpp"
#include "halocline/circuits/linear_transform.hpp"
#include "halocline/ckks/key_switch.hpp"
#include "halocline/ckks/rotation_sums.hpp"

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
/// A map for fewer slots than all is applied to the sum of all rotations by multiples of its number of slots:
/// ModRaise adds terms to a sparse message that only this sum cancels. These rotations commute with the map.
/// A first part of them is taken with its diagonals, the others are sums of rotations of the result
/// (`sparse_rotations`, `following_sums`).
///
/// Key switching after ModRaise is a subject of US patent 12,506,608 and of US patent application
/// 2026/0052015. Whether they concern this method, whose keys have one digit from the beginning, has not been
/// examined by a lawyer: nothing uses it unless it is asked for.
///
/// Bound to the context it was made with; immutable.
class raised_transform {
 public:
  /// @param diagonals with a power of two of entries each, up to all slots
  /// @param level of the raised ciphertexts and of results
  /// @param sum_radix of the sums that follow; the cost model chooses unless given
  /// @throws invalid_argument for parameters that have no primes for it, no diagonal that is not 0, and as
  ///   `transform_grid`
  raised_transform(ckks::evaluator& eval, const diagonal_map& diagonals, unsigned level, bool compact,
                   std::optional<unsigned> sum_radix = {});

  /// The transform of each, at the same level and scale.
  /// @throws missing_key; invalid_argument for another level or number of slots
  [[nodiscard]] std::vector<ckks::ciphertext> apply(ckks::evaluator& eval,
                                                    std::span<const ckks::raised_ciphertext> inputs) const;

  [[nodiscard]] unsigned level() const noexcept { return level_; }
  [[nodiscard]] std::uint32_t slots() const noexcept { return slots_; }
  /// Products with keys of one digit.
  [[nodiscard]] std::size_t count() const noexcept { return rotations_.size(); }
  /// Keys that `apply` uses, all at `level()`.
  [[nodiscard]] std::vector<ckks::key_request> key_requests() const;
  /// Those of a map with these diagonals.
  [[nodiscard]] static std::vector<ckks::key_request> key_requests(const params::parameters& parameters,
                                                                   std::span<const int> diagonals,
                                                                   std::uint32_t slots, unsigned level,
                                                                   std::optional<unsigned> sum_radix = {});
  /// How many of the rotations that are summed are taken with each of `diagonals` diagonals: a power of two.
  [[nodiscard]] static std::uint32_t sparse_rotations(const params::parameters& parameters,
                                                      std::size_t diagonals, std::uint32_t slots,
                                                      unsigned level, std::optional<unsigned> sum_radix = {});
  /// Stages of the others.
  [[nodiscard]] static std::vector<ckks::rotation_stage> following_sums(
      const params::parameters& parameters, std::uint32_t slots, std::uint32_t sparse_rotations,
      unsigned level, std::optional<unsigned> sum_radix = {});
  /// Bytes of the encoded diagonals.
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  struct weight {
    int diagonal = 0;
    ring::poly expanded;
    ckks::compact_plaintext compact;
  };
  struct rotation {
    std::uint64_t galois_element = 1;
    std::size_t weight = 0;  ///< ascending
  };

  struct partial_sum;

  [[nodiscard]] weight encode(ckks::evaluator& eval, int diagonal,
                              const std::vector<std::complex<double>>& values, bool compact) const;
  [[nodiscard]] ring::poly expand(ckks::context& ctx, const ckks::compact_plaintext& coefficients,
                                  memory::object_class cls) const;
  void check(ckks::evaluator& eval, const ckks::raised_ciphertext& input) const;
  [[nodiscard]] ckks::poly_pair make_pair(ckks::context& ctx, const char* tag) const;
  void add_products(ckks::context& ctx, std::uint64_t galois_element, const ckks::evaluation_key& key,
                    const ckks::raised_ciphertext& input, const ckks::poly_pair& product,
                    std::vector<backend::key_job>& jobs) const;
  void add_group(ckks::evaluator& eval, std::span<const rotation> group,
                 std::span<const ring::poly> diagonals, const ckks::raised_ciphertext& input,
                 partial_sum& sum) const;
  void add_joined(ckks::context& ctx, std::span<const rotation> group,
                  std::span<const ckks::evaluation_key* const> keys,
                  std::span<const ring::poly* const> factors, const ckks::raised_ciphertext& input,
                  const partial_sum& sum) const;
  void add_written(ckks::context& ctx, std::span<const rotation> group,
                   std::span<const ckks::evaluation_key* const> keys,
                   std::span<const ring::poly* const> factors, const ckks::raised_ciphertext& input,
                   const partial_sum& sum) const;
  [[nodiscard]] std::size_t rotations_at_once(const ckks::context& ctx) const;
  [[nodiscard]] ckks::ciphertext finish(ckks::context& ctx, partial_sum&& sum) const;

  /// Special primes that products are over and that the division takes off: those of the keys, and the scale.
  [[nodiscard]] arith::window dropped() const noexcept;
  params::parameters parameters_;
  unsigned level_;
  std::uint32_t slots_;
  std::vector<weight> weights_;
  std::vector<rotation> rotations_;
  std::optional<unsigned> sum_radix_;
  std::vector<ckks::rotation_stage> following_;  ///< see `following_sums`
};

}  // namespace halocline::circuits
