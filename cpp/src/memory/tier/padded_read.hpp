// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "halocline/memory/remote_contents.hpp"

namespace halocline::memory {

/// Reads remote contents into whole pages: zeros behind their end.
inline void read_padded(const remote_contents& from, std::size_t offset, std::byte* to, std::size_t bytes) {
  const std::uint64_t all = from.bytes();
  const std::size_t there = offset >= all ? 0 : std::min<std::uint64_t>(bytes, all - offset);
  if (there != 0) from.read(offset, std::span(to, there));
  std::memset(to + there, 0, bytes - there);
}

}  // namespace halocline::memory
