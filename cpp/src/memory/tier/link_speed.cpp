// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/tier/link_speed.hpp"

#include <algorithm>
#include <limits>

#include "halocline/core/expects.hpp"
#include "halocline/core/format.hpp"
#include "memory/tier/pages.hpp"

namespace halocline::memory {
namespace {

using clock = std::chrono::steady_clock;

constexpr int most_rounds = 3;

/// A slot and a frame of the same size for the time of a measurement.
class scratch {
 public:
  scratch(store& place, std::size_t bytes) : place_(place), bytes_(bytes), frame_(map_pages(bytes)) {
    HALOCLINE_EXPECTS(frame_ != nullptr, out_of_memory, "measuring a link: no frame of ", format_bytes(bytes),
                      "; measure with fewer bytes");
    try {
      slot_ = place.allocate(bytes);
    } catch (...) {
      unmap_pages(frame_, bytes_);
      throw;
    }
    // Disks may treat zeros in a way of their own. The constant is the golden ratio's, as good as any odd
    // one.
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < bytes; i += sizeof word) {
      word = (word + 0x9E3779B97F4A7C15U) * 0x9E3779B97F4A7C15U;
      std::copy_n(reinterpret_cast<const std::byte*>(&word), sizeof word, frame_ + i);
    }
  }
  ~scratch() {
    place_.free(slot_);
    unmap_pages(frame_, bytes_);
  }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;

  /// Seconds that a transfer of the first `bytes` bytes takes.
  [[nodiscard]] double write(std::size_t bytes) {
    const clock::time_point begin = clock::now();
    place_.wait(place_.write(slot_, frame_, bytes));
    return since(begin);
  }
  [[nodiscard]] double read(std::size_t bytes) {
    const clock::time_point begin = clock::now();
    place_.wait(place_.read(slot_, frame_, bytes));
    return since(begin);
  }

 private:
  static double since(clock::time_point begin) {
    return std::max(std::chrono::duration<double>(clock::now() - begin).count(), 1e-9);
  }

  store& place_;
  std::size_t bytes_;
  std::byte* frame_;
  slot_id slot_ = no_slot;
};

}  // namespace

link_speed measure_link(store& place, std::size_t bytes, std::chrono::milliseconds patience) {
  HALOCLINE_EXPECTS(bytes >= page_bytes, invalid_argument, "measuring a link with ", bytes,
                    " bytes; at least ", page_bytes, " are needed");
  const std::size_t whole = bytes / page_bytes * page_bytes;
  const clock::time_point end = clock::now() + patience;
  scratch space(place, whole);
  double write = std::numeric_limits<double>::infinity();
  double read = write, small_write = write, small_read = write;
  for (int round = 0; round < most_rounds && (round == 0 || clock::now() < end); ++round) {
    write = std::min(write, space.write(whole));
    read = std::min(read, space.read(whole));
    small_write = std::min(small_write, space.write(page_bytes));
    small_read = std::min(small_read, space.read(page_bytes));
  }
  const auto to_ns = [](double seconds) { return static_cast<std::uint64_t>(seconds * 1e9); };
  const auto rate = [whole](double seconds) { return static_cast<double>(whole) / seconds; };
  return {rate(read), rate(write), to_ns(small_read), to_ns(small_write)};
}

}  // namespace halocline::memory
