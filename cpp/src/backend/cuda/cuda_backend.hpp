// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "halocline/backend/backend.hpp"
#include "halocline/backend/registry.hpp"

namespace halocline::backend {

namespace cuda {
class device_context;
}

/// Backend on card `ordinal`, with a memory runtime of its own.
/// @throws device_error as `device_context::open`
[[nodiscard]] std::shared_ptr<backend> make_cuda_backend(int ordinal, const backend_options& options);

/// Backend on an open card; for programs that put work of their own on its streams.
[[nodiscard]] std::shared_ptr<backend> make_cuda_backend(std::shared_ptr<cuda::device_context> device,
                                                         const backend_options& options);

/// The card of a backend that `make_cuda_backend` made; nullptr for others.
[[nodiscard]] std::shared_ptr<cuda::device_context> device_of(const backend& of) noexcept;

/// "cuda:0", ...: cards of this machine.
[[nodiscard]] std::vector<std::string> cuda_devices();

}  // namespace halocline::backend
