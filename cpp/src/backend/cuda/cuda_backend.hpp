// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "halocline/backend/backend.hpp"
#include "halocline/backend/registry.hpp"

namespace halocline::backend {

/// Backend on card `ordinal`, with a memory runtime of its own.
/// @throws device_error as `device_context::open`
[[nodiscard]] std::shared_ptr<backend> make_cuda_backend(int ordinal, const backend_options& options);

/// "cuda:0", ...: cards of this machine.
[[nodiscard]] std::vector<std::string> cuda_devices();

}  // namespace halocline::backend
