// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "halocline/memory/recipe.hpp"

namespace halocline::backend {

/// Recovery of a table whose copy on the slow tier is lost: it is computed and uploaded again. Plans always
/// prefer the copy.
class table_recipe final : public memory::recipe {
 public:
  /// Computes and uploads the whole table.
  using writer = std::function<void(const memory::buffer& target)>;
  explicit table_recipe(writer write) : write_(std::move(write)) {}

  /// `copy`: plans prefer the copy.
  [[nodiscard]] memory::recovery kind() const noexcept override { return memory::recovery::copy; }
  /// The frame has all bytes of the table: tables are not recomputed in part.
  void regenerate(const memory::buffer& target, std::size_t) const override { write_(target); }

 private:
  writer write_;
};

}  // namespace halocline::backend
