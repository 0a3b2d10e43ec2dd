// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halocline/ckks/evaluator.hpp"

namespace halocline::circuits::detail {

/// Sets the evaluator's mode for the life of this object, so that circuits do not depend on the caller's
/// mode.
class mode_scope {
 public:
  mode_scope(ckks::evaluator& eval, ckks::maintenance mode) : eval_(eval), previous_(eval.mode()) {
    eval_.set_mode(mode);
  }
  ~mode_scope() { eval_.set_mode(previous_); }
  mode_scope(const mode_scope&) = delete;
  mode_scope& operator=(const mode_scope&) = delete;

 private:
  ckks::evaluator& eval_;
  ckks::maintenance previous_;
};

}  // namespace halocline::circuits::detail
