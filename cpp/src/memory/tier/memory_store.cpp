// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/tier/memory_store.hpp"

#include <chrono>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "halocline/core/expects.hpp"
#include "halocline/core/format.hpp"
#include "memory/tier/pages.hpp"

namespace halocline::memory {
namespace {

class memory_store final : public store {
 public:
  explicit memory_store(std::size_t capacity) : capacity_(capacity) {}
  ~memory_store() override {
    for (const auto& [slot, place] : slots_) unmap_pages(place.data, place.bytes);
  }
  memory_store(const memory_store&) = delete;
  memory_store& operator=(const memory_store&) = delete;

  [[nodiscard]] std::string_view name() const noexcept override { return "memory"; }

  [[nodiscard]] slot_id allocate(std::size_t bytes) override {
    HALOCLINE_EXPECTS(bytes > 0 && bytes % page_bytes == 0, invalid_argument, "memory tier: a slot of ",
                      bytes, " bytes; the size must be a multiple of ", page_bytes);
    const bool fits = capacity_ == 0 || (bytes <= capacity_ && stats_.slot_bytes <= capacity_ - bytes);
    HALOCLINE_EXPECTS(fits, io_error, "memory tier: no room for ", format_bytes(bytes), " (", bytes,
                      " bytes): the limit of ", format_bytes(capacity_), " is reached, ",
                      format_bytes(stats_.slot_bytes), " are in use. Raise the limit or the memory budget");
    const slot_id slot = next_slot_++;
    block& place = slots_[slot];
    place = {map_pages(bytes), bytes};
    if (place.data == nullptr) {
      slots_.erase(slot);
      throw io_error(text("memory tier: the system has no ", format_bytes(bytes), " (", bytes,
                          " bytes) left; use a tier in a file, or more memory"));
    }
    ++stats_.slots;
    stats_.slot_bytes += bytes;
    return slot;
  }

  void free(slot_id slot) noexcept override {
    const auto found = slots_.find(slot);
    if (found == slots_.end()) return;
    --stats_.slots;
    stats_.slot_bytes -= found->second.bytes;
    unmap_pages(found->second.data, found->second.bytes);
    slots_.erase(found);
  }

  [[nodiscard]] transfer_id read_from(slot_id slot, std::size_t offset, std::byte* frame,
                                      std::size_t bytes) override {
    std::byte* const data = checked(slot, offset, frame, bytes);
    ++stats_.reads;
    stats_.read_bytes += bytes;
    return begin({frame, data, bytes, &stats_.read_busy_ns});
  }

  [[nodiscard]] transfer_id write(slot_id slot, const std::byte* frame, std::size_t bytes) override {
    std::byte* const data = checked(slot, 0, frame, bytes);
    ++stats_.writes;
    stats_.written_bytes += bytes;
    return begin({data, frame, bytes, &stats_.written_busy_ns});
  }

  [[nodiscard]] bool poll(transfer_id transfer) override {
    const auto found = transfers_.find(transfer);
    if (found != transfers_.end()) run(found->second);
    return true;
  }

  void wait(transfer_id transfer) override {
    const auto found = transfers_.find(transfer);
    HALOCLINE_EXPECTS(found != transfers_.end(), invalid_argument, "memory tier: no transfer ", transfer);
    run(found->second);
    transfers_.erase(found);
  }

  [[nodiscard]] store_stats statistics() const override { return stats_; }

 private:
  struct block {
    std::byte* data;
    std::size_t bytes;
  };
  struct copy {
    std::byte* to;
    const std::byte* from;
    std::size_t bytes;  // 0 when it is done
    std::uint64_t* busy_ns;
  };

  [[nodiscard]] std::byte* checked(slot_id slot, std::size_t offset, const std::byte* frame,
                                   std::size_t bytes) const {
    const auto found = slots_.find(slot);
    HALOCLINE_EXPECTS(found != slots_.end(), invalid_argument, "memory tier: no slot ", slot);
    const std::size_t room = found->second.bytes;
    HALOCLINE_EXPECTS(bytes > 0 && bytes % page_bytes == 0 && offset % page_bytes == 0 && offset <= room &&
                          bytes <= room - offset,
                      invalid_argument, "memory tier: a transfer of ", bytes, " bytes at ", offset,
                      "; the slot has ", room, ", and sizes are multiples of ", page_bytes);
    HALOCLINE_EXPECTS(reinterpret_cast<std::uintptr_t>(frame) % page_bytes == 0, invalid_argument,
                      "memory tier: a frame must be aligned to ", page_bytes, " bytes");
    return found->second.data + offset;
  }

  [[nodiscard]] transfer_id begin(const copy& planned) {
    transfers_.emplace(next_transfer_, planned);
    return next_transfer_++;
  }

  static void run(copy& each) noexcept {
    if (each.bytes == 0) return;
    const auto begin = std::chrono::steady_clock::now();
    std::memcpy(each.to, each.from, std::exchange(each.bytes, 0));
    const auto spent = std::chrono::steady_clock::now() - begin;
    *each.busy_ns +=
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count());
  }

  std::size_t capacity_;
  std::unordered_map<slot_id, block> slots_;
  slot_id next_slot_ = 0;
  std::unordered_map<transfer_id, copy> transfers_;
  transfer_id next_transfer_ = 0;
  store_stats stats_;
};

}  // namespace

std::unique_ptr<store> make_memory_store(std::size_t capacity_bytes) {
  return std::make_unique<memory_store>(capacity_bytes);
}

}  // namespace halocline::memory
