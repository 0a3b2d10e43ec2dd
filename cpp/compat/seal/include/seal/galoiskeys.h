// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "seal/kswitchkeys.h"

namespace seal {

/// Keys that switch images s(X^g) of the secret to the secret.
class GaloisKeys : public KSwitchKeys {
 public:
  using KSwitchKeys::KSwitchKeys;

  /// Index of the key of element g. @throws std::invalid_argument for an even one
  [[nodiscard]] static std::size_t get_index(std::uint32_t galois_elt) {
    if (galois_elt % 2 == 0) {
      throw std::invalid_argument("GaloisKeys: element " + std::to_string(galois_elt) +
                                  "; expected an odd number");
    }
    return (galois_elt - 1) >> 1;
  }
  [[nodiscard]] bool has_key(std::uint32_t galois_elt) const {
    const std::size_t index = get_index(galois_elt);
    return index < data().size() && !data()[index].empty();
  }
  [[nodiscard]] const std::vector<PublicKey>& key(std::uint32_t galois_elt) const {
    return KSwitchKeys::data(get_index(galois_elt));
  }
};

}  // namespace seal
