// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "halocline/pir/geometry.hpp"

namespace halocline::pir {

/// Longest name of a scheme, in bytes.
inline constexpr std::size_t max_name_bytes = 64;
/// Most bits of a component of an answer: what `backend::round_answer_job` has.
inline constexpr unsigned max_answer_bits = 63;

/// @throws invalid_argument unless records, layout and failure probability are what they may be
void check_geometry(const geometry& of);

/// Of what a secret is made for: ring degree, primes and errors. Secrets carry it.
[[nodiscard]] fingerprint ring_fingerprint_of(const parameters& scheme);

}  // namespace halocline::pir
