// SPDX-License-Identifier: Apache-2.0
// Programs as users of SEAL write them, with secure parameters.
#include <sstream>

#include "seal_rig.hpp"

using namespace std;
using namespace seal;

namespace {

// pi x^3 + 0.4 x + 1 at points of [0, 1].
TEST(CompatPrograms, Polynomial) {
  EncryptionParameters parms(scheme_type::ckks);
  parms.set_poly_modulus_degree(8192);
  parms.set_coeff_modulus(CoeffModulus::Create(8192, {60, 40, 40, 60}));
  SEALContext context(parms);
  KeyGenerator keygen(context);
  auto secret_key = keygen.secret_key();
  PublicKey public_key;
  keygen.create_public_key(public_key);
  RelinKeys relin_keys;
  keygen.create_relin_keys(relin_keys);
  Encryptor encryptor(context, public_key);
  Evaluator evaluator(context);
  Decryptor decryptor(context, secret_key);
  CKKSEncoder encoder(context);
  const double scale = pow(2.0, 40);

  vector<double> input;
  const size_t slot_count = encoder.slot_count();
  for (size_t i = 0; i < slot_count; i++)
    input.push_back(static_cast<double>(i) / static_cast<double>(slot_count - 1));
  Plaintext x_plain, cubic, linear, constant;
  encoder.encode(input, scale, x_plain);
  encoder.encode(3.14159265, scale, cubic);
  encoder.encode(0.4, scale, linear);
  encoder.encode(1, scale, constant);
  Ciphertext x;
  encryptor.encrypt(x_plain, x);

  Ciphertext square;
  evaluator.square(x, square);
  evaluator.relinearize_inplace(square, relin_keys);
  evaluator.rescale_to_next_inplace(square);
  Ciphertext with_cubic;
  evaluator.multiply_plain(x, cubic, with_cubic);
  evaluator.rescale_to_next_inplace(with_cubic);
  Ciphertext result;
  evaluator.multiply(square, with_cubic, result);
  evaluator.relinearize_inplace(result, relin_keys);
  evaluator.rescale_to_next_inplace(result);
  Ciphertext with_linear;
  evaluator.multiply_plain(x, linear, with_linear);
  evaluator.rescale_to_next_inplace(with_linear);
  EXPECT_EQ(context.get_context_data(result.parms_id())->chain_index(), 0U);
  result.scale() = pow(2.0, 40);
  with_linear.scale() = pow(2.0, 40);
  evaluator.mod_switch_to_inplace(with_linear, result.parms_id());
  evaluator.mod_switch_to_inplace(constant, result.parms_id());
  evaluator.add_inplace(result, with_linear);
  evaluator.add_plain_inplace(result, constant);

  Plaintext plain_result;
  decryptor.decrypt(result, plain_result);
  vector<double> output;
  encoder.decode(plain_result, output);
  for (size_t i = 0; i < slot_count; i++) {
    const double t = input[i];
    ASSERT_NEAR(output[i], (3.14159265 * t * t + 0.4) * t + 1.0, 1e-4);
  }
}

// A server that has parameters and public objects as bytes, and a client that has the secret key.
TEST(CompatPrograms, ClientAndServer) {
  stringstream parms_stream, sk_stream, rlk_stream, data_stream, result_stream;
  {
    EncryptionParameters parms(scheme_type::ckks);
    parms.set_poly_modulus_degree(8192);
    parms.set_coeff_modulus(CoeffModulus::Create(8192, {50, 30, 50}));
    parms.save(parms_stream);
  }
  const double scale = pow(2.0, 30);
  {
    EncryptionParameters parms;
    parms.load(parms_stream);
    parms_stream.seekg(0);
    SEALContext context(parms);
    KeyGenerator keygen(context);
    auto sk = keygen.secret_key();
    sk.save(sk_stream);
    Serializable<RelinKeys> rlk = keygen.create_relin_keys();
    const auto seeded = rlk.save(rlk_stream);
    EXPECT_EQ(static_cast<size_t>(seeded), rlk_stream.str().size());
    Encryptor encryptor(context, sk);
    CKKSEncoder encoder(context);
    for (const double value : {2.3, 3.4}) {
      Plaintext plain;
      encoder.encode(value, scale, plain);
      encryptor.encrypt_symmetric(plain).save(data_stream);
    }
  }
  {
    EncryptionParameters parms;
    parms.load(parms_stream);
    SEALContext context(parms);
    Evaluator evaluator(context);
    RelinKeys rlk;
    rlk.load(context, rlk_stream);
    Ciphertext a, b;
    a.load(context, data_stream);
    b.load(context, data_stream);
    Ciphertext product;
    evaluator.multiply(a, b, product);
    evaluator.relinearize_inplace(product, rlk);
    evaluator.rescale_to_next_inplace(product);
    product.save(result_stream);
    parms_stream.seekg(0);
  }
  EncryptionParameters parms;
  parms.load(parms_stream);
  SEALContext context(parms);
  SecretKey sk;
  sk.load(context, sk_stream);
  Decryptor decryptor(context, sk);
  CKKSEncoder encoder(context);
  Ciphertext result;
  result.load(context, result_stream);
  Plaintext plain;
  decryptor.decrypt(result, plain);
  vector<double> numbers;
  encoder.decode(plain, numbers);
  EXPECT_NEAR(numbers[0], 2.3 * 3.4, 0.01);
}

// All calls that a loop for timing makes, at every set of default primes.
TEST(CompatPrograms, PerformanceLoop) {
  for (const size_t degree : {size_t{4096}, size_t{8192}}) {
    EncryptionParameters parms(scheme_type::ckks);
    parms.set_poly_modulus_degree(degree);
    parms.set_coeff_modulus(CoeffModulus::BFVDefault(degree));
    SEALContext context(parms);
    KeyGenerator keygen(context);
    PublicKey public_key;
    keygen.create_public_key(public_key);
    RelinKeys relin_keys;
    GaloisKeys gal_keys;
    ASSERT_TRUE(context.using_keyswitching());
    keygen.create_relin_keys(relin_keys);
    ASSERT_TRUE(context.first_context_data()->qualifiers().using_batching);
    keygen.create_galois_keys(gal_keys);
    Encryptor encryptor(context, public_key);
    Decryptor decryptor(context, keygen.secret_key());
    Evaluator evaluator(context);
    CKKSEncoder encoder(context);
    vector<double> values(encoder.slot_count(), 1.5);
    const double scale = sqrt(static_cast<double>(parms.coeff_modulus().back().value()));
    Plaintext plain(degree * parms.coeff_modulus().size(), 0);
    encoder.encode(values, scale, plain);
    Ciphertext encrypted(context), encrypted1(context), encrypted2(context);
    encryptor.encrypt(plain, encrypted);
    encoder.encode(2.0, scale, plain);
    encryptor.encrypt(plain, encrypted1);
    encryptor.encrypt(plain, encrypted2);
    evaluator.add_inplace(encrypted1, encrypted1);
    evaluator.add_inplace(encrypted1, encrypted2);
    encrypted1.reserve(3);
    evaluator.multiply_inplace(encrypted1, encrypted2);
    evaluator.multiply_plain_inplace(encrypted2, plain);
    evaluator.relinearize_inplace(encrypted1, relin_keys);
    const Ciphertext product = encrypted1;
    evaluator.rescale_to_next_inplace(encrypted1);
    evaluator.rotate_vector_inplace(encrypted, 1, gal_keys);
    evaluator.rotate_vector_inplace(encrypted, -1, gal_keys);
    evaluator.rotate_vector(encrypted, static_cast<int>(encoder.slot_count() / 3), gal_keys, encrypted2);
    evaluator.complex_conjugate_inplace(encrypted, gal_keys);
    stringstream stream;
    encrypted.save(stream, compr_mode_type::none);
    EXPECT_EQ(static_cast<size_t>(encrypted.save_size(compr_mode_type::none)), stream.str().size());
    Plaintext result;
    decryptor.decrypt(product, result);
    encoder.decode(result, values);
    EXPECT_NEAR(values[7], 12.0, 0.5) << degree;
    decryptor.decrypt(encrypted, result);
    encoder.decode(result, values);
    EXPECT_NEAR(values[7], 1.5, 0.05) << degree;
  }
}

}  // namespace
