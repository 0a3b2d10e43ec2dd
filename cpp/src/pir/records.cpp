// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/records.hpp"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "halocline/core/expects.hpp"

namespace halocline::pir {
namespace {

class memory_records final : public record_store {
 public:
  explicit memory_records(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] std::uint64_t bytes() const noexcept override { return bytes_.size(); }
  void read(std::uint64_t offset, std::span<std::byte> out) const override {
    expect_inside(offset, out.size());
    const std::shared_lock reading(mutex_);
    std::ranges::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset),
                        static_cast<std::ptrdiff_t>(out.size()), out.begin());
  }
  void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    expect_inside(offset, bytes.size());
    const std::unique_lock writing(mutex_);
    std::ranges::copy(bytes, bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
  }

 private:
  void expect_inside(std::uint64_t offset, std::uint64_t count) const {
    HALOCLINE_EXPECTS(offset <= bytes_.size() && count <= bytes_.size() - offset, invalid_argument,
                      "records: bytes [", offset, ", ", offset + count, ") of ", bytes_.size(),
                      "; expected a range within them");
  }

  std::vector<std::byte> bytes_;
  mutable std::shared_mutex mutex_;
};

}  // namespace

std::shared_ptr<record_store> make_memory_records(std::vector<std::byte> bytes) {
  return std::make_shared<memory_records>(std::move(bytes));
}

}  // namespace halocline::pir
