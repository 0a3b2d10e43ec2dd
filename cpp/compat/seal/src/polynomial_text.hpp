// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace seal::halocline_detail {

/// Coefficients of a polynomial such as "7FFx^3 + 1x^1 + 3", the constant one first.
/// @throws std::invalid_argument for another form, exponents that do not fall, or those of 131072 and more
[[nodiscard]] std::vector<std::uint64_t> read_polynomial(const std::string& text);
[[nodiscard]] std::string write_polynomial(std::span<const std::uint64_t> coefficients);

}  // namespace seal::halocline_detail
