// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "halocline/backend/backend.hpp"

namespace halocline::backend {

/// Backend for the processor this program runs on: SIMD kernels chosen at run time, threads over limbs.
/// @param threads worker threads; 0 takes the number of processors
/// @param scalar use the scalar specification instead of SIMD kernels
[[nodiscard]] std::shared_ptr<backend> make_cpu_backend(std::shared_ptr<memory::runtime> runtime,
                                                        unsigned threads, bool scalar);

}  // namespace halocline::backend
