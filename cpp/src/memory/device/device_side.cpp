// SPDX-License-Identifier: Apache-2.0
#include "memory/device/device_side.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>

#include "halocline/core/error.hpp"
#include "memory/device/device_store.hpp"
#include "memory/pager/pager.hpp"

namespace halocline::memory {
namespace {

/// Memory of this machine, or of the container that the process is in.
std::size_t machine_bytes() {
  auto bytes =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::ifstream limit("/sys/fs/cgroup/memory.max");
  std::size_t most = 0;
  if (limit >> most && most != 0) bytes = std::min(bytes, most);
  return bytes;
}

}  // namespace

bool device_side::bring(std::span<const step_use> uses) {
  try {
    managed->touch(uses);
    return true;
  } catch (const out_of_memory&) {
    return false;
  }
}

std::shared_ptr<store> make_device_slow(const runtime_options& options, std::shared_ptr<store> overflow) {
  device_store_options made;
  made.pinned_bytes = options.pinned_bytes != 0 ? options.pinned_bytes : machine_bytes() / 2;
  made.overflow = std::move(overflow);
  made.blocking = options.blocking_copies;
  return std::make_shared<device_store>(options.device, std::move(made));
}

}  // namespace halocline::memory
