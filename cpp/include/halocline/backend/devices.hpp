// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace halocline::backend {

/// Devices that engines and clients accept in this build on this machine: "cpu", "ghost", "cuda:0", "sycl:0".
/// Clients take no ghost. Those of SYCL are listed where a runtime was named (`use_sycl_root`) and can be used
/// (`sycl_problem`).
[[nodiscard]] std::vector<std::string> available_devices();

/// Names the folder where Intel's SYCL runtime (intel-sycl-rt) is installed: that with `include/sycl` and
/// `lib/libsycl.so`. The environment variable HALOCLINE_SYCL_ROOT goes before it. It is looked into when a
/// device "sycl:0" is opened, or devices are listed; the first of these calls on a machine compiles for some
/// seconds.
void use_sycl_root(const std::string& folder);

/// Why devices of the named SYCL runtime cannot be used; empty where they can, or where none was named.
[[nodiscard]] std::string sycl_problem();

}  // namespace halocline::backend
