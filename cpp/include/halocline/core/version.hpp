// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace halocline {

/// Version of the library as "major.minor.patch" (semantic versioning), e.g. "0.1.0".
/// It comes from `project(... VERSION ...)` in CMakeLists.txt, the one place where it is written.
[[nodiscard]] std::string_view version() noexcept;

/// Git commit the library was configured from: its first 12 hexadecimal digits, or "unknown" for a build
/// outside a git checkout. Result files carry it so that a figure can be traced to its source.
[[nodiscard]] std::string_view commit() noexcept;

}  // namespace halocline
