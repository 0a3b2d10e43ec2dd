// SPDX-License-Identifier: Apache-2.0
#include "halocline/core/version.hpp"

// CMake defines both macros for this file alone (cmake/HaloclineLibrary.cmake).

namespace halocline {

std::string_view version() noexcept { return HALOCLINE_VERSION_STRING; }

std::string_view commit() noexcept { return HALOCLINE_COMMIT_STRING; }

}  // namespace halocline
