// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "halocline/memory/object_class.hpp"

namespace halocline::memory {

/// A place that holds bytes: an address space with a capacity. One object per place and runtime. Not
/// thread-safe; the runtime serialises calls.
class tier {
 public:
  virtual ~tier() = default;
  /// For messages: "host".
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Returns `bytes` bytes aligned to 64 or more, uninitialised; nullptr when the place cannot give them.
  [[nodiscard]] virtual void* allocate(std::size_t bytes) = 0;
  /// The same for an object of a class, from which a tier may predict how soon the bytes are freed.
  [[nodiscard]] virtual void* allocate_for(object_class cls, std::size_t bytes) {
    (void)cls;
    return allocate(bytes);
  }
  /// Frees bytes that `allocate(bytes)` returned. Never synchronizes a device.
  virtual void free(void* data, std::size_t bytes) noexcept = 0;
  /// Makes a block smaller or larger, moving it if need be; what was in it stays. nullptr, and nothing has
  /// changed, when the place cannot do that.
  [[nodiscard]] virtual void* resize(void* data, std::size_t bytes, std::size_t new_bytes) noexcept {
    (void)data, (void)bytes, (void)new_bytes;
    return nullptr;
  }
  /// Whether `allocate` and `resize` use up what is cached, whatever its sizes, before they take fresh bytes.
  /// Cached bytes then need not be given back to make room for blocks of another size.
  [[nodiscard]] virtual bool joins() const noexcept { return false; }
  /// Overwrites bytes in use with zeros, in the order of the work on them.
  virtual void wipe(void* data, std::size_t bytes) noexcept;
  /// In a forked child: overwrites this process's copy of bytes that its parent uses, where it has one.
  virtual void wipe_inherited(void* data, std::size_t bytes) noexcept { wipe(data, bytes); }
  /// Bytes kept for re-use.
  [[nodiscard]] virtual std::size_t cached_bytes() const noexcept = 0;
  /// Bytes of blocks in use beyond what was asked for: blocks handed out again for smaller requests.
  [[nodiscard]] virtual std::size_t slack_bytes() const noexcept { return 0; }
  /// Gives every cached byte back to the operating system or driver.
  virtual void trim() noexcept = 0;
  /// Gives cached bytes back until at most `bytes` of them are left.
  virtual void trim_to(std::size_t bytes) noexcept = 0;
};

/// DRAM tier where nothing moves: blocks of `arena_mapping_bytes` or more as in an arena tier, smaller ones
/// on the heap, aligned to 64 bytes. Freed blocks are kept for re-use by exact size, up to `cache_limit`
/// bytes in total, because a fresh block costs page faults.
[[nodiscard]] std::unique_ptr<tier> make_host_tier(std::size_t cache_limit);

}  // namespace halocline::memory
