// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/memory/device_range.hpp"

#include <cuda.h>

#include <exception>
#include <utility>
#include <vector>

#include "backend/cuda/device/driver_calls.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::backend::cuda {
namespace {

/// The driver's calls, found at run time: the library must load on machines without a driver.
struct virtual_memory {
  decltype(&cuMemGetAllocationGranularity) granularity =
      find<decltype(granularity)>("cuMemGetAllocationGranularity");
  decltype(&cuMemAddressReserve) reserve = find<decltype(reserve)>("cuMemAddressReserve");
  decltype(&cuMemAddressFree) unreserve = find<decltype(unreserve)>("cuMemAddressFree");
  decltype(&cuMemCreate) create = find<decltype(create)>("cuMemCreate");
  decltype(&cuMemRelease) release = find<decltype(release)>("cuMemRelease");
  decltype(&cuMemMap) map = find<decltype(map)>("cuMemMap");
  decltype(&cuMemUnmap) unmap = find<decltype(unmap)>("cuMemUnmap");
  decltype(&cuMemSetAccess) set_access = find<decltype(set_access)>("cuMemSetAccess");

  static const virtual_memory& get() {
    static const virtual_memory calls;
    return calls;
  }

 private:
  template <typename CallT>
  static CallT find(const char* name) {
    constexpr unsigned first_version = 10020;
    void* address = nullptr;
    cudaDriverEntryPointQueryResult state{};
    check(cudaGetDriverEntryPointByVersion(name, &address, first_version, cudaEnableDefault, &state),
          "look for the driver's virtual memory management");
    HALOCLINE_EXPECTS(address != nullptr, device_error, "cuda: the driver has no ", name,
                      "; policies 'lru' and 'planned' need it. Install a newer driver or use policy 'async'");
    return reinterpret_cast<CallT>(address);
  }
};

void check(CUresult code, const char* what) {
  HALOCLINE_EXPECTS(code == CUDA_SUCCESS, device_error, what, ": CUDA driver error ", static_cast<int>(code));
}

class mapped_range final : public memory::device_range {
 public:
  mapped_range(std::shared_ptr<device_context> device, std::size_t bytes)
      : device_(std::move(device)), calls_(virtual_memory::get()) {
    device_->make_current();
    properties_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties_.location = {CU_MEM_LOCATION_TYPE_DEVICE, device_->ordinal()};
    check(calls_.granularity(&unit_, &properties_, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
          "ask for the granularity of device memory");
    reserved_ = round_up(bytes);
    check(calls_.reserve(&base_, reserved_, 0, 0, 0), "reserve addresses of device memory");
  }
  ~mapped_range() override {
    if (shrink(0) == 0) calls_.unreserve(base_, reserved_);
  }
  mapped_range(const mapped_range&) = delete;
  mapped_range& operator=(const mapped_range&) = delete;

  [[nodiscard]] std::byte* base() const noexcept override { return reinterpret_cast<std::byte*>(base_); }

  [[nodiscard]] bool grow(std::size_t bytes) override {
    const std::size_t wanted = round_up(bytes);
    if (wanted <= mapped_) return true;
    if (wanted > reserved_) return false;
    device_->make_current();
    pieces_.reserve(pieces_.size() + 1);
    piece added{0, wanted - mapped_};
    driver::count(driver::call::allocation);
    const CUresult made = calls_.create(&added.handle, added.bytes, &properties_, 0);
    if (made == CUDA_ERROR_OUT_OF_MEMORY) return false;
    check(made, "allocate device memory");
    const CUdeviceptr at = base_ + mapped_;
    const CUmemAccessDesc access{properties_.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUresult state = calls_.map(at, added.bytes, 0, added.handle, 0);
    if (state == CUDA_SUCCESS) {
      state = calls_.set_access(at, added.bytes, &access, 1);
      if (state != CUDA_SUCCESS) calls_.unmap(at, added.bytes);
    }
    if (state != CUDA_SUCCESS) calls_.release(added.handle);
    if (state == CUDA_ERROR_OUT_OF_MEMORY) return false;
    check(state, "map device memory");
    pieces_.push_back(added);
    mapped_ = wanted;
    return true;
  }

  std::size_t shrink(std::size_t bytes) noexcept override {
    if (pieces_.empty() || mapped_ - pieces_.back().bytes < bytes) return mapped_;
    try {
      device_->make_current();
      device_->flush();
    } catch (const std::exception&) {  // a forked process, or a lost device: the memory is not ours to unmap
      return mapped_;
    }
    for (const cudaStream_t each : {device_->compute(), device_->load(), device_->save()}) {
      (void)driver::stream_synchronize(each);
    }
    while (!pieces_.empty() && mapped_ - pieces_.back().bytes >= bytes) {
      driver::count(driver::call::free);
      mapped_ -= pieces_.back().bytes;
      calls_.unmap(base_ + mapped_, pieces_.back().bytes);
      calls_.release(pieces_.back().handle);
      pieces_.pop_back();
    }
    return mapped_;
  }

 private:
  struct piece {
    CUmemGenericAllocationHandle handle;
    std::size_t bytes;
  };

  [[nodiscard]] std::size_t round_up(std::size_t bytes) const noexcept {
    return (bytes + unit_ - 1) / unit_ * unit_;
  }

  std::shared_ptr<device_context> device_;
  const virtual_memory& calls_;
  CUmemAllocationProp properties_{};
  std::size_t unit_ = 1;
  std::size_t reserved_ = 0;
  std::size_t mapped_ = 0;
  CUdeviceptr base_ = 0;
  std::vector<piece> pieces_;
};

}  // namespace

std::unique_ptr<memory::device_range> make_device_range(std::shared_ptr<device_context> device,
                                                        std::size_t bytes) {
  return std::make_unique<mapped_range>(std::move(device), bytes);
}

}  // namespace halocline::backend::cuda
