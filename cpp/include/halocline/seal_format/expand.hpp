// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "halocline/seal_format/objects.hpp"

namespace halocline::seal_format {

/// Appends the polynomial that a seed stands for: n residues modulo each prime, in NTT form.
///
/// The generator gives blocks of 4096 bytes: block c is BLAKE2Xb of the 8 bytes of c with the seed as key, or
/// SHAKE256 of seed and c. All words are filled from the stream first. Then, in order, each word that is not
/// below the largest multiple of its prime less one is replaced by the following 8 bytes until one is, and
/// reduced.
void append_expanded(const seed& from, std::span<const std::uint64_t> primes, std::uint64_t n,
                     std::vector<std::uint64_t>& to);

}  // namespace halocline::seal_format
