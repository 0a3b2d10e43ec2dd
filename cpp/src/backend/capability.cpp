// SPDX-License-Identifier: Apache-2.0
#include "halocline/backend/capability.hpp"

#include <array>

namespace halocline::backend {

std::string_view to_string(op_kind op) noexcept {
  static constexpr std::array<std::string_view, op_kind_count> names{
#define HALOCLINE_OPERATION(NAME, JOB) #NAME,
#include "halocline/backend/operations.inc"
      "upload", "download"};
  return names[static_cast<std::size_t>(op)];
}

}  // namespace halocline::backend
