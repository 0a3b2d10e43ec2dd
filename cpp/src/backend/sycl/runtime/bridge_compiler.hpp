// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace halocline::backend::sycl {

/// The C++ compiler for the bridge: HALOCLINE_SYCL_CXX, or c++.
[[nodiscard]] std::string bridge_compiler();

/// Compiles the bridge against the runtime below `root`; the shared library's bytes. Works in a folder of its
/// own inside `folder`, which is removed.
/// @throws device_error when there is no such compiler, or it fails, with the end of its messages
[[nodiscard]] std::vector<std::byte> compile_bridge(const std::string& compiler,
                                                    const std::filesystem::path& root,
                                                    const std::filesystem::path& folder);

}  // namespace halocline::backend::sycl
