// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "halocline/core/error.hpp"
#include "halocline/memory/plan/program.hpp"

namespace halocline::memory {

/// How following a plan ended.
struct plan_outcome {
  std::size_t steps_followed = 0;
  bool diverged = false;
  std::string reason;  ///< why the plan was abandoned, readable; else empty
};

}  // namespace halocline::memory

namespace halocline::memory::plan {

/// What the executor does to one object.
enum class verb : std::uint8_t {
  /// Start a transfer of the first `pages` pages into a new frame. With `planner_options::allow_resize` the
  /// object may have a frame already: it grows to `pages`, and only the missing pages are transferred.
  load,
  expand,      ///< give it a new frame and regenerate its first `pages` pages from the seed; likewise
  encode,      ///< the same for a plaintext, from its coefficients
  drop,        ///< hand its frame back; its contents are on the slow tier
  write_back,  ///< start a transfer to the slow tier; the frame is handed back when it is done
  shrink,      ///< hand back the frame but for its first `pages` pages; only with `allow_resize`
};

/// One instruction: carried out before the step begins, in the order of the list. `load` waits for room, and
/// everything behind it waits too.
struct directive {
  step_index before = 0;
  object_index target = 0;
  std::uint32_t pages = 0;
  verb action{};

  bool operator==(const directive&) const = default;
};

/// A rotation that a program should not load a key for: `element` is the product, modulo 2N, of `parts`.
struct composition {
  std::uint64_t element = 0;
  std::vector<std::uint64_t> parts;

  bool operator==(const composition&) const = default;
};

/// What the planner expects of one link of a chain of tiers.
struct link_forecast {
  std::string name;
  std::uint64_t loads = 0;
  std::uint64_t loaded_bytes = 0;
  /// No schedule takes fewer bytes from there: contents that no nearer tier has when the program begins.
  std::uint64_t least_bytes = 0;
  double busy_ns = 0;
  double ns_per_byte = 0;  ///< what was assumed

  bool operator==(const link_forecast&) const = default;
};

/// What the planner expects of a run.
struct forecast {
  std::uint64_t footprint_bytes = 0;  ///< pages of all objects that are touched
  std::uint64_t minimum_bytes = 0;    ///< smallest capacity that would do
  std::uint64_t peak_bytes = 0;       ///< largest sum of frames
  std::uint64_t loaded_bytes = 0;
  std::uint64_t written_bytes = 0;
  std::uint64_t expanded_bytes = 0;
  std::uint64_t encoded_bytes = 0;
  std::uint64_t lower_bound_bytes = 0;  ///< no schedule brings back fewer bytes (load, expand and encode)
  double resident_ns = 0;               ///< compute time alone
  double total_ns = 0;                  ///< with stalls and regeneration
  double stall_ns = 0;                  ///< waiting for transfers
  double load_busy_ns = 0;              ///< link into the fast tier
  double store_busy_ns = 0;             ///< link out of it
  std::vector<link_forecast> links{};   ///< of a chain of tiers, nearest first; their loads are in the sums

  /// loaded + expanded + encoded bytes over the lower bound, minus 1; 0 when both are 0, infinite when only
  /// the bound is.
  [[nodiscard]] double gap() const noexcept;
  /// No schedule takes less time: the largest of computing alone, the least bytes of each link at its speed,
  /// and the lower bound of bytes at the speed of all links together. `by` gets what that is: "compute", the
  /// name of a link, or "links". Without a chain, and for plans that regenerate, computing alone.
  [[nodiscard]] double bound_ns(std::string* by = nullptr) const;
  bool operator==(const forecast&) const = default;
};

/// How to run one program within a capacity. Deterministic: equal inputs give equal plans.
struct plan {
  std::uint64_t capacity_bytes = 0;
  /// Settings that the program ran with: any text; a run with another one refuses the plan.
  std::string parameters;
  std::vector<object> objects;
  std::vector<std::uint32_t> hashes;  ///< per step, see `program::hashes`
  std::vector<directive> directives;  ///< ascending by `before`
  std::vector<composition> compositions;
  forecast expected;

  /// Number of steps of the program.
  [[nodiscard]] std::size_t steps() const noexcept { return hashes.size(); }
  bool operator==(const plan&) const = default;
};

/// A plan that the budget of the moment cannot hold. Budgets change while programs run: plan again.
class exceeds_budget : public invalid_argument {
 public:
  using invalid_argument::invalid_argument;
};

/// Plan as bytes: magic, format version, lengths, tables, checksum (docs/reference/plan_format.md).
[[nodiscard]] std::vector<std::byte> to_bytes(const plan& source);
/// @throws corrupt_data when the bytes are not exactly what `to_bytes` of this format version writes: magic,
///   version, sizes, checksum, and every index within its table.
[[nodiscard]] plan plan_from_bytes(std::span<const std::byte> bytes);

/// Readable summary: sizes, number of directives by kind, compositions and forecast; not the lists.
[[nodiscard]] std::string to_json(const plan& source);

}  // namespace halocline::memory::plan
