// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halocline/backend/device_report.hpp"

namespace halocline::backend {

/// Report on card `ordinal`; see `report_device`.
[[nodiscard]] device_report report_cuda_device(int ordinal, bool measure_links);

}  // namespace halocline::backend
