// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "halocline/pir/database.hpp"

namespace halocline::pir {

/// How much of a batch is worked on at once: less takes less memory.
struct batch_steps {
  std::size_t queries = 1;    ///< that are expanded together
  std::uint32_t columns = 0;  ///< that are multiplied before they are selected among; 0: all
};

/// The largest steps with which temporaries take at most `limit` bytes; the smallest that there are where
/// that is not enough.
[[nodiscard]] batch_steps choose_steps(const context& ctx, const database& of, std::size_t batch,
                                       std::size_t limit);

/// Queries that pass over the database together, so that what is kept of them, and the sums of a group of
/// columns, take at most `limit` bytes: all, or parts of a batch that are as equal as they can be; one at
/// least.
[[nodiscard]] std::size_t choose_pass(const context& ctx, const database& of, std::size_t batch,
                                      std::size_t limit);

/// Bytes for the temporaries of a batch: half of a budget where buffers can lose their frames, because the
/// database passes through the other half; else what the database leaves of the budget, or of the device.
[[nodiscard]] std::size_t scratch_within(std::size_t budget, bool moves, const database& of) noexcept;
/// The same for the budget of a context, or for its device.
[[nodiscard]] std::size_t scratch_limit(const context& ctx, const database& of);

}  // namespace halocline::pir
