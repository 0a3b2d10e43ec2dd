// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

namespace halocline::storage {

/// Calls `part` for 0 to count - 1, each once, in up to four threads.
/// @throws what the first failing part threw, when all threads are done; later parts are left out then
void in_threads(std::size_t count, const std::function<void(std::size_t)>& part);

}  // namespace halocline::storage
