// SPDX-License-Identifier: Apache-2.0
#include "halocline/backend/registry.hpp"

#include "backend/cpu/cpu_backend.hpp"
#include "backend/ghost/ghost_backend.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::backend {

std::shared_ptr<backend> make_backend(std::string_view device, const backend_options& options) {
  memory::runtime_options memory = options.memory;
  if (device == "cpu") {
    memory.ghost = false;
    return make_cpu_backend(memory::runtime::create(memory), options.threads, options.scalar);
  }
  if (device == "ghost") {
    memory.ghost = true;
    return make_ghost_backend(memory::runtime::create(memory));
  }
  std::string known;
  for (const std::string& each : available_devices()) known += (known.empty() ? "" : ", ") + each;
  throw invalid_argument(text("unknown device '", device, "'; this build has: ", known));
}

std::vector<std::string> available_devices() { return {"cpu", "ghost"}; }

}  // namespace halocline::backend
