// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "halocline/core/error.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/pir/stages.hpp"

/// Checks of the queries of a batch, before any is answered.
namespace halocline::pir::detail {

/// Calls `body()`; its errors say which query they are about.
template <typename BodyT>
auto of_query(std::size_t number, const BodyT& body) {
  const auto with_number = [number](const error& what) {
    return text("query ", number, " of the batch: ", what.what());
  };
  try {
    return body();
  } catch (const key_mismatch& found) {
    throw key_mismatch(with_number(found));
  } catch (const invalid_argument& found) {
    throw invalid_argument(with_number(found));
  } catch (const corrupt_data& found) {
    throw corrupt_data(with_number(found));
  }
}

/// Requires keys of all levels of the expansion.
void check_depth(const geometry& shape, const server_keys& keys);

/// The query of a client, checked.
[[nodiscard]] query_message read_query_of(const geometry& shape, const client_id& client,
                                          std::span<const std::byte> bytes);

}  // namespace halocline::pir::detail
