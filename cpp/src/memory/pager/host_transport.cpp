// SPDX-License-Identifier: Apache-2.0
#include <sodium.h>

#include <utility>

#include "halocline/memory/tier/frame_tier.hpp"
#include "memory/pager/transport.hpp"

namespace halocline::memory {
namespace {

class host_transport final : public transport {
 public:
  explicit host_transport(std::shared_ptr<store> slow) : transport(nullptr), slow_(std::move(slow)) {}

  [[nodiscard]] std::unique_ptr<frames> make_frames(std::shared_ptr<memory_budget> budget,
                                                    frame_holder&) override {
    return make_host_frames(make_frame_tier(), std::move(budget));
  }
  [[nodiscard]] store& slow() noexcept override { return *slow_; }
  [[nodiscard]] std::optional<fence> let_go(transfer_id) noexcept override { return std::nullopt; }
  void wipe(std::byte* frame, std::size_t bytes) noexcept override { sodium_memzero(frame, bytes); }
  void wipe_inherited(std::byte* frame, std::size_t bytes) noexcept override { wipe(frame, bytes); }
  [[nodiscard]] link_speed measure_link(pager&) override { return memory::measure_link(*slow_); }

 private:
  std::shared_ptr<store> slow_;
};

}  // namespace

std::unique_ptr<transport> make_host_transport(std::shared_ptr<store> slow) {
  return std::make_unique<host_transport>(std::move(slow));
}

}  // namespace halocline::memory
