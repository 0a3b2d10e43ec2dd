// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "seal/context.h"
#include "seal/memorymanager.h"
#include "seal/plaintext.h"
#include "seal/util/defines.h"

namespace seal {

/// Of BFV and BGV, which this library does not compute with: every function throws std::logic_error. Declared
/// so that programs that name it compile.
class BatchEncoder {
 public:
  /// @throws std::invalid_argument for parameters that are not valid, or of CKKS; std::logic_error otherwise
  BatchEncoder(const SEALContext& context);

  void encode(const std::vector<std::uint64_t>& values, Plaintext& destination) const;
  void encode(const std::vector<std::int64_t>& values, Plaintext& destination) const;
  void decode(const Plaintext& plain, std::vector<std::uint64_t>& destination,
              MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void decode(const Plaintext& plain, std::vector<std::int64_t>& destination,
              MemoryPoolHandle pool = MemoryManager::GetPool()) const;
#if __cplusplus >= 202002L
  void encode(std::span<const std::uint64_t> values, Plaintext& destination) const;
  void encode(std::span<const std::int64_t> values, Plaintext& destination) const;
  void decode(const Plaintext& plain, std::span<std::uint64_t> destination,
              MemoryPoolHandle pool = MemoryManager::GetPool()) const;
  void decode(const Plaintext& plain, std::span<std::int64_t> destination,
              MemoryPoolHandle pool = MemoryManager::GetPool()) const;
#endif
  [[nodiscard]] std::size_t slot_count() const noexcept { return slots_; }

 private:
  std::size_t slots_ = 0;
};

}  // namespace seal
