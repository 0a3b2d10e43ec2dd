// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace halocline::test {

/// File descriptors that this process has open.
[[nodiscard]] inline std::size_t open_descriptors() {
  namespace fs = std::filesystem;
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

/// Bytes of this process that are mapped, and those of them that are in memory.
struct memory_use {
  std::size_t mapped = 0;
  std::size_t resident = 0;
};

/// The memory of this process as the system sees it.
[[nodiscard]] inline memory_use process_memory() {
  memory_use use;
  std::ifstream("/proc/self/statm") >> use.mapped >> use.resident;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return {use.mapped * page, use.resident * page};
}

}  // namespace halocline::test
