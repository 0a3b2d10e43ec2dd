// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "halocline/ckks/context.hpp"
#include "halocline/ckks/keys.hpp"

/// How many keys one call of the backend multiplies with. On GPUs a call for one key of a low level takes
/// little longer than its launch; but what a call touches must be in memory at once.
namespace halocline::ckks::detail {

/// Bytes that a call for several keys may touch: at most `most`. A call for one key may always touch what it
/// needs.
///
/// A sixth of `context::joining_budget`. Each call takes some 40 us beside its work, so fewer are faster
/// while keys stay in memory: by the model of the H200, bootstraps of `n16-boot` that were chosen for 5, 3.3,
/// 2 and 1 GiB take 0.85, 0.98, 0.98 and 0.99 of what they take with a twelfth, and a quarter saves at most 3
/// % more. Where most keys are loaded they leave less room for the next ones: unchosen bootstraps within 2
/// GiB take 7 % longer. Less where scratch, which stays in memory, and the call would take more than a
/// quarter together: a budget that is enough for calls with one key then stays enough.
[[nodiscard]] std::size_t call_bytes(const context& ctx, std::size_t most);

/// The same of products that are written: 0 on devices without a cache (`context::cache_bytes`), which gain
/// nothing, otherwise at most 512 MiB, which fill a card.
[[nodiscard]] std::size_t joined_bytes(const context& ctx);

/// How many of the next products one call makes: at least one, and as many as touch `limit` bytes together.
/// @param shared bytes that the call touches anyway
/// @param each bytes of every product
[[nodiscard]] std::size_t products_within(std::size_t limit, std::size_t shared,
                                          std::span<const std::size_t> each);
/// The same within `joined_bytes`.
[[nodiscard]] std::size_t products_per_call(const context& ctx, std::size_t shared,
                                            std::span<const std::size_t> each);

/// Bytes of the digits of a key that products with `numbers` read.
[[nodiscard]] std::size_t bytes_of(const evaluation_key& key, std::span<const std::uint32_t> numbers);

}  // namespace halocline::ckks::detail
