// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/tier/frame_tier.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "memory/tier/extent_list.hpp"
#include "memory/tier/pages.hpp"
#include "memory/tier/workspace.hpp"

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

  /// Scratch and ciphertexts, which come and go with every operation, lie apart from keys, which stay.
  /// Scratch lies at one end and ciphertexts at the other one, because no scratch outlives its operation.
  [[nodiscard]] void* allocate_for(object_class cls, std::size_t bytes) override {
    const bool brief = cls == object_class::scratch || cls == object_class::ciphertext;
    if (!brief || bytes < small_bytes || bytes > SIZE_MAX - page_bytes) return allocate(bytes);
    const side from = cls == object_class::ciphertext ? side::low : side::high;
    std::vector<workspace::range> bare;
    const auto at = brief_.take(round_to_pages(bytes), from, bare);
    if (!at) return allocate(bytes);
    for (const auto& [begin, size] : bare) {
      gather(begin, size);
      note(begin + size);
    }
    return pointer(*at);
  }

  [[nodiscard]] bool joins() const noexcept override { return true; }

  void free(void* data, std::size_t bytes) noexcept override {
    give_back(address(data), round_to_pages(bytes));
  }

  [[nodiscard]] void* resize(void* data, std::size_t bytes, std::size_t new_bytes) noexcept override {
    if (new_bytes > SIZE_MAX - page_bytes) return nullptr;
    const std::uint64_t block = address(data);
    const std::size_t before = round_to_pages(bytes), after = round_to_pages(new_bytes);
    if (after < before) give_back(block + after, before - after);
    if (after <= before || large_.take_at(block + before, after - before)) return data;
    std::byte* const grown = reserve(after);
    if (grown == nullptr) return nullptr;
    gather(address(grown) + before, after - before);
    move(block, address(grown), before);
    if (brief_.contains(block)) brief_.give_bare(block, before);
    return grown;
  }

  [[nodiscard]] std::size_t cached_bytes() const noexcept override {
    return large_.total() + brief_.free_bytes() + small_.total();
  }
  void trim() noexcept override { trim_to(0); }

  void trim_to(std::size_t bytes) noexcept override {
    while (cached_bytes() > bytes) {
      const auto gone = take_part(cached_bytes() - bytes);
      discard(gone->first, gone->second);
    }
  }

 private:
  [[nodiscard]] std::byte* reserve(std::size_t bytes) const noexcept {
    return seams_.size() < most_mappings ? reserve_pages(bytes) : nullptr;
  }

  [[nodiscard]] extent_list& list_for(std::size_t bytes) noexcept {
    return bytes < small_bytes ? small_ : large_;
  }

  /// Makes a free range for a small frame, where one can be cut from a large range.
  void prepare_small(std::size_t bytes) noexcept {
    if (small_.largest() >= bytes) return;
    if (const auto chunk = large_.take(small_bytes)) give(small_, *chunk, small_bytes);
  }

  /// Pages of a free range, at most `bytes` bytes. Odd pieces come last: they cut the frame that they become
  /// part of, and with it all that are made of its pages later.
  [[nodiscard]] std::optional<std::pair<std::uint64_t, std::uint64_t>> take_part(std::size_t bytes) noexcept {
    if (const std::size_t whole = bytes / small_bytes * small_bytes; whole != 0) {
      if (const auto part = large_.take_up_to(whole, small_bytes)) return part;
      if (const auto part = brief_.take_pages(whole, small_bytes)) return part;
    }
    if (const auto part = large_.take_up_to(bytes)) return part;
    if (const auto part = brief_.take_pages(bytes, page_bytes)) return part;
    return small_.take_up_to(bytes);
  }

  /// Fills addresses with pages from free ranges; when these are used up, the rest takes fresh ones.
  void gather(std::uint64_t to, std::size_t bytes) noexcept {
    while (bytes > 0) {
      const auto part = take_part(bytes);
      if (!part) return note(to);
      const auto [from, size] = *part;
      if (seams_.size() < most_mappings) {
        move(from, to, size);
      } else {
        discard(from, size);
      }
      to += size;
      bytes -= size;
    }
  }

  /// Moves pages, one mapping after another.
  void move(std::uint64_t from, std::uint64_t to, std::size_t bytes) noexcept {
    const auto shift = brief_.contains(from) ? lend_pages : move_pages;
    seams_.erase(seams_.lower_bound(to), seams_.lower_bound(to + bytes));
    const std::uint64_t end = from + bytes;
    for (std::uint64_t at = from; at < end;) {
      const auto seam = seams_.upper_bound(at);
      const std::uint64_t next = seam == seams_.end() || *seam > end ? end : *seam;
      note(to + (at - from));
      shift(pointer(at), pointer(to + (at - from)), next - at);
      at = next;
    }
    leave(from, bytes);
  }

  /// Gives the pages of a range that was taken from a list back to the system.
  void discard(std::uint64_t at, std::size_t bytes) noexcept {
    if (!brief_.contains(at)) unmap_pages(pointer(at), bytes);
    leave(at, bytes);
  }

  void give_back(std::uint64_t at, std::size_t bytes) noexcept {
    if (brief_.contains(at)) return brief_.give(at, bytes);
    give(list_for(bytes), at, bytes);
  }

  void give(extent_list& list, std::uint64_t at, std::size_t bytes) noexcept {
    try {
      list.give(at, bytes);
    } catch (...) {  // no memory to note it in
      discard(at, bytes);
    }
  }

  /// Notes that a mapping begins at an address. Without the note a move is slower; nothing else depends on
  /// it.
  void note(std::uint64_t at) noexcept {
    try {
      seams_.insert(at);
    } catch (...) {
    }
  }

  /// Pages leave [at, at + bytes): what lies behind them becomes a mapping of its own. Addresses of the
  /// workspace become one, or seams would spread there with all that is moved out and in again.
  void leave(std::uint64_t at, std::size_t bytes) noexcept {
    seams_.erase(seams_.lower_bound(at), seams_.lower_bound(at + bytes));
    note(at + bytes);
    if (!brief_.contains(at)) return;
    empty_workspace(pointer(at), bytes);
    note(at);
  }

  workspace brief_;                ///< for frames that come and go quickly
  extent_list large_, small_;      ///< free ranges elsewhere
  std::set<std::uint64_t> seams_;  ///< addresses where a mapping begins, or may do so
};

}  // namespace

std::unique_ptr<tier> make_frame_tier() { return std::make_unique<frame_tier>(); }

}  // namespace halocline::memory
