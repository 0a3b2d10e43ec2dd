// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/cuda/device/cuda_api.hpp"
#include "backend/cuda/device/device_context.hpp"
#include "backend/cuda/memory/cuda_memory.hpp"
#include "cuda/ratio_blocks.hpp"
#include "cuda/ratio_kernels.hpp"
#include "cuda/ratio_sweep.hpp"
#include "memory/device/device_frames.hpp"

namespace halocline::bench {
namespace {

using backend::cuda::check;
using backend::cuda::device_context;
using clock = std::chrono::steady_clock;

constexpr std::array<std::size_t, 8> sizes{4096,
                                           std::size_t{64} << 10,
                                           std::size_t{1} << 20,
                                           std::size_t{4} << 20,
                                           std::size_t{16} << 20,
                                           std::size_t{64} << 20,
                                           std::size_t{256} << 20,
                                           std::size_t{1} << 30};
constexpr std::size_t large = std::size_t{256} << 20;
constexpr int samples = 15;
constexpr int large_samples = 5;

/// A way to get memory.
class method {
 public:
  virtual ~method() = default;
  [[nodiscard]] virtual void* allocate(std::size_t bytes) = 0;
  virtual void free(void* data, std::size_t bytes) = 0;
};

class plain final : public method {
 public:
  void* allocate(std::size_t bytes) override {
    void* data = nullptr;
    check(cudaMalloc(&data, bytes), "ratio: cudaMalloc");
    return data;
  }
  void free(void* data, std::size_t) override { cudaFree(data); }
};

class managed final : public method {
 public:
  void* allocate(std::size_t bytes) override { return allocate_managed(bytes, false); }
  void free(void* data, std::size_t bytes) override { free_managed(data, bytes); }
};

/// Stream-ordered pool of device or of managed memory, which keeps what is freed.
class pooled final : public method {
 public:
  pooled(cudaStream_t stream, cudaMemAllocationType kind) : stream_(stream) {
    cudaMemPoolProps wanted{};
    wanted.allocType = kind;
    wanted.location = {cudaMemLocationTypeDevice, 0};
    check(cudaMemPoolCreate(&pool_, &wanted), "create a memory pool");
    std::uint64_t keep = UINT64_MAX;
    check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep), "set up a memory pool");
  }
  ~pooled() override {
    cudaStreamSynchronize(stream_);
    cudaMemPoolDestroy(pool_);
  }
  void* allocate(std::size_t bytes) override {
    void* data = nullptr;
    check(cudaMallocFromPoolAsync(&data, bytes, pool_, stream_), "ratio: cudaMallocFromPoolAsync");
    return data;
  }
  void free(void* data, std::size_t) override { cudaFreeAsync(data, stream_); }

 private:
  cudaStream_t stream_;
  cudaMemPool_t pool_ = nullptr;
};

/// A tier of this library.
class tiered final : public method {
 public:
  explicit tiered(std::unique_ptr<memory::tier> from) : from_(std::move(from)) {}
  void* allocate(std::size_t bytes) override { return from_->allocate(bytes); }
  void free(void* data, std::size_t bytes) override { from_->free(data, bytes); }

 private:
  std::unique_ptr<memory::tier> from_;
};

/// Frames of the pager: one arena that stays.
class framed final : public method, private memory::frame_holder {
 public:
  explicit framed(std::shared_ptr<memory::device_memory> on)
      : frames_(std::move(on), std::make_shared<memory::memory_budget>(arena_bytes), *this) {}
  void* allocate(std::size_t bytes) override { return frames_.take(bytes, memory::lane::compute); }
  void free(void* data, std::size_t bytes) override {
    frames_.give(static_cast<std::byte*>(data), bytes, memory::fence{});
  }

 private:
  static constexpr std::size_t arena_bytes = std::size_t{2} << 30;
  bool may_move(std::byte*) noexcept override { return false; }
  void moved(std::byte*, std::byte*) noexcept override {}

  memory::device_frames frames_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double microseconds(clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(clock::now() - begin).count();
}

json::value measure(const std::string& name, method& how, std::size_t bytes, const device_context& on) {
  std::vector<double> allocate, touch, release;
  const int count = bytes >= large ? large_samples : samples;
  for (int i = 0; i <= count; ++i) {  // the first one is left out: pools grow then
    auto begin = clock::now();
    void* const data = how.allocate(bytes);
    const double allocated = microseconds(begin);
    if (data == nullptr) return json::object{{"method", name}, {"bytes", std::uint64_t{bytes}}};
    begin = clock::now();
    launch_touch(data, bytes, on.compute());
    on.wait();
    const double touched = microseconds(begin);
    begin = clock::now();
    how.free(data, bytes);
    on.wait();
    const double freed = microseconds(begin);
    if (i == 0) continue;
    allocate.push_back(allocated);
    touch.push_back(touched);
    release.push_back(freed);
  }
  return json::object{{"method", name},
                      {"bytes", std::uint64_t{bytes}},
                      {"allocate_us", median(allocate)},
                      {"touch_us", median(touch)},
                      {"free_us", median(release)}};
}

}  // namespace

json::array run_allocations() {
  const std::shared_ptr<device_context> on = device_context::open(0);
  on->make_current();
  json::array rows;
  const auto sweep = [&](const std::string& name, method& how) {
    for (const std::size_t bytes : sizes) rows.push_back(measure(name, how, bytes, *on));
  };
  plain by_malloc;
  sweep("cudaMalloc", by_malloc);
  {
    pooled by_pool(on->compute(), cudaMemAllocationTypePinned);
    sweep("cudaMallocAsync", by_pool);
  }
  managed by_managed;
  sweep("cudaMallocManaged", by_managed);
  if (on->properties().concurrentManagedAccess != 0) {
    pooled by_managed_pool(on->compute(), cudaMemAllocationTypeManaged);
    sweep("managed pool", by_managed_pool);
  }
  {
    framed by_frames(backend::cuda::make_cuda_memory(on));
    sweep("halocline arena", by_frames);
  }
  tiered by_tier(backend::cuda::make_cuda_memory(on)->make_pool_tier());
  sweep("halocline pool tier", by_tier);
  return rows;
}

}  // namespace halocline::bench
