// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "halocline/memory/object_class.hpp"
#include "halocline/memory/plan/cost_model.hpp"
#include "halocline/memory/trace.hpp"

/// Planning: trace -> program (liveness) -> replacement -> schedule -> plan. Every stage is a pure function.
namespace halocline::memory::plan {

/// Frames of the fast tier are multiples of this many bytes (direct I/O).
inline constexpr std::size_t page_bytes = 4096;
/// Pages that hold `bytes`.
[[nodiscard]] constexpr std::uint32_t pages_of(std::uint64_t bytes) noexcept {
  return static_cast<std::uint32_t>((bytes + page_bytes - 1) / page_bytes);
}

/// Number of an object in `program::objects`: order of the allocate and exists rows of the trace; tables come
/// in order of their first use by a step, because when they are allocated is not part of a program.
using object_index = std::uint32_t;
/// Number of a step: operations counted from 0.
using step_index = std::uint32_t;
inline constexpr step_index no_step = ~step_index{0};

/// What is known of one buffer of a program.
struct object {
  std::uint64_t id = 0;        ///< buffer id in the trace
  std::uint64_t identity = 0;  ///< name that survives the process (`runtime::set_identity`); 0: none
  std::uint64_t bytes = 0;
  object_class cls{};
  recovery comes_back{};
  /// Whether it was there before the first step with contents. Tables count as such always: when they are
  /// built is not part of a program.
  bool preexisting = false;
  step_index born = 0;        ///< first step that may touch it
  step_index dead = no_step;  ///< first step after it was freed; `no_step`: lives on after the program

  bool operator==(const object&) const = default;
};

/// What one step does to one object.
struct use {
  object_index target = 0;
  std::uint32_t pages = 0;  ///< the step touches bytes within the first so many pages
  bool reads = false;       ///< needs earlier contents: read, or written in part
  bool writes = false;

  bool operator==(const use&) const = default;
};

/// A trace in the form that planning works on. Steps that write tables and nothing else are left out: when
/// tables are built differs between runs of the same program. A step touches each object at most once here;
/// its rows are merged.
struct program {
  std::vector<object> objects;
  std::vector<std::uint32_t> first_use;  ///< uses of step s are [first_use[s], first_use[s + 1])
  std::vector<use> uses;                 ///< per step in order of first appearance
  std::vector<std::uint32_t> hashes;     ///< fingerprint of each step: operation, and which objects it uses
  std::vector<double> duration_ns;       ///< compute time of each step
  std::vector<std::uint32_t> ops;        ///< operation of each step, numbers into `names`
  std::vector<std::string> names;

  /// Number of steps.
  [[nodiscard]] std::size_t steps() const noexcept { return first_use.empty() ? 0 : first_use.size() - 1; }
  /// Sum of the bytes, in whole pages, of all objects that some step touches.
  [[nodiscard]] std::uint64_t footprint_bytes() const;
};

/// Where step durations come from.
enum class time_source : std::uint8_t {
  costs,     ///< cost model: operation and bytes touched
  recorded,  ///< differences of `time_ns` between steps: for traces of real runs
};

/// Liveness: brings a trace into planning form. Uses of the same object in one step are merged; whether a
/// write covers the whole object (and needs no earlier contents) is found out here.
/// @throws corrupt_data when the trace contradicts itself: an event of a freed or unknown buffer, two
///   allocations of one id, steps out of order, a range outside its buffer, a buffer of no bytes or of more
///   than 2^43, more than 2^31 steps or uses.
[[nodiscard]] program make_program(const trace& recorded, const cost_model& costs,
                                   time_source source = time_source::costs);

/// What tells an object from others of its class and size in the fingerprints of steps: 1 + its number if the
/// program allocates it, its identity if it was there before, 0 where it has none. 0 for tables as well:
/// when they are built, and so whether they have an identity by then, is not part of a program.
[[nodiscard]] constexpr std::uint64_t which_object(const object& of, object_index number) noexcept {
  if (of.cls == object_class::table) return 0;
  return of.preexisting ? of.identity : std::uint64_t{1} + number;
}

/// Fingerprint of one step, as `make_program` computes it and as the executor checks it.
class step_hash {
 public:
  explicit step_hash(std::string_view op) noexcept;
  /// One merged use, in the order in which the step's operands appear (reads before writes). `writes`:
  /// whether any operand of the step writes the object. `which`: see `which_object`.
  void add(object_class cls, std::uint64_t object_bytes, bool writes, std::uint64_t which) noexcept;
  /// The fingerprint so far.
  [[nodiscard]] std::uint32_t value() const noexcept;

 private:
  std::uint64_t state_;
};

}  // namespace halocline::memory::plan
