// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "halocline/params/parameters.hpp"

namespace halocline::params {

/// Names of all presets, in the order in which `params list` shows them.
///
/// `test-...` are insecure and small. `nX-dY` have N = 2^X, Y levels, 32-bit words and 40-bit scale
/// (`n13-d3` 39 bits). `FVa` .. `FTb` have the ring degree, log Q and number of primes of Table I of the
/// paper on hybrid unified memory (HEaaN's parameter sets), 64-bit words. All but `test-...` have at least
/// 128 bits by the tables of security.hpp.
[[nodiscard]] const std::vector<std::string>& preset_names();

/// One line on what the preset is for.
/// @throws invalid_argument unknown name
[[nodiscard]] const std::string& preset_description(std::string_view name);

/// The literal of a preset, a start for variations.
/// @throws invalid_argument unknown name; the message lists the names
[[nodiscard]] literal preset_literal(std::string_view name);

/// The preset, checked. Built once and shared.
/// @throws invalid_argument unknown name; the message lists the names
[[nodiscard]] parameters preset(std::string_view name);

}  // namespace halocline::params
