// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/sycl/bridge/bridge_api.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::backend::sycl {

/// Release of intel-sycl-rt that the extra halocline[sycl] installs, and its compiler's version.
inline constexpr char wanted_release[] = "2026.2";

/// Folder with `include/sycl` and `lib/libsycl.so` of Intel's SYCL runtime: HALOCLINE_SYCL_ROOT, or what
/// `use_sycl_root` named. Nothing when neither names one.
[[nodiscard]] std::optional<std::filesystem::path> runtime_root();

/// The runtime's version as its headers state it: part of every cache key.
/// @throws device_error when there are no such headers
[[nodiscard]] std::string runtime_version(const std::filesystem::path& root);

/// The bridge to the runtime. It is compiled by the C++ compiler of the system (HALOCLINE_SYCL_CXX, c++) at
/// the first call on a machine, kept in the disk cache, loaded once per process and never unloaded.
/// @throws device_error when there is no runtime, no compiler, or the compilation fails, with its messages
[[nodiscard]] const sycl_bridge::entry_points& bridge();

/// Throws device_error with what failed.
inline void check(sycl_bridge::outcome state, const char* what) {
  if (state != nullptr) throw device_error(text("SYCL: ", what, ": ", state));
}

}  // namespace halocline::backend::sycl
