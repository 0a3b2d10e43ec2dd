// SPDX-License-Identifier: Apache-2.0
#include "memory/device/device_transport.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <utility>

#include "halocline/core/error.hpp"
#include "memory/device/device_frames.hpp"
#include "memory/device/device_store.hpp"
#include "memory/pager/pager.hpp"

namespace halocline::memory {
namespace {

constexpr std::size_t probe_bytes = std::size_t{16} << 20;
constexpr std::size_t small_bytes = 4096;

/// Memory of this machine, or of the container that the process is in.
std::size_t machine_bytes() {
  auto bytes =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::ifstream limit("/sys/fs/cgroup/memory.max");
  std::size_t most = 0;
  if (limit >> most && most != 0) bytes = std::min(bytes, most);
  return bytes;
}

device_store_options store_options(const runtime_options& options, std::shared_ptr<store> overflow) {
  device_store_options made;
  made.pinned_bytes = options.pinned_bytes != 0 ? options.pinned_bytes : machine_bytes() / 2;
  made.overflow = std::move(overflow);
  made.blocking = options.blocking_copies;
  made.requests = options.remote_requests;
  // Without a file that was asked for, keys are read again from their store.
  made.sinks_remote = !options.tier_folder.empty() || options.tier_limit_bytes != 0;
  return made;
}

class device_transport final : public transport {
 public:
  device_transport(const runtime_options& options, std::shared_ptr<store> overflow)
      : transport(options.device),
        device_(options.device),
        slow_(std::make_unique<device_store>(device_, store_options(options, std::move(overflow)))),
        blocking_(options.blocking_copies) {}

  [[nodiscard]] std::unique_ptr<frames> make_frames(std::shared_ptr<memory_budget> budget,
                                                    frame_holder& holder) override {
    return std::make_unique<device_frames>(device_, std::move(budget), holder);
  }
  [[nodiscard]] store& slow() noexcept override { return *slow_; }
  [[nodiscard]] std::optional<fence> let_go(transfer_id transfer) noexcept override {
    return slow_->detach(transfer);
  }
  void wipe(std::byte* frame, std::size_t bytes) noexcept override {
    device_->wipe(frame, bytes);
    slow_->compute_went_on();
  }
  void wipe_inherited(std::byte*, std::size_t) noexcept override {}
  void begin_reads() noexcept override { slow_->begin_reads(); }
  void end_reads() noexcept override { slow_->end_reads(); }
  void compute_went_on() noexcept override { slow_->compute_went_on(); }
  [[nodiscard]] bool is_link_idle() override { return slow_->is_idle(); }
  void before_eviction() override {
    if (blocking_) device_->wait(lane::compute, device_->mark(lane::compute));
  }
  [[nodiscard]] bool may_share_during_steps() const noexcept override { return false; }
  [[nodiscard]] link_speed measure_link(pager& pages) override;

 private:
  [[nodiscard]] double seconds_of(bool write, slot_id slot, std::byte* frame, std::size_t bytes);
  [[nodiscard]] link_speed measure_with(slot_id slot, std::byte* frame);

  std::shared_ptr<device_memory> device_;
  std::unique_ptr<queued_store> slow_;
  bool blocking_;
};

double device_transport::seconds_of(bool write, slot_id slot, std::byte* frame, std::size_t bytes) {
  device_->wait(lane::compute, device_->mark(lane::compute));
  const auto begin = std::chrono::steady_clock::now();
  const lane on = write ? lane::save : lane::load;
  (void)slow_->detach(write ? slow_->write(slot, frame, bytes) : slow_->read(slot, frame, bytes));
  device_->wait(on, device_->mark(on));
  return std::max(1e-6, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}

link_speed device_transport::measure_with(slot_id slot, std::byte* frame) {
  const auto time = [&](bool write, std::size_t bytes) { return seconds_of(write, slot, frame, bytes); };
  (void)time(true, probe_bytes), (void)time(false, probe_bytes);  // the first use of pages costs extra
  link_speed result;
  result.write_bytes_per_second = static_cast<double>(probe_bytes) / time(true, probe_bytes);
  result.read_bytes_per_second = static_cast<double>(probe_bytes) / time(false, probe_bytes);
  result.write_latency_ns = static_cast<std::uint64_t>(1e9 * time(true, small_bytes));
  result.read_latency_ns = static_cast<std::uint64_t>(1e9 * time(false, small_bytes));
  return result;
}

link_speed device_transport::measure_link(pager& pages) {
  link_speed result{50e9, 50e9, 10'000, 10'000};  // PCI Express 5, where nothing can be measured
  std::byte* const frame = pages.lend_frame(probe_bytes);
  if (frame == nullptr) return result;
  slot_id slot = no_slot;
  try {
    slot = slow_->allocate(probe_bytes);
    result = measure_with(slot, frame);
  } catch (const io_error&) {  // no room for the probe
  }
  if (slot != no_slot) slow_->free(slot);
  pages.take_back(frame, probe_bytes);
  return result;
}

}  // namespace

std::unique_ptr<transport> make_device_transport(const runtime_options& options,
                                                 std::shared_ptr<store> overflow) {
  return std::make_unique<device_transport>(options, std::move(overflow));
}

}  // namespace halocline::memory
