// SPDX-License-Identifier: Apache-2.0
// A program as one writes it for SEAL: encrypt, square, rescale, rotate, save, decrypt.
#include <cmath>
#include <sstream>

#include "seal/seal.h"

using namespace seal;

int main() {
  EncryptionParameters parms(scheme_type::ckks);
  parms.set_poly_modulus_degree(8192);
  parms.set_coeff_modulus(CoeffModulus::Create(8192, {60, 40, 40, 60}));
  SEALContext context(parms);
  KeyGenerator keygen(context);
  PublicKey public_key;
  keygen.create_public_key(public_key);
  RelinKeys relin_keys;
  keygen.create_relin_keys(relin_keys);
  GaloisKeys galois_keys;
  keygen.create_galois_keys(std::vector<int>{1}, galois_keys);

  CKKSEncoder encoder(context);
  Plaintext plain;
  encoder.encode(std::vector<double>{1.0, 2.0, 3.0}, std::pow(2.0, 40), plain);
  Ciphertext cipher;
  Encryptor(context, public_key).encrypt(plain, cipher);
  Evaluator evaluator(context);
  evaluator.square_inplace(cipher);
  evaluator.relinearize_inplace(cipher, relin_keys);
  evaluator.rescale_to_next_inplace(cipher);
  evaluator.rotate_vector_inplace(cipher, 1, galois_keys);

  std::stringstream file;
  cipher.save(file);
  Ciphertext loaded;
  loaded.load(context, file);
  Plaintext result;
  Decryptor(context, keygen.secret_key()).decrypt(loaded, result);
  std::vector<double> values;
  encoder.decode(result, values);
  return std::fabs(values[0] - 4.0) < 1e-3 && std::fabs(values[1] - 9.0) < 1e-3 ? 0 : 1;
}
