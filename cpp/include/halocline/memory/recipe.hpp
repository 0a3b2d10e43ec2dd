// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "halocline/memory/trace.hpp"

namespace halocline::memory {

class buffer;

/// An alternative to reloading the bytes of a read-only buffer from a slower tier: the uniform half of a key
/// from its seed, a plaintext from its coefficients, a table by computing it. Belongs to one buffer
/// (`runtime::set_recipe`).
class recipe {
 public:
  virtual ~recipe() = default;
  /// `recovery::expand` or `recovery::encode`, which plans may prefer to a copy; `recovery::copy` for what is
  /// only done when the copy on the slow tier is lost.
  [[nodiscard]] virtual recovery kind() const noexcept = 0;
  /// Bytes that only come back together, such as a limb: a power of two.
  [[nodiscard]] virtual std::size_t unit_bytes() const noexcept { return 1; }
  /// Writes the first `bytes` bytes of `target` again, whole units or all that there are, by operations of
  /// its runtime's backend. The runtime has given it a frame; steps inside are not counted, recorded or
  /// planned.
  virtual void regenerate(const buffer& target, std::size_t bytes) const = 0;
};

}  // namespace halocline::memory
