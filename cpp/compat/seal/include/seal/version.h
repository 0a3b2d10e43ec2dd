// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Version of SEAL's interface that these headers follow. They are Halocline's own.
#define SEAL_VERSION "4.4.0"
#define SEAL_VERSION_MAJOR 4
#define SEAL_VERSION_MINOR 4
#define SEAL_VERSION_PATCH 0
/// Tells these headers from SEAL's own.
#define SEAL_IS_HALOCLINE 1

namespace seal {

/// A version of SEAL.
struct SEALVersion {
  unsigned char major = SEAL_VERSION_MAJOR;
  unsigned char minor = SEAL_VERSION_MINOR;
  unsigned char patch = SEAL_VERSION_PATCH;
  unsigned char tweak = 0;
};

}  // namespace seal
