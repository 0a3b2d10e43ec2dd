// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backend/cuda/device/device_context.hpp"
#include "backend/graph/device_api.hpp"

namespace halocline::backend::cuda {

/// CUDA graphs of kernels on the compute stream of a card, which outlives them.
[[nodiscard]] std::unique_ptr<graph::device_api> make_graph_api(const device_context& device);

}  // namespace halocline::backend::cuda
