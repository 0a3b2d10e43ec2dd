// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace halocline::backend {

/// Devices that engines and clients accept in this build on this machine: "cpu", "ghost", "cuda:0". Clients
/// take no ghost.
[[nodiscard]] std::vector<std::string> available_devices();

}  // namespace halocline::backend
