// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "halocline/ckks/key_set.hpp"
#include "halocline/params/parameters.hpp"

/// Sums of rotations in stages: what `evaluator::sum_rotations` carries out.
namespace halocline::ckks {

/// Rotations whose results are added, 0 among them for the operand itself.
using rotation_stage = std::vector<std::int64_t>;

/// Stages whose result is sum_{i < count} rotate(x, i * stride): as few as stages of at most `radix`
/// rotations can be, with as few keys as so many stages can have (128 rotations by radix 8: 8, 4 and 4). A
/// stage of r rotations has one decomposition and r - 1 keys: log2(r) doublings would have as many
/// decompositions and divisions as keys, but fewer keys.
/// @throws invalid_argument when `count`, or `radix` of 2 and more, is no power of two
[[nodiscard]] std::vector<rotation_stage> sum_stages(std::int64_t stride, std::uint32_t count,
                                                     unsigned radix);

/// Keys that the stages use at a level, ascending by Galois element.
[[nodiscard]] std::vector<key_request> keys_of(const params::parameters& parameters,
                                               std::span<const rotation_stage> stages, unsigned level);

}  // namespace halocline::ckks
