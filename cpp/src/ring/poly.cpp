// SPDX-License-Identifier: Apache-2.0
#include "halocline/ring/poly.hpp"

#include "halocline/backend/descriptors.hpp"
#include "halocline/ring/context.hpp"

namespace halocline::ring {

poly::poly(context& ring, arith::window special, arith::window chain, memory::object_class cls,
           const char* tag, bool wipe, unsigned log_repeat)
    : home_(ring.home()),
      data_(ring.runtime().allocate(
          (special.count + chain.count) * (ring.tables().limb_bytes() >> log_repeat), cls, tag, wipe)),
      special_(special),
      chain_(chain),
      log_repeat_(log_repeat) {}

backend::limb_view poly::special() const noexcept { return {&data_, 0, special_, log_repeat_}; }

backend::limb_view poly::chain() const noexcept { return {&data_, special_.count, chain_, log_repeat_}; }

std::vector<backend::limb_view> poly::views() const {
  std::vector<backend::limb_view> result;
  if (special_.count != 0) result.push_back(special());
  if (chain_.count != 0) result.push_back(chain());
  return result;
}

poly make_poly(context& ring, arith::window chain, memory::object_class cls, const char* tag) {
  return {ring, {}, chain, cls, tag};
}

}  // namespace halocline::ring
