// SPDX-License-Identifier: Apache-2.0
#include "backend/sycl/memory/sycl_memory.hpp"

#include <algorithm>
#include <utility>

#include "backend/sycl/memory/lane_order.hpp"
#include "backend/sycl/memory/usm_tier.hpp"
#include "backend/sycl/runtime/sycl_runtime.hpp"

namespace halocline::backend::sycl {
namespace {

using memory::advice;
using memory::lane;
using memory::stamp;
using memory::ticket;

class sycl_memory final : public memory::device_memory {
 public:
  explicit sycl_memory(std::shared_ptr<device_context> device)
      : device_(std::move(device)), order_(device_) {}
  ~sycl_memory() override {
    if (spare_ != nullptr) spare_tier_->free(spare_, spare_bytes);
  }
  sycl_memory(const sycl_memory&) = delete;
  sycl_memory& operator=(const sycl_memory&) = delete;

  [[nodiscard]] std::string describe() const override {
    return text("memory of ", device_->facts().name, " (sycl:", device_->ordinal(), ")");
  }
  [[nodiscard]] std::size_t total_bytes() const override { return device_->facts().memory_bytes; }
  /// SYCL has no portable question for what is free.
  [[nodiscard]] std::size_t free_bytes() const override { return device_->facts().memory_bytes; }

  [[nodiscard]] std::unique_ptr<memory::tier> make_pool_tier() override {
    return make_usm_tier(device_, sycl_bridge::place::device);
  }
  [[nodiscard]] std::unique_ptr<memory::device_range> make_range(std::size_t bytes) override {
    return make_usm_range(device_, bytes);
  }
  [[nodiscard]] std::unique_ptr<memory::tier> make_managed_tier(bool) override {
    HALOCLINE_EXPECTS(device_->facts().shared, device_error, "SYCL: ", device_->facts().name,
                      " has no memory that migrates; use another policy than 'managed'");
    return make_usm_tier(device_, sycl_bridge::place::shared);
  }
  [[nodiscard]] std::byte* allocate_pinned(std::size_t bytes) override {
    void* made = nullptr;
    check(device_->use().allocate(sycl_bridge::place::host, bytes, made), "allocate host memory");
    return static_cast<std::byte*>(made);
  }
  void free_pinned(std::byte* data) noexcept override {
    if (data != nullptr && device_->usable()) device_->use().release(data);
  }

  void copy(lane on, std::byte* to, const std::byte* from, std::size_t bytes) override {
    check(device_->use().copy(queue(on), to, from, bytes), "copy between tiers");
  }
  void move_down(std::span<const memory::block_move> blocks) override {
    for (const memory::block_move& each : blocks) move_one(each);
  }
  /// Fills a block again and again, at about the speed of such memories.
  void occupy(std::uint64_t nanoseconds) override {
    const std::uint64_t bytes_per_nanosecond = device_->facts().processor ? 10 : 500;
    constexpr std::size_t block_bytes = std::size_t{16} << 20;
    const std::unique_ptr<memory::tier> pool = make_pool_tier();
    void* const block = pool->allocate(block_bytes);
    if (block == nullptr) return;
    const std::uint64_t rounds = nanoseconds * bytes_per_nanosecond / block_bytes + 1;
    for (std::uint64_t i = 0; i < rounds; ++i) {
      check(device_->use().fill(queue(lane::compute), block, static_cast<int>(i & 1), block_bytes),
            "fill memory");
    }
    pool->free(block, block_bytes);
  }
  void wipe(std::byte* data, std::size_t bytes) noexcept override {
    if (device_->usable()) (void)device_->use().fill(queue(lane::compute), data, 0, bytes);
  }
  /// SYCL's hints are numbers of each vendor; results do not depend on them.
  void advise(std::byte*, std::size_t, advice, bool) override {}
  void prefetch(std::byte* data, std::size_t bytes, bool to_device) override {
    if (to_device)
      check(device_->use().prefetch(queue(lane::compute), data, bytes), "prefetch shared memory");
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
  [[nodiscard]] static unsigned queue(lane of) noexcept { return static_cast<unsigned>(of); }
  /// Copies may not overlap themselves: what moves by less than a piece goes through a spare block, piece by
  /// piece, so that nothing is overwritten before it was read.
  void move_one(const memory::block_move& block) {
    const auto distance = static_cast<std::size_t>(block.from - block.to);
    const bool spare = distance < std::min(block.bytes, spare_bytes);
    const std::size_t step = spare ? spare_bytes : distance;
    for (std::size_t done = 0; done < block.bytes; done += step) {
      const std::size_t piece = std::min(step, block.bytes - done);
      const std::byte* from = block.from + done;
      if (spare) {
        copy(lane::compute, spare_block(), from, piece);
        from = spare_block();
      }
      copy(lane::compute, block.to + done, from, piece);
    }
  }
  [[nodiscard]] std::byte* spare_block() {
    if (!spare_tier_) spare_tier_ = make_pool_tier();
    if (spare_ == nullptr) spare_ = static_cast<std::byte*>(spare_tier_->allocate(spare_bytes));
    HALOCLINE_EXPECTS(spare_ != nullptr, device_error, "SYCL: no ", spare_bytes,
                      " bytes left to move buffers");
    return spare_;
  }

  static constexpr std::size_t spare_bytes = std::size_t{1} << 20;

  std::shared_ptr<device_context> device_;
  lane_order order_;
  std::unique_ptr<memory::tier> spare_tier_;
  std::byte* spare_ = nullptr;
};

}  // namespace

std::shared_ptr<memory::device_memory> make_sycl_memory(std::shared_ptr<device_context> device) {
  return std::make_shared<sycl_memory>(std::move(device));
}

}  // namespace halocline::backend::sycl
