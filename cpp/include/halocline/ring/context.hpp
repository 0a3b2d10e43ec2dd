// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "halocline/backend/backend.hpp"
#include "halocline/ring/home.hpp"
#include "halocline/ring/shape.hpp"

namespace halocline::ring {

/// When a context builds its NTT tables: 4 N words for each prime, by far most of its bytes.
enum class transform_tables : std::uint8_t {
  now,
  later,  ///< with `prepare_transforms`: for contexts that hold objects, and while untrusted bytes are
          ///< checked
};

/// A ring bound to a backend: builds and owns the tables that kernels need (moduli, powers of roots,
/// permutations). One context per engine or client; everything made with it lives in its runtime.
/// Not thread-safe, like the backend.
class context {
 public:
  /// Builds moduli and, unless `transforms` says later, NTT tables for all primes of the ring on `device`.
  /// @param parameters CKKS parameters of the ring, which objects made with this context keep
  /// @throws out_of_memory when the tables exceed the budget.
  context(ring::shape shape, std::shared_ptr<backend::backend> device,
          transform_tables transforms = transform_tables::now,
          std::optional<params::parameters> parameters = {});

  /// Builds the NTT tables unless they are there. Without them nothing can be transformed.
  /// @throws out_of_memory when they exceed the budget.
  void prepare_transforms();

  /// Where objects made with this context live.
  [[nodiscard]] const std::shared_ptr<const ring::home>& home() const noexcept { return home_; }
  [[nodiscard]] const ring::shape& shape() const noexcept { return shape_; }
  [[nodiscard]] backend::backend& device() const noexcept { return *home_->device; }
  /// Runtime of the backend: owner of all buffers made with this context.
  [[nodiscard]] memory::runtime& runtime() const noexcept { return home_->device->runtime(); }
  [[nodiscard]] const backend::ring_tables& tables() const noexcept { return tables_; }

  /// Table of the automorphism X -> X^galois_element on bit-reversed NTT points: `dst[j] = src[table[j]]`.
  /// Built at first use and kept.
  /// @throws invalid_argument unless the element is odd and below 2N.
  [[nodiscard]] const memory::buffer& permutation(std::uint64_t galois_element);

  /// psi^(N/2) modulo every prime: the square root of -1 that X^(N/2) takes on the first N/2 bit-reversed NTT
  /// points (see `backend::scalar_pair`). Zeros on the ghost backend.
  [[nodiscard]] const std::vector<std::uint64_t>& imaginary_units() const noexcept {
    return imaginary_units_;
  }

 private:
  template <typename WordT>
  void upload_moduli();
  template <typename WordT>
  void upload_roots();

  ring::shape shape_;
  std::shared_ptr<const ring::home> home_;
  backend::ring_tables tables_;
  std::vector<std::uint64_t> imaginary_units_;
  std::map<std::uint64_t, memory::buffer> permutations_;
};

}  // namespace halocline::ring
