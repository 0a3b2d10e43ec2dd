// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "halocline/memory/object_class.hpp"
#include "halocline/memory/runtime.hpp"

namespace halocline::memory {

/// What a runtime knows of one buffer. Holds the runtime alive, so that handles may die in any order.
struct buffer_state {
  std::shared_ptr<runtime> owner;
  std::uint64_t id = 0;
  std::size_t bytes = 0;
  object_class cls{};
  const char* tag = "";
  bool wipe = false;
  std::byte* data = nullptr;
  std::size_t live_index = 0;  ///< position in the runtime's list of live buffers
};

}  // namespace halocline::memory
