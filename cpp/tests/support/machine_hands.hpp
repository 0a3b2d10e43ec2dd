// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "support/fake_card.hpp"

namespace halocline::test {

/// How a `memory_machine` touches the bytes of a step.
class machine_hands {
 public:
  using reader = std::function<void(const std::byte*)>;
  virtual ~machine_hands() = default;
  /// Shows `bytes` bytes at `data` to `look`, perhaps later.
  virtual void read(const std::byte* data, std::size_t bytes, reader look) = 0;
  virtual void write(std::byte* data, std::vector<std::byte> contents) = 0;
  /// Everything has been shown and written afterwards.
  virtual void finish() {}
};

/// In host memory.
class direct_hands final : public machine_hands {
 public:
  void read(const std::byte* data, std::size_t, reader look) override { look(data); }
  void write(std::byte* data, std::vector<std::byte> contents) override {
    std::memcpy(data, contents.data(), contents.size());
  }
};

/// On the compute lane of a fake card.
class card_hands final : public machine_hands {
 public:
  explicit card_hands(std::shared_ptr<fake_card> card) : card_(std::move(card)) {}
  void read(const std::byte* data, std::size_t, reader look) override {
    card_->enqueue(memory::lane::compute, [data, look = std::move(look)] { look(data); });
  }
  void write(std::byte* data, std::vector<std::byte> contents) override {
    card_->enqueue(memory::lane::compute, [data, contents = std::move(contents)] {
      std::memcpy(data, contents.data(), contents.size());
    });
  }
  void finish() override { card_->finish(); }

 private:
  std::shared_ptr<fake_card> card_;
};

}  // namespace halocline::test
