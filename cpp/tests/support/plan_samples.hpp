// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "halocline/memory/plan/planner.hpp"
#include "support/random_program.hpp"

namespace halocline::test {

/// A small plan with every kind of entry.
[[nodiscard]] inline memory::plan::plan sample_plan() {
  const random_program random(7, 12);
  const auto source = memory::plan::make_program(random.trace(), {}, memory::plan::time_source::recorded);
  memory::plan::planner_options options;
  options.capacity_bytes = memory::plan::minimum_capacity(source) + 8 * memory::plan::page_bytes;
  options.parameters = "n15-d14";
  options.allow_resize = true;
  memory::plan::plan made = memory::plan::make_plan(source, options);
  made.compositions = {{25, {5, 5}}, {3125, {25, 125}}};
  return made;
}

/// Makes the checksum at the end of a damaged plan right: FNV-1a over all bytes before it.
inline void reseal_plan(std::vector<std::byte>& bytes) {
  if (bytes.size() < 8) return;
  std::uint64_t state = 0xCBF29CE484222325U;
  for (std::size_t i = 0; i + 8 < bytes.size(); ++i)
    state = (state ^ static_cast<std::uint8_t>(bytes[i])) * 0x100000001B3U;
  for (std::size_t i = 0; i < 8; ++i)
    bytes[bytes.size() - 8 + i] = static_cast<std::byte>(static_cast<std::uint8_t>(state >> (8 * i)));
}

}  // namespace halocline::test
