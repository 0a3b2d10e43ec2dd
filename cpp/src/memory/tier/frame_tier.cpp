// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/tier/frame_tier.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "memory/tier/extent_list.hpp"
#include "memory/tier/pages.hpp"

namespace halocline::memory {
namespace {

/// Mappings that frames may be made of: systems limit those of a process, commonly to 65530.
constexpr std::size_t most_mappings = 16384;
/// Frames below this size come from places of their own: cut from where large ones lie, they would leave odd
/// pieces behind that all later frames there are made of, and moving costs as much for a small piece as for a
/// large one.
constexpr std::size_t small_bytes = std::size_t{128} << 10;

std::uint64_t address(const void* data) noexcept { return reinterpret_cast<std::uintptr_t>(data); }
std::byte* pointer(std::uint64_t address) noexcept { return reinterpret_cast<std::byte*>(address); }

class frame_tier final : public tier {
 public:
  frame_tier() = default;
  ~frame_tier() override { trim(); }
  frame_tier(const frame_tier&) = delete;
  frame_tier& operator=(const frame_tier&) = delete;

  [[nodiscard]] std::string_view name() const noexcept override { return "frames"; }

  [[nodiscard]] void* allocate(std::size_t bytes) override {
    if (bytes > SIZE_MAX - page_bytes) return nullptr;
    const std::size_t rounded = round_to_pages(bytes);
    if (rounded < small_bytes) prepare_small(rounded);
    if (const auto kept = list_for(rounded).take(rounded)) return pointer(*kept);
    std::byte* const block = cached_bytes() == 0 ? map_pages(rounded) : reserve(rounded);
    if (block != nullptr) gather(address(block), rounded);
    return block;
  }

  [[nodiscard]] bool joins() const noexcept override { return true; }

  void free(void* data, std::size_t bytes) noexcept override {
    const std::size_t rounded = round_to_pages(bytes);
    give(list_for(rounded), address(data), rounded);
  }

  [[nodiscard]] void* resize(void* data, std::size_t bytes, std::size_t new_bytes) noexcept override {
    if (new_bytes > SIZE_MAX - page_bytes) return nullptr;
    const std::uint64_t block = address(data);
    const std::size_t before = round_to_pages(bytes), after = round_to_pages(new_bytes);
    if (after < before) give(list_for(before - after), block + after, before - after);
    if (after <= before || large_.take_at(block + before, after - before)) return data;
    std::byte* const grown = reserve(after);
    if (grown == nullptr) return nullptr;
    gather(address(grown) + before, after - before);
    move(block, address(grown), before);
    return grown;
  }

  [[nodiscard]] std::size_t cached_bytes() const noexcept override { return large_.total() + small_.total(); }
  void trim() noexcept override { trim_to(0); }

  void trim_to(std::size_t bytes) noexcept override {
    while (cached_bytes() > bytes) {
      const auto gone = take_part(cached_bytes() - bytes);
      leave(gone->first, gone->second);
      unmap_pages(pointer(gone->first), gone->second);
    }
  }

 private:
  [[nodiscard]] std::byte* reserve(std::size_t bytes) const noexcept {
    return seams_.size() < most_mappings ? reserve_pages(bytes) : nullptr;
  }

  [[nodiscard]] extent_list& list_for(std::size_t bytes) noexcept {
    return bytes < small_bytes ? small_ : large_;
  }

  /// Sees to it that there is a free range for a small frame, where one can be cut from a large range.
  void prepare_small(std::size_t bytes) noexcept {
    if (small_.largest() >= bytes) return;
    if (const auto chunk = large_.take(small_bytes)) give(small_, *chunk, small_bytes);
  }

  /// A free range of at most `bytes` bytes; large ones first.
  [[nodiscard]] std::optional<std::pair<std::uint64_t, std::uint64_t>> take_part(std::size_t bytes) noexcept {
    const auto part = large_.take_up_to(bytes);
    return part ? part : small_.take_up_to(bytes);
  }

  /// Fills reserved addresses with pages from free ranges; when these are used up, the rest takes fresh ones.
  void gather(std::uint64_t to, std::size_t bytes) noexcept {
    while (bytes > 0) {
      const auto part = take_part(bytes);
      if (!part) return note(to);
      move(part->first, to, part->second);
      to += part->second;
      bytes -= part->second;
    }
  }

  /// Moves pages, one mapping after another.
  void move(std::uint64_t from, std::uint64_t to, std::size_t bytes) noexcept {
    const std::uint64_t end = from + bytes;
    for (std::uint64_t at = from; at < end;) {
      const auto seam = seams_.upper_bound(at);
      const std::uint64_t next = seam == seams_.end() || *seam > end ? end : *seam;
      note(to + (at - from));
      move_pages(pointer(at), pointer(to + (at - from)), next - at);
      at = next;
    }
    leave(from, bytes);
  }

  void give(extent_list& list, std::uint64_t at, std::size_t bytes) noexcept {
    try {
      list.give(at, bytes);
    } catch (...) {  // no memory to note it in
      leave(at, bytes);
      unmap_pages(pointer(at), bytes);
    }
  }

  /// Notes that a mapping begins at an address. Without the note moving it is slower, and nothing else.
  void note(std::uint64_t at) noexcept {
    try {
      seams_.insert(at);
    } catch (...) {
    }
  }

  /// Pages leave [at, at + bytes): what lies behind them becomes a mapping of its own.
  void leave(std::uint64_t at, std::size_t bytes) noexcept {
    seams_.erase(seams_.lower_bound(at), seams_.lower_bound(at + bytes));
    note(at + bytes);
  }

  extent_list large_, small_;      ///< free ranges
  std::set<std::uint64_t> seams_;  ///< addresses where a mapping begins, or may do so
};

}  // namespace

std::unique_ptr<tier> make_frame_tier() { return std::make_unique<frame_tier>(); }

}  // namespace halocline::memory
