// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace halocline {

/// Names a queue of a backend without exposing the backend's own type. Work on one stream runs in order; the
/// default stream 0 exists on every backend. Trivially copyable, does not own anything.
class stream_view {
 public:
  constexpr stream_view() noexcept = default;
  constexpr explicit stream_view(std::uint64_t id) noexcept : id_(id) {}

  /// Number of the stream as it appears in traces.
  [[nodiscard]] constexpr std::uint64_t id() const noexcept { return id_; }

 private:
  std::uint64_t id_ = 0;
};

}  // namespace halocline
