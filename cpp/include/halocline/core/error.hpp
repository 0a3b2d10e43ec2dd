// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace halocline {

/// Root of every exception thrown by the library. `what()` says what failed, what was given, what was
/// expected and how to fix it.
class error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An argument is outside its documented range, or objects that do not belong together were combined.
class invalid_argument : public error {
 public:
  using error::error;
};

/// A parameter set misses 128 bits of security and `allow_insecure` was not given.
class insecure_parameters : public invalid_argument {
 public:
  using invalid_argument::invalid_argument;
};

/// Objects that belong to two secret keys were combined: the message names both (`ckks::key_id`).
class key_mismatch : public invalid_argument {
 public:
  using invalid_argument::invalid_argument;
};

/// An operation needs more levels than the ciphertext has left.
class level_exhausted : public error {
 public:
  using error::error;
};

/// Two operands carry scales that cannot be reconciled at the level they have.
class scale_mismatch : public error {
 public:
  using error::error;
};

/// An evaluation key is not in the key set, or is there for too few levels.
class missing_key : public error {
 public:
  using error::error;
};

/// A tier cannot hold what a step needs.
class out_of_memory : public error {
 public:
  using error::error;
};

/// Bytes from outside or from a slow tier fail validation: truncated, corrupted, foreign or oversized.
class corrupt_data : public error {
 public:
  using error::error;
};

/// A file could not be read or written (missing, no permission, disk full).
class io_error : public error {
 public:
  using error::error;
};

/// A device or its driver failed, or a backend lacks an operation.
class device_error : public error {
 public:
  using error::error;
};

/// The work was cancelled by the caller (`memory::runtime::cancel`).
class cancelled : public error {
 public:
  using error::error;
};

}  // namespace halocline
