// SPDX-License-Identifier: Apache-2.0
// Files given to programs of SEAL: whatever `load` accepts is valid, and is saved and loaded again.
#include <cstddef>
#include <cstdint>

#include "compat_seal/seal_objects.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const seal::SEALContext context = seal::test::small_context();
  const std::string file(reinterpret_cast<const char*>(data), size);
  seal::test::check_any_file<seal::Ciphertext>(file, context);
  seal::test::check_any_file<seal::Plaintext>(file, context);
  seal::test::check_any_file<seal::SecretKey>(file, context);
  seal::test::check_any_file<seal::PublicKey>(file, context);
  seal::test::check_any_file<seal::RelinKeys>(file, context);
  seal::test::check_any_file<seal::GaloisKeys>(file, context);
  seal::test::check_any_plain_file<seal::EncryptionParameters>(file);
  seal::test::check_any_plain_file<seal::DynArray<std::uint64_t>>(file);
  return 0;
}
