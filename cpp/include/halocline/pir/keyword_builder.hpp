// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "halocline/pir/keyword_layout.hpp"

namespace halocline::pir {

/// How a table is built.
struct keyword_build_options {
  unsigned attempts = 8;        ///< placements that are tried before the table grows by 2 %; 1 to 1000
  unsigned growths = 32;        ///< how often it may grow; 0 keeps the number of buckets
  std::uint64_t kicks = 10000;  ///< entries that may move for one key, with two or three hash functions
  tag_rule tags = tag_rule::safe;
  /// Called with what is done of how much: keys that have been placed by `place` (from 0 again in each
  /// attempt), then buckets written by `write`. Exceptions end the build.
  std::function<void(std::uint64_t, std::uint64_t)> progress{};
};

/// Makes the buckets of a table from its keys and values.
///
/// The same keys, values, layout and options give the same bytes, in whatever order the keys are added. Keys
/// are not kept, only their digests. Memory: the values, 32 bytes for each key (while it grows up to 64), 6
/// to 11 bytes for each key until `place`, and from there on 4 bytes for each slot and for each bucket.
///
/// One hash function: every key goes to its bucket, and the attempt fails when a bucket has too many. Two and
/// three: cuckoo hashing with buckets of several slots (Dietzfelbinger and Weidling, Theoretical Computer
/// Science 380, 2007), insertion by a random walk (Fotakis, Pagh, Sanders and Spirakis, STACS 2003). An
/// attempt also fails when two keys with equal tags could be taken for each other.
class keyword_builder {
 public:
  /// @param at of `choose_keyword_layout`; its attempt is the first one that is tried
  /// @throws invalid_argument as `check`, and for options out of their ranges
  explicit keyword_builder(const keyword_layout& at, keyword_build_options options = {});
  keyword_builder(keyword_builder&&) noexcept;
  ~keyword_builder();

  /// Makes room for so many keys, to save copies.
  void reserve(std::uint64_t keys);
  /// Adds a key with its value.
  /// @throws invalid_argument for a key that has been added before, one that is too long, a value that is too
  /// long, more than 2^32 - 2 keys, and after `place`
  void add(std::span<const std::byte> key, std::span<const std::byte> value);
  [[nodiscard]] std::uint64_t keys() const noexcept;

  /// Finds a place for every key.
  /// @return the layout of the table, with the attempt that succeeded and the buckets that were needed
  /// @throws invalid_argument when all attempts fail: the message says what helps
  keyword_layout place();
  /// Passes the buckets on in order, after `place`, which is called if that has not been done: the number of
  /// the first one and the bytes of several whole buckets, about 4 MiB at a time.
  void write(const std::function<void(std::uint64_t first, std::span<const std::byte> bytes)>& sink);
  /// Share of the slots that are used, after `place`.
  [[nodiscard]] double load() const noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace halocline::pir
