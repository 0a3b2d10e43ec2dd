// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "halocline/ckks/keys.hpp"

namespace halocline::ckks {

/// Where an engine gets keys from that it does not have yet. The keys are made in the engine's context, and
/// calls come from one thread at a time.
class key_source {
 public:
  virtual ~key_source() = default;
  /// The secret key that all its keys are for.
  [[nodiscard]] virtual const key_id& id() const noexcept = 0;
  /// What it has, ascending by element, each with the level that `load` gives it.
  [[nodiscard]] virtual std::vector<key_request> list() const = 0;
  /// One key of the list.
  /// @throws missing_key when it is not in the list; io_error, corrupt_data, out_of_memory
  [[nodiscard]] virtual evaluation_key load(std::uint64_t galois_element) = 0;
  /// The same with buffers whose contents are remote (`memory::runtime::set_remote`), for a context whose
  /// runtime reads such. Sources that cannot do that load it.
  [[nodiscard]] virtual evaluation_key bind(std::uint64_t galois_element) { return load(galois_element); }
};

}  // namespace halocline::ckks
