// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "seal/kswitchkeys.h"

namespace seal {

/// Keys that switch powers of the secret to the secret.
class RelinKeys : public KSwitchKeys {
 public:
  using KSwitchKeys::KSwitchKeys;

  /// Index of the key of s^key_power. @throws std::invalid_argument below 2
  [[nodiscard]] static std::size_t get_index(std::size_t key_power) {
    if (key_power < 2) {
      throw std::invalid_argument("RelinKeys: power " + std::to_string(key_power) +
                                  " of the secret; expected 2 or more");
    }
    return key_power - 2;
  }
  [[nodiscard]] bool has_key(std::size_t key_power) const {
    const std::size_t index = get_index(key_power);
    return index < data().size() && !data()[index].empty();
  }
  [[nodiscard]] const std::vector<PublicKey>& key(std::size_t key_power) const {
    return KSwitchKeys::data(get_index(key_power));
  }
};

}  // namespace seal
