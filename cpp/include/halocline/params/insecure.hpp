// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halocline/params/parameters.hpp"

namespace halocline::params {

/// Parameters of a literal that the caller accepts whatever their security: for tests, and for files of sets
/// that were secure by older tables. Sets `allow_insecure` where the literal would be refused without, and
/// leaves secure ones as they are; the fingerprint is the same.
/// @throws invalid_argument as `parameters::from_literal`
[[nodiscard]] parameters accept_insecure(literal source);

}  // namespace halocline::params
