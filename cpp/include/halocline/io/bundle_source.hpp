// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "halocline/ckks/key_source.hpp"
#include "halocline/io/container_reader.hpp"
#include "halocline/io/key_file.hpp"

namespace halocline::io {

/// The keys of a bundle as a source of an engine: each is read when it is asked for, and of a key that is
/// needed for lower levels only the prefix of each digit.
class bundle_source final : public ckks::key_source {
 public:
  /// @param ctx the engine's context; must outlive the source
  /// @param wanted limits the source to these keys, each to its level; those that the bundle lacks are left
  ///   out, and of those that it has for lower levels it offers these
  /// @param in_turn says that all keys will be loaded in the order of `list`: the next one is then fetched
  ///   while one is unpacked
  bundle_source(const input& from, ckks::context& ctx,
                const std::optional<std::vector<ckks::key_request>>& wanted = {}, bool in_turn = false);

  [[nodiscard]] const ckks::key_id& id() const noexcept override { return reader_.id(); }
  [[nodiscard]] std::vector<ckks::key_request> list() const override;
  [[nodiscard]] ckks::evaluation_key load(std::uint64_t galois_element) override;
  [[nodiscard]] ckks::evaluation_key bind(std::uint64_t galois_element) override;

 private:
  [[nodiscard]] unsigned level_of(std::uint64_t galois_element) const;

  key_bundle_reader reader_;
  std::map<std::uint64_t, unsigned> levels_;
  bool in_turn_;
};

/// Where the parts of a key lie in a bundle that are needed for levels up to `request.level`; empty when the
/// bundle has no such key. For prefetches: nothing of the key is read or checked.
[[nodiscard]] std::vector<byte_range> key_ranges(const container_reader& bundle,
                                                 const params::parameters& parameters,
                                                 const ckks::key_request& request);
/// Where the list of a bundle and its parameters lie.
/// @throws corrupt_data when it lacks one
[[nodiscard]] std::vector<byte_range> list_ranges(const container_reader& bundle);

}  // namespace halocline::io
