// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "halocline/backend/backend.hpp"
#include "halocline/backend/registry.hpp"

namespace halocline::backend {

namespace sycl {
class device_context;
}

/// Backend on device `ordinal` of a SYCL runtime, with a memory runtime of its own.
/// @throws device_error as `sycl::device_context::open`
[[nodiscard]] std::shared_ptr<backend> make_sycl_backend(unsigned ordinal, const backend_options& options);

/// "sycl:0", ...: devices of this machine. Empty where no runtime was named or it cannot be used.
[[nodiscard]] std::vector<std::string> sycl_devices();

}  // namespace halocline::backend
