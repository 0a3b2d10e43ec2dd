// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace halocline::memory::plan {

/// Time of something that grows with its bytes: `fixed_ns + bytes * ns_per_byte`.
struct linear_cost {
  double fixed_ns = 0;
  double ns_per_byte = 0;

  /// Nanoseconds for that many bytes.
  [[nodiscard]] constexpr double at(double bytes) const noexcept { return fixed_ns + bytes * ns_per_byte; }
  bool operator==(const linear_cost&) const = default;
};

/// How long things take on one device: operations, transfers per direction, and regenerating bytes instead of
/// loading them. Measured by the runtime while it works (`runtime::measured_costs`), or taken from a device
/// model (`sim::device_model::costs`).
struct cost_model {
  /// Operations by name; bytes are those that the step's rows of the trace touch.
  std::map<std::string, linear_cost, std::less<>> operations;
  /// Operations that are not in the list.
  linear_cost other_operation{20'000, 0.1};
  linear_cost load{100'000, 0.8};   ///< slow tier to fast tier
  linear_cost store{100'000, 0.8};  ///< fast tier to slow tier
  linear_cost expand{50'000, 0.4};  ///< bytes of a seeded half from its seed; occupies the compute units
  linear_cost encode{50'000, 0.6};  ///< bytes of a plaintext from its coefficients; likewise

  /// What a byte that is regenerated counts beside one that is loaded: its share of the time where that is
  /// small, as on accelerators; otherwise 1, because it keeps the compute units from what they are there for.
  [[nodiscard]] constexpr double weight_of(const linear_cost& regenerating) const noexcept {
    constexpr double small = 0.25;
    const double share = load.ns_per_byte > 0 ? regenerating.ns_per_byte / load.ns_per_byte : 1;
    return share < small ? share : 1;
  }
  /// Nanoseconds of an operation that touches `bytes`.
  [[nodiscard]] double operation(std::string_view name, double bytes) const {
    const auto found = operations.find(name);
    return (found == operations.end() ? other_operation : found->second).at(bytes);
  }
};

/// What regenerating takes on an accelerator until it has been measured there. One H200, N = 2^16, 32-bit
/// words, 23 and 47 limbs of 256 KiB (cpp/bench/results/h200): seeds 7.3 and 11.9 us (kernels.json,
/// sample_uniform); coefficients 16.3 and 27.1 us (encode_expand there, ntt in operations.json).
inline constexpr linear_cost accelerator_expand{2'900, 0.00073};
inline constexpr linear_cost accelerator_encode{6'000, 0.0017};

}  // namespace halocline::memory::plan
