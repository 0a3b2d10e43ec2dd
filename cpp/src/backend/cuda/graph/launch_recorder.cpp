// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/graph/launch_recorder.hpp"

#include <cstdlib>
#include <string_view>

#include "backend/cuda/graph/graph_api.hpp"

namespace halocline::backend::cuda {
namespace {

graph::extent extent_of(const dim3& d) { return {d.x, d.y, d.z}; }

bool wanted_by_environment() {
  const char* const value = std::getenv("HALOCLINE_GRAPHS");
  return value == nullptr || std::string_view(value) != "0";
}

}  // namespace

launch_recorder::launch_recorder(const device_context& device)
    : device_(device), api_(make_graph_api(device)), recorder_(*api_), wanted_(wanted_by_environment()) {}

void launch_recorder::flush() {
  device_.make_current();
  recorder_.flush();
}

bool launch_recorder::begin(const kernel_launch& each) {
  if (!recorder_.open()) return true;
  recorder_.add({each.op, each.name, each.function, extent_of(each.grid), extent_of(each.block),
                 each.shared_bytes, each.params_bytes},
                each.params);
  return false;
}

}  // namespace halocline::backend::cuda
