// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "halocline/memory/object_class.hpp"
#include "halocline/memory/policy/policy.hpp"
#include "halocline/memory/recipe.hpp"
#include "halocline/memory/runtime.hpp"
#include "halocline/memory/tier/store.hpp"

namespace halocline::memory {

/// What is under way with the frame of a buffer.
enum class motion : unsigned char { none, loading, storing };

/// What a runtime records of one buffer. Keeps the runtime alive, so that handles may be destroyed in any
/// order.
struct buffer_state {
  std::shared_ptr<runtime> owner;
  std::uint64_t id = 0;
  std::size_t bytes = 0;
  object_class cls{};
  const char* tag = "";
  bool wipe = false;
  std::byte* data = nullptr;   ///< its frame; nullptr on the ghost backend, and while it has none
  std::size_t live_index = 0;  ///< position in the runtime's list of live buffers
  std::uint64_t identity = 0;
  std::shared_ptr<const recipe> source;
  std::uint64_t recording = 0;  ///< the recording that has an exists or allocate row of it
  std::size_t trace_row = 0;    ///< that row

  // Only under policies that move bytes.
  placement where = placement::pool;
  advice hint = advice::none;
  std::size_t frame_bytes = 0;                ///< whole pages
  bool has_contents = false;                  ///< something was written into it
  bool home_valid = false;                    ///< the slow tier holds the present contents
  bool from_recipe = false;                   ///< its recipe makes them at any time: no copy is needed
  std::shared_ptr<const std::string> lost{};  ///< the contents are nowhere: what every use throws
  slot_id slot = no_slot;                     ///< its room on the slow tier
  motion moving = motion::none;
  transfer_id transfer = 0;
  std::uint32_t pins = 0;
  std::uint32_t held = 0;     ///< accesses that know the address of its frame
  bool regenerating = false;  ///< its recipe writes its frame now
  bool listed = false;        ///< whether `order` is valid: it has a frame and may lose it
  std::list<buffer_state*>::iterator order{};
  std::uint32_t plan_object = ~std::uint32_t{0};  ///< number in the active plan
  bool planned_here = false;                      ///< the plan counts on its frame
  bool spare = false;                             ///< nothing that runs uses it: its frame goes first
  bool ahead = false;                             ///< in the pager's list of what is brought ahead

  /// Bytes of a full frame: whole pages.
  [[nodiscard]] std::size_t full_bytes() const noexcept { return (bytes + 4095) / 4096 * 4096; }
  /// Whether its frame holds the only copy of its contents.
  [[nodiscard]] bool needs_saving() const noexcept { return has_contents && !home_valid && !from_recipe; }
  [[nodiscard]] bool resident() const noexcept { return frame_bytes != 0; }
};

}  // namespace halocline::memory
