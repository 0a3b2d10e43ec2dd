// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halocline/core/stream_view.hpp"
#include "halocline/memory/buffer.hpp"
#include "halocline/memory/stats.hpp"
#include "halocline/memory/trace.hpp"

namespace halocline::memory {

class tier;
class policy;
class runtime;

/// Part of a buffer that a step touches: bytes [offset, offset + bytes).
struct operand {
  const buffer* data = nullptr;
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

/// Pins the buffers of one step. Pointers are valid while the object lives. Move-only.
class access {
 public:
  access(access&&) noexcept = default;
  access& operator=(access&&) noexcept = delete;
  ~access() = default;

  /// Address of byte `offset` of a buffer that this step acquired; nullptr on the ghost backend.
  [[nodiscard]] std::byte* pointer(const buffer& data, std::size_t offset = 0) const noexcept;

 private:
  friend class runtime;
  access() noexcept = default;
};

/// How a runtime is set up.
struct runtime_options {
  /// Bytes of the fast tier that may be live; 0 means unlimited.
  std::size_t budget_bytes = 0;
  std::string policy = "resident";
  /// No memory, no arithmetic: for traces, key plans and footprints.
  bool ghost = false;
  bool record_trace = false;
  /// Freed bytes kept for re-use (never beyond the budget).
  std::size_t cache_bytes = std::size_t{64} << 20;
};

/// Owns every byte that kernels touch. Buffers must not outlive it (they keep it alive: see `create`).
/// Thread-safe.
class runtime : public std::enable_shared_from_this<runtime> {
 public:
  /// @throws invalid_argument for an unknown policy.
  [[nodiscard]] static std::shared_ptr<runtime> create(const runtime_options& options);
  ~runtime();
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;

  /// Allocates `bytes` uninitialised bytes. `tag` must outlive the runtime (a string literal).
  /// `wipe` zeroes the bytes when they are freed (secret material).
  /// @throws invalid_argument for 0 bytes.
  /// @throws out_of_memory when the policy refuses; the message names the largest live objects and the
  ///   smallest budget that would have done so far.
  [[nodiscard]] buffer allocate(std::size_t bytes, object_class cls, const char* tag, bool wipe = false);

  /// Begins a step: makes all operands resident, pins them while the result lives and records the accesses.
  /// An operand that is both read and written appears in both lists.
  /// @throws invalid_argument when a buffer is empty, belongs to another runtime, or a range is outside it.
  [[nodiscard]] access acquire(std::span<const operand> reads, std::span<const operand> writes,
                               std::string_view op, stream_view stream = {});

  /// The counters at this moment.
  [[nodiscard]] stats statistics() const;
  /// Sets the peak counters back to the present live bytes.
  void reset_peak();
  [[nodiscard]] bool is_ghost() const noexcept { return options_.ghost; }
  [[nodiscard]] const runtime_options& options() const noexcept { return options_; }

  /// Starts recording with an empty trace whose clock begins now.
  void start_trace();
  /// Stops recording and returns what was recorded.
  [[nodiscard]] trace stop_trace();
  /// Adds a mark to the trace that later events carry as a prefix of their tag ("conv1/key_switch"); empty
  /// ends it.
  void set_phase(std::string phase);
  /// Gives cached bytes back to the operating system.
  void trim();

 private:
  friend class buffer;
  explicit runtime(const runtime_options& options);
  void free(buffer_state& state) noexcept;
  void record(trace_action action, const buffer_state& state, std::size_t offset, std::size_t bytes,
              std::string_view op, std::uint64_t stream);
  [[noreturn]] void throw_out_of_memory(std::size_t bytes, object_class cls, const char* tag) const;

  runtime_options options_;
  std::unique_ptr<tier> device_;
  std::unique_ptr<policy> policy_;
  mutable std::mutex mutex_;
  stats stats_;
  std::vector<buffer_state*> live_;
  std::uint64_t next_id_ = 1;
  bool tracing_ = false;
  std::uint64_t trace_start_ns_ = 0;
  std::uint64_t trace_start_step_ = 0;
  std::string phase_;
  trace trace_;
};

}  // namespace halocline::memory
