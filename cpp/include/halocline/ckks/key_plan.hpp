// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "halocline/ckks/key_set.hpp"

namespace halocline::ckks {

/// Key set of a ghost run: every key exists at once, as buffers without contents of the size for the highest
/// level of the parameters, and every request is recorded with the highest level it was made for. Its
/// `requests()` are exactly the keys that the program needs.
class recording_key_set final : public key_set {
 public:
  /// @param ghost must outlive this object
  /// @throws invalid_argument unless the context is on the ghost backend
  explicit recording_key_set(context& ghost);

  /// Makes a key without contents for that level now: for a second run, which starts with the keys, at the
  /// levels, that the first run requested. Does not count as a use.
  /// @throws invalid_argument when the level does not exist
  /// @param seeded without uniform halves, as an engine with `keep_seeds` keeps keys
  void prepare(const key_request& request, bool seeded = false);
  /// Makes a key without its uniform halves, if it was made before.
  void keep_seeded(std::uint64_t galois_element);
  [[nodiscard]] const evaluation_key& get(std::uint64_t galois_element, unsigned level) override;
  [[nodiscard]] bool contains(std::uint64_t, unsigned) const override { return true; }
  [[nodiscard]] std::vector<key_request> list() const override { return requests(); }
  /// How often each key was requested.
  [[nodiscard]] const std::map<std::uint64_t, std::uint64_t>& uses() const noexcept { return uses_; }
  /// Resets these counts.
  void reset_uses() { uses_.clear(); }
  /// Keys that were requested, ascending by element, each with the highest level.
  [[nodiscard]] std::vector<key_request> requests() const;
  /// The same in the order in which they were requested first.
  [[nodiscard]] std::vector<key_request> in_order() const;

 private:
  context& ghost_;
  std::map<std::uint64_t, unsigned> levels_;
  std::vector<std::uint64_t> order_;  ///< elements of `levels_`
  std::map<std::uint64_t, std::uint64_t> uses_;
  std::map<std::uint64_t, evaluation_key> keys_;
};

}  // namespace halocline::ckks
