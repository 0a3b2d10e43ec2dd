// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// What the library asks of a SYCL runtime. The bridge (sycl_bridge.cpp) implements it with the runtime's own
/// headers; it is compiled where that runtime is installed, and loaded at run time. Only plain types cross.
namespace halocline::sycl_bridge {

/// Changes with every change of this file.
inline constexpr unsigned api_version = 1;

/// nullptr: done. Otherwise what failed; valid until the thread's next call.
using outcome = const char*;

/// Kinds of memory that SYCL calls unified shared memory.
enum class place : std::uint8_t {
  device,  ///< of the device; not for the host
  shared,  ///< migrates
  host,    ///< of the host; the device reads it where it is
};

/// Readable facts and limits of a device.
struct device_facts {
  char name[256];
  char driver[128];
  char platform[128];
  bool processor;  ///< a CPU
  bool doubles;    ///< has 64-bit floating point
  bool shared;     ///< has memory that migrates
  bool system;     ///< kernels may use any memory of the process
  unsigned units;
  std::uint64_t memory_bytes;
  std::uint64_t cache_bytes;
  std::uint64_t local_bytes;
  std::uint64_t group_limit;       ///< work items of a group
  std::uint64_t allocation_limit;  ///< bytes of one allocation
};

/// A text that a kernel includes under this name; the first one of a list is compiled.
struct source_text {
  const char* name;
  const char* contents;
};

/// A moment in a queue.
class event {
 public:
  virtual ~event() = default;
  virtual outcome passed(bool& answer) noexcept = 0;
  virtual outcome wait() noexcept = 0;
  /// When the queue reached it.
  virtual outcome nanoseconds(std::uint64_t& at) noexcept = 0;
};

/// Kernels of one image, ready to run.
class program {
 public:
  virtual ~program() = default;
  /// `kernel` lives as long as the program.
  virtual outcome find(const char* name, void*& kernel) noexcept = 0;
};

/// A device with three queues that run in order: 0 for kernels, 1 and 2 for copies.
class device {
 public:
  virtual ~device() = default;
  virtual outcome describe(device_facts& facts) noexcept = 0;

  /// SPIR-V of SYCL source, handed to `take`.
  virtual outcome compile(const source_text* texts, std::size_t count, const char* const* options,
                          std::size_t option_count, void (*take)(void* to, const void* bytes, std::size_t n),
                          void* to) noexcept = 0;
  virtual outcome load(const void* spirv, std::size_t bytes, program*& made) noexcept = 0;
  /// Runs a kernel that takes one pointer.
  virtual outcome launch(void* kernel, std::size_t groups, std::size_t group_size,
                         const void* parameter) noexcept = 0;

  /// `made` is nullptr where there is no memory.
  virtual outcome allocate(place in, std::size_t bytes, void*& made) noexcept = 0;
  virtual void release(void* data) noexcept = 0;
  virtual outcome copy(unsigned queue, void* to, const void* from, std::size_t bytes) noexcept = 0;
  virtual outcome fill(unsigned queue, void* at, int byte, std::size_t bytes) noexcept = 0;
  virtual outcome prefetch(unsigned queue, const void* data, std::size_t bytes) noexcept = 0;

  virtual outcome mark(unsigned queue, event*& made) noexcept = 0;
  /// Later work of `queue` waits for `moment`.
  virtual outcome order(unsigned queue, event* moment) noexcept = 0;
  virtual outcome wait(unsigned queue) noexcept = 0;
};

/// `halocline_sycl_bridge_v1`, the only symbol of the bridge.
struct entry_points {
  unsigned version;
  outcome (*count)(unsigned& devices);
  outcome (*open)(unsigned ordinal, device*& made);
};
inline constexpr char entry_symbol[] = "halocline_sycl_bridge_v1";

}  // namespace halocline::sycl_bridge
