// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sstream>
#include <string>
#include <utility>

#include "halocline/core/error.hpp"

namespace halocline {

/// Concatenates the printed forms of all arguments: `text("level ", 3)` is "level 3".
template <typename... PartT>
[[nodiscard]] std::string text(PartT&&... parts) {
  std::ostringstream out;
  (out << ... << std::forward<PartT>(parts));
  return out.str();
}

}  // namespace halocline

/// Throws `halocline::type` with `text(...)` of the remaining arguments unless `condition` holds. The message
/// is built only on failure, so a check costs one branch.
#define HALOCLINE_EXPECTS(condition, type, ...)                \
  do {                                                         \
    if (!(condition)) [[unlikely]] {                           \
      throw ::halocline::type(::halocline::text(__VA_ARGS__)); \
    }                                                          \
  } while (false)
