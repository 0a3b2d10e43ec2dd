// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/memory/cuda_memory.hpp"

#include <exception>
#include <utility>

#include "backend/cuda/device/driver_calls.hpp"
#include "backend/cuda/memory/device_range.hpp"
#include "backend/cuda/memory/lane_kernels.hpp"
#include "backend/cuda/memory/lane_order.hpp"
#include "backend/cuda/memory/managed_tier.hpp"
#include "backend/cuda/memory/open_memory.hpp"
#include "backend/cuda/memory/pinned_pages.hpp"
#include "backend/cuda/memory/pool_tier.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::backend::cuda {
namespace {

using memory::advice;
using memory::lane;
using memory::stamp;
using memory::ticket;

class cuda_memory final : public memory::device_memory {
 public:
  explicit cuda_memory(std::shared_ptr<device_context> device)
      : device_(std::move(device)), order_(device_) {}

  [[nodiscard]] std::string describe() const override {
    return text("HBM of ", device_->properties().name, " (cuda:", device_->ordinal(), ")");
  }
  [[nodiscard]] std::size_t total_bytes() const override { return device_->properties().totalGlobalMem; }
  [[nodiscard]] std::size_t free_bytes() const override {
    device_->make_current();
    std::size_t open = 0, total = 0;
    check(cudaMemGetInfo(&open, &total), "ask for free device memory");
    return open;
  }

  [[nodiscard]] std::unique_ptr<memory::tier> make_pool_tier() override {
    return cuda::make_pool_tier(device_);
  }
  [[nodiscard]] std::unique_ptr<memory::device_range> make_range(std::size_t bytes) override {
    return make_device_range(device_, bytes);
  }
  [[nodiscard]] std::unique_ptr<memory::tier> make_managed_tier(bool stream_ordered) override {
    return cuda::make_managed_tier(device_, stream_ordered);
  }
  [[nodiscard]] std::byte* allocate_pinned(std::size_t bytes) override {
    device_->make_current();
    return pinned_.allocate(bytes);
  }
  void free_pinned(std::byte* data) noexcept override {
    if (is_usable()) pinned_.free(data);
  }

  void copy(lane on, std::byte* to, const std::byte* from, std::size_t bytes) override {
    device_->make_current();
    if (on == lane::compute) device_->flush();
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, order_.stream(on)), "copy between tiers");
  }
  void move_down(std::span<const memory::block_move> blocks) override {
    device_->make_current();
    device_->flush();
    cuda::move_down(*device_, blocks);
  }
  void occupy(std::uint64_t nanoseconds) override {
    device_->make_current();
    device_->flush();
    cuda::occupy(*device_, nanoseconds);
  }
  void wipe(std::byte* data, std::size_t bytes) noexcept override {
    device_->flush_quietly();  // deferred kernels may still use the bytes
    cudaMemsetAsync(data, 0, bytes, device_->compute());
  }
  void advise(std::byte* data, std::size_t bytes, advice hint, bool set) override {
    if (hint == advice::none) return;
    device_->make_current();
    const bool mostly = hint == advice::read_mostly;
    const cudaMemoryAdvise given =
        mostly ? (set ? cudaMemAdviseSetReadMostly : cudaMemAdviseUnsetReadMostly)
               : (set ? cudaMemAdviseSetPreferredLocation : cudaMemAdviseUnsetPreferredLocation);
    const cudaError_t state =
        cudaMemAdvise(data, bytes, given, {cudaMemLocationTypeDevice, device_->ordinal()});
    // A driver takes no advice about memory from a managed pool. Only speed depends on it.
    if (state == cudaErrorNotSupported) {
      (void)cudaGetLastError();
      return;
    }
    check(state, "advise about managed memory");
  }
  void prefetch(std::byte* data, std::size_t bytes, bool to_device) override {
    device_->make_current();
    device_->flush();
    const cudaMemLocation place = to_device ? cudaMemLocation{cudaMemLocationTypeDevice, device_->ordinal()}
                                            : cudaMemLocation{cudaMemLocationTypeHost, 0};
    check(cudaMemPrefetchAsync(data, bytes, place, 0, device_->compute()), "prefetch managed memory");
  }

  [[nodiscard]] ticket mark(lane of) override { return order_.mark(of); }
  [[nodiscard]] bool passed(lane of, ticket moment) override { return order_.passed(of, moment); }
  void order(lane waiting, lane of, ticket moment) override { order_.order(waiting, of, moment); }
  void wait(lane of, ticket moment) override { order_.wait(of, moment); }
  [[nodiscard]] stamp take_time(lane of) override { return order_.take_time(of); }
  [[nodiscard]] std::optional<std::uint64_t> nanoseconds(stamp begin, stamp end) override {
    return order_.nanoseconds(begin, end);
  }

 private:
  /// False in a forked process, where nothing of the device may be touched.
  [[nodiscard]] bool is_usable() const noexcept {
    try {
      device_->make_current();
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  std::shared_ptr<device_context> device_;
  lane_order order_;
  pinned_pages pinned_;
};

}  // namespace

std::shared_ptr<memory::device_memory> make_cuda_memory(std::shared_ptr<device_context> device) {
  return std::make_shared<cuda_memory>(std::move(device));
}

std::shared_ptr<memory::device_memory> open_memory(int ordinal) {
  return make_cuda_memory(device_context::open(ordinal));
}

}  // namespace halocline::backend::cuda
