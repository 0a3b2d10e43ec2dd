// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "halocline/memory/tier/store.hpp"

namespace halocline::test {

/// Another store, and how many of the writes to it had certain bytes in them.
class watching_store final : public memory::store {
 public:
  /// @param pattern bytes to look for; not empty
  watching_store(std::unique_ptr<memory::store> inner, std::vector<std::byte> pattern)
      : inner_(std::move(inner)), pattern_(std::move(pattern)) {}

  [[nodiscard]] std::string_view name() const noexcept override { return inner_->name(); }
  [[nodiscard]] memory::slot_id allocate(std::size_t bytes) override { return inner_->allocate(bytes); }
  void free(memory::slot_id slot) noexcept override { inner_->free(slot); }
  [[nodiscard]] memory::transfer_id read_from(memory::slot_id slot, std::size_t offset, std::byte* frame,
                                              std::size_t bytes) override {
    return inner_->read_from(slot, offset, frame, bytes);
  }
  [[nodiscard]] memory::transfer_id write(memory::slot_id slot, const std::byte* frame,
                                          std::size_t bytes) override {
    ++writes_;
    const std::byte* const end = frame + bytes;
    if (std::search(frame, end, pattern_.begin(), pattern_.end()) != end) ++found_;
    return inner_->write(slot, frame, bytes);
  }
  [[nodiscard]] bool poll(memory::transfer_id transfer) override { return inner_->poll(transfer); }
  void wait(memory::transfer_id transfer) override { inner_->wait(transfer); }
  [[nodiscard]] memory::store_stats statistics() const override { return inner_->statistics(); }

  [[nodiscard]] std::size_t writes() const noexcept { return writes_; }
  [[nodiscard]] std::size_t found() const noexcept { return found_; }

 private:
  std::unique_ptr<memory::store> inner_;
  std::vector<std::byte> pattern_;
  std::size_t writes_ = 0;
  std::size_t found_ = 0;
};

}  // namespace halocline::test
