// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/graph/launch_recorder.hpp"

#include <cstdlib>
#include <string_view>

#include "backend/cuda/graph/graph_api.hpp"

namespace halocline::backend::cuda {
namespace {

graph::extent extent_of(const dim3& d) { return {d.x, d.y, d.z}; }

}  // namespace

launch_recorder::usage launch_recorder::usage_of_environment() {
  const char* const value = std::getenv("HALOCLINE_GRAPHS");
  if (value == nullptr) return usage::measured;
  if (std::string_view(value) == "0") return usage::never;
  return std::string_view(value) == "1" ? usage::always : usage::measured;
}

launch_recorder::launch_recorder(const device_context& device)
    : device_(device), api_(make_graph_api(device)), recorder_(*api_), use_(usage_of_environment()) {}

void launch_recorder::flush() {
  device_.make_current();
  recorder_.flush();
}

bool launch_recorder::begin(const kernel_launch& each) {
  if (!recorder_.open()) {
    recorder_.pass();
    return true;
  }
  recorder_.add({each.op, each.name, each.function, extent_of(each.grid), extent_of(each.block),
                 each.shared_bytes, each.params_bytes},
                each.params);
  return false;
}

}  // namespace halocline::backend::cuda
