// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "halocline/backend/backend.hpp"
#include "halocline/pir/geometry.hpp"
#include "halocline/ring/context.hpp"

namespace halocline::pir {

/// Geometry, ring and backend: what clients and servers of one database compute with. Not thread-safe.
class context {
 public:
  /// @throws out_of_memory when the tables exceed the budget
  context(geometry of, std::shared_ptr<backend::backend> device);

  [[nodiscard]] const geometry& shape() const noexcept { return shape_; }
  /// The ring, the backend, its memory, and the tables of the ring.
  [[nodiscard]] ring::context& ring() noexcept { return ring_; }
  [[nodiscard]] backend::backend& device() const noexcept { return ring_.device(); }
  [[nodiscard]] memory::runtime& runtime() const noexcept { return ring_.runtime(); }
  [[nodiscard]] const backend::ring_tables& tables() const noexcept { return ring_.tables(); }
  /// Primes of the ring, limbs of a polynomial: L.
  [[nodiscard]] std::uint32_t limbs() const noexcept {
    return static_cast<std::uint32_t>(shape_.scheme.primes().size());
  }
  /// Blocks of the matrices of points of this device: `capability::point_block`.
  [[nodiscard]] std::uint32_t point_block() const noexcept { return point_block_; }
  /// Bytes of one polynomial modulo all primes.
  [[nodiscard]] std::size_t polynomial_bytes() const noexcept { return limbs() * tables().limb_bytes(); }

  /// Uninitialised ciphertexts, one after the other: 2 L limbs each.
  [[nodiscard]] memory::buffer make_ciphertexts(std::size_t count, memory::object_class cls, const char* tag);
  /// The array of all ciphertexts of a buffer of `make_ciphertexts`, or from number `first` on.
  [[nodiscard]] backend::poly_array ciphertexts(const memory::buffer& data,
                                                std::uint32_t first = 0) const noexcept;
  /// One component of these: the array of their first (0) or second (1) polynomials.
  [[nodiscard]] backend::poly_array component(const memory::buffer& data, unsigned which,
                                              std::uint32_t first = 0) const noexcept;

  /// X^-k with k = 2^(level - 1), by which an expansion turns the odd children of a level: one polynomial in
  /// NTT form, times 2^32. Made at first use and kept; class `table`.
  /// @throws invalid_argument unless level is 1 to log2(N)
  [[nodiscard]] const memory::buffer& monomial(unsigned level);

 private:
  geometry shape_;
  ring::context ring_;
  std::uint32_t point_block_;
  std::map<unsigned, memory::buffer> monomials_;
};

}  // namespace halocline::pir
