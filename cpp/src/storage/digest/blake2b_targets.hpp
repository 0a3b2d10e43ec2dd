// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Must be included before any Highway header: the instruction sets that have lanes of their own, and the two
/// that Highway needs as baseline, on which messages are computed one by one.
#define HWY_DISABLED_TARGETS (~(HWY_AVX3 | HWY_AVX2 | HWY_NEON | HWY_EMU128 | HWY_SCALAR))
