// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "halocline/memory/recipe.hpp"

namespace halocline::backend {

/// How a table comes back when its copy on the slow tier is lost: it is computed and uploaded again. Plans
/// never prefer that to a copy.
class table_recipe final : public memory::recipe {
 public:
  /// Computes and uploads the whole table.
  using writer = std::function<void(const memory::buffer& target)>;
  explicit table_recipe(writer write) : write_(std::move(write)) {}

  /// `copy`: plans prefer the copy.
  [[nodiscard]] memory::recovery kind() const noexcept override { return memory::recovery::copy; }
  /// The frame is a full one: tables are not made again in part.
  void regenerate(const memory::buffer& target, std::size_t) const override { write_(target); }

 private:
  writer write_;
};

}  // namespace halocline::backend
