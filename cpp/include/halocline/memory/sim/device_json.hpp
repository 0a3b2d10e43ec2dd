// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "halocline/memory/sim/device_model.hpp"

namespace halocline::memory::sim {

/// JSON form of a device model: an object with "schema" 1, "name", "constants" (one member per
/// `device_fields`, each `{"value": ..., "source": "..."}`), "operations" (by name, each `{"launches": ...,
/// "fixed_us": ..., "factor": ..., "source": "..."}`) and "other_operation" of the same form.
[[nodiscard]] std::string device_to_json(const device_model& model);

/// Reads what `device_to_json` wrote.
/// @throws corrupt_data when the text is no JSON, when a constant is missing, unknown or of the wrong kind,
///   or when `validate` refuses the model; the message names it.
[[nodiscard]] device_model device_from_json(std::string_view source);

}  // namespace halocline::memory::sim
