// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "backend/graph/launch_list.hpp"

namespace halocline::backend::graph {

/// A graph on a device: the launches of a list, each behind the one before.
class executable {
 public:
  virtual ~executable() = default;
  /// Gives node `i` the parameters of `list`, which has the shape of the graph. Launches so far keep theirs.
  virtual void patch(const launch_list& list, std::size_t i) = 0;
  /// Puts the whole graph on the compute stream.
  virtual void launch() = 0;
};

/// What recording needs of a device. All members throw device_error or out_of_memory naming an operation.
class device_api {
 public:
  virtual ~device_api() = default;
  /// Launches one kernel on the compute stream.
  virtual void launch(const launch_list& list, std::size_t i) = 0;
  /// Makes a graph and gets it ready on the device.
  [[nodiscard]] virtual std::unique_ptr<executable> build(const launch_list& list) = 0;
  /// Marks the beginning and the end of what is to be timed on the compute stream.
  virtual void mark(bool end) noexcept = 0;
  /// Nanoseconds between the last two marks, once the device has passed the second; nothing where it has not.
  [[nodiscard]] virtual std::optional<double> elapsed() noexcept = 0;
};

}  // namespace halocline::backend::graph
