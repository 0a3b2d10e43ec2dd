// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "halocline/memory/trace.hpp"

namespace halocline::memory {

struct buffer_state;

/// Part of a buffer that a step touches: bytes [offset, offset + bytes).
struct touched_part {
  buffer_state* state = nullptr;
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

/// Writes down what happens to the buffers of a runtime.
class trace_recorder {
 public:
  /// @param counts_steps time is the number of steps, a microsecond each, and not the clock's
  explicit trace_recorder(bool counts_steps) noexcept : counts_steps_(counts_steps) {}

  [[nodiscard]] bool is_on() const noexcept { return is_on_; }
  /// Starts with an empty trace whose clock begins now.
  /// @param step number of steps so far
  void start(std::uint64_t step);
  /// Stops and returns what was recorded.
  [[nodiscard]] trace stop();
  /// Prefix of the tags of later events; empty ends it.
  void set_phase(std::string phase);

  // Nothing happens while it is off.
  void allocated(buffer_state& state, std::uint64_t step);
  /// Ends the recording when it cannot write that down: a trace with a hole would mislead.
  void freed(buffer_state& state, std::uint64_t step) noexcept;
  void begin_step(std::span<const touched_part> reads, std::span<const touched_part> writes,
                  std::string_view op, std::uint64_t stream, std::uint64_t step);
  /// The buffer has got a recipe after its row was written.
  void learn_recovery(const buffer_state& state);

 private:
  struct context {
    std::string_view op;
    std::uint64_t stream = 0;
    std::uint64_t step = 0;
  };
  void record(trace_action action, buffer_state& state, std::size_t offset, std::size_t bytes,
              const context& of);
  [[nodiscard]] std::uint32_t number_of_op(std::string_view op);
  [[nodiscard]] std::uint32_t number_of_tag(const char* tag);

  bool counts_steps_;
  bool is_on_ = false;
  std::uint64_t recording_ = 0;  ///< number of this recording, for `buffer_state::recording`
  std::uint64_t start_ns_ = 0, start_step_ = 0;
  std::string phase_;
  trace trace_;
  struct text_numbers {  ///< by address: a row then needs no comparison of texts
    std::string op;
    std::uint32_t op_number = 0;
    std::unordered_map<const char*, std::uint32_t> tags;
  } numbers_;
};

}  // namespace halocline::memory
