// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Must be included before any Highway header: limits the instruction sets that kernels are compiled for,
/// because each one compiles every kernel again. Kept: AVX2, AVX-512, NEON, and the two scalar targets that
/// Highway needs as baseline (they get no vector kernels, see `simd_kernels.cpp`).
#define HWY_DISABLED_TARGETS (~(HWY_AVX3 | HWY_AVX2 | HWY_NEON | HWY_EMU128 | HWY_SCALAR))
