// SPDX-License-Identifier: Apache-2.0
#include "backend/sycl/runtime/parameter_space.hpp"

#include <algorithm>

#include "backend/sycl/runtime/sycl_runtime.hpp"

namespace halocline::backend::sycl {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 20;
constexpr std::size_t alignment = 64;

}  // namespace

parameter_space::~parameter_space() {
  for (const chunk& each : chunks_) device_.release(each.data);
}

void* parameter_space::take(std::size_t bytes) {
  bytes = (bytes + alignment - 1) / alignment * alignment;
  while (current_ < chunks_.size() && filled_ + bytes > chunks_[current_].bytes) {
    ++current_;
    filled_ = 0;
  }
  if (current_ == chunks_.size()) {
    const std::size_t size = std::max(chunk_bytes, bytes);
    chunks_.reserve(chunks_.size() + 1);
    void* data = nullptr;
    check(device_.allocate(sycl_bridge::place::host, size, data), "allocate memory for parameters");
    HALOCLINE_EXPECTS(data != nullptr, device_error, "SYCL: no host memory left for ", size,
                      " bytes of parameters of kernels");
    chunks_.push_back({static_cast<std::byte*>(data), size});
    filled_ = 0;
  }
  std::byte* const at = chunks_[current_].data + filled_;
  filled_ += bytes;
  used_ += bytes;
  return at;
}

void parameter_space::forget() noexcept { current_ = filled_ = used_ = 0; }

}  // namespace halocline::backend::sycl
