// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "seal/randomgen.h"

namespace seal {

/// A generator for the distributions of the standard library.
class RandomToStandardAdapter {
 public:
  using result_type = std::uint32_t;

  /// @throws std::invalid_argument for no generator
  RandomToStandardAdapter(std::shared_ptr<UniformRandomGenerator> generator)
      : generator_(std::move(generator)) {
    if (!generator_) throw std::invalid_argument("RandomToStandardAdapter: expected a generator, got none");
  }

  [[nodiscard]] const std::shared_ptr<UniformRandomGenerator>& generator() const noexcept {
    return generator_;
  }
  result_type operator()() { return generator_->generate(); }
  [[nodiscard]] static constexpr result_type min() noexcept {
    return std::numeric_limits<result_type>::min();
  }
  [[nodiscard]] static constexpr result_type max() noexcept {
    return std::numeric_limits<result_type>::max();
  }

 private:
  std::shared_ptr<UniformRandomGenerator> generator_;
};

}  // namespace seal
