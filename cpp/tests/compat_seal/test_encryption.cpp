// SPDX-License-Identifier: Apache-2.0
// Keys, encryption and decryption.
#include <sstream>

#include "seal_rig.hpp"

namespace seal::test {
namespace {

using invalid = std::invalid_argument;

template <typename ObjectT, typename SavedT>
[[nodiscard]] ObjectT reloaded(const SavedT& from, const SEALContext& context, std::size_t* bytes = nullptr) {
  std::stringstream stream;
  from.save(stream, compr_mode_type::none);
  if (bytes != nullptr) *bytes = stream.str().size();
  ObjectT made;
  made.load(context, stream);
  return made;
}

TEST(CompatEncryption, BothKeysAtAllLevels) {
  for (const std::vector<int>& bits : {std::vector<int>{50, 40, 40, 50}, std::vector<int>{50}}) {
    rig r(128, bits);
    for (auto level = r.context.first_context_data(); level; level = level->next_context_data()) {
      const slots a = r.values();
      Plaintext plain;
      r.encoder.encode(a, level->parms_id(), 0x1p30, plain);
      Ciphertext x;
      r.encryptor.encrypt(plain, x);
      EXPECT_EQ(x.parms_id(), level->parms_id());
      EXPECT_EQ(x.scale(), 0x1p30);
      EXPECT_LT(distance(r.decrypt(x), a), 1e-4);
      r.encryptor.encrypt_symmetric(plain, x);
      EXPECT_LT(distance(r.decrypt(x), a), 1e-4);
      for (int round = 0; round < 2; ++round) {
        round == 0 ? r.encryptor.encrypt_zero(level->parms_id(), x)
                   : r.encryptor.encrypt_zero_symmetric(level->parms_id(), x);
        EXPECT_EQ(x.size(), 2U);
        EXPECT_EQ(x.scale(), 1.0);
        EXPECT_FALSE(x.is_transparent());
        x.scale() = 0x1p30;
        EXPECT_LT(distance(r.decrypt(x), slots(64, 0.0)), 1e-4);
      }
    }
  }
}

TEST(CompatEncryption, FreshRandomnessEachTime) {
  rig r;
  const Plaintext plain = r.encode(r.values());
  Ciphertext x, y;
  r.encryptor.encrypt(plain, x);
  r.encryptor.encrypt(plain, y);
  EXPECT_NE(words_of(x), words_of(y));
  r.encryptor.encrypt_symmetric(plain, x);
  r.encryptor.encrypt_symmetric(plain, y);
  EXPECT_NE(words_of(x), words_of(y));
}

/// Root of the mean square of the integers that decrypt.
double noise_of(rig& r, Ciphertext x) {
  x.scale() = 1.0;
  Plaintext plain;
  r.decryptor.decrypt(x, plain);
  slots back;
  r.encoder.decode(plain, back);
  double sum = 0.0;
  for (const auto& each : back) sum += std::norm(each);
  // A slot is a sum of N coefficients times roots of unity.
  return std::sqrt(sum / static_cast<double>(back.size()) / static_cast<double>(2 * back.size()));
}

// Standard deviation 3.2 under the secret key. Under the public key e u + e0 + s e1 with coefficients of
// variance 3.2^2 and 2/3, divided by the special prime, leaves the rounding, s times 1/12 and 1/12.
TEST(CompatEncryption, NoiseHasTheDocumentedSize) {
  rig r(4096, {50, 40, 50});
  Ciphertext x;
  r.encryptor.encrypt_zero_symmetric(x);
  EXPECT_NEAR(noise_of(r, x), 3.2, 0.3);
  r.encryptor.encrypt_zero(x);
  EXPECT_NEAR(noise_of(r, x), std::sqrt((4096 * 2.0 / 3.0 + 1.0) / 12.0), 2.0);
}

TEST(CompatEncryption, SeedsHalveWhatIsSaved) {
  rig r(1024, {40, 40, 40});
  const slots a = r.values();
  const Plaintext plain = r.encode(a, 0x1p25);
  std::size_t full = 0, half = 0;
  Ciphertext x;
  r.encryptor.encrypt_symmetric(plain, x);
  (void)reloaded<Ciphertext>(x, r.context, &full);
  const Ciphertext y = reloaded<Ciphertext>(r.encryptor.encrypt_symmetric(plain), r.context, &half);
  EXPECT_LT(half, full / 2 + 200);
  EXPECT_LT(distance(r.decrypt(y), a), 5e-3);
  EXPECT_LT(distance(r.decrypt(reloaded<Ciphertext>(r.encryptor.encrypt(plain), r.context)), a), 5e-3);
  const PublicKey key = reloaded<PublicKey>(r.generator.create_public_key(), r.context, &half);
  EXPECT_LT(half, 3 * 1024 * 8 + 300U);
  Encryptor(r.context, key).encrypt(plain, x);
  EXPECT_LT(distance(r.decrypt(x), a), 5e-3);
  const RelinKeys relin = reloaded<RelinKeys>(r.generator.create_relin_keys(), r.context, &half);
  EXPECT_LT(half, 2 * (3 * 1024 * 8 + 300U));
  Ciphertext z;
  r.evaluator.square(x, z);
  r.evaluator.relinearize_inplace(z, relin);
  EXPECT_LT(distance(r.decrypt(z), map(a, a, std::multiplies<std::complex<double>>())), 5e-3);
  const GaloisKeys galois =
      reloaded<GaloisKeys>(r.generator.create_galois_keys(std::vector<int>{3, 0}), r.context);
  EXPECT_EQ(galois.size(), 2U);
  r.evaluator.rotate_vector(x, 3, galois, z);
  EXPECT_LT(distance(r.decrypt(z), rotated(a, 3)), 5e-3);
}

TEST(CompatEncryption, SecretsOfOthersDecryptNothing) {
  rig r;
  const slots a = r.values();
  const Ciphertext x = r.encrypt(a);
  KeyGenerator other(r.context);
  Decryptor wrong(r.context, other.secret_key());
  Plaintext plain;
  wrong.decrypt(x, plain);
  slots back;
  r.encoder.decode(plain, back);
  EXPECT_GT(distance(back, a), 1.0);
  KeyGenerator same(r.context, r.secret);
  EXPECT_EQ(words_of(same.secret_key().data()), words_of(r.secret.data()));
}

TEST(CompatEncryption, Errors) {
  rig r;
  const Plaintext plain = r.encode(r.values());
  Ciphertext x;
  EXPECT_THROW(Encryptor(r.context, PublicKey()), invalid);
  EXPECT_THROW(Encryptor(r.context, SecretKey()), invalid);
  EXPECT_THROW(Decryptor(r.context, SecretKey()), invalid);
  EXPECT_THROW(KeyGenerator(r.context, SecretKey()), invalid);
  EXPECT_THROW(Encryptor(r.context, r.secret).encrypt(plain, x), std::logic_error);
  EXPECT_THROW(Encryptor(r.context, r.public_key).encrypt_symmetric(plain, x), std::logic_error);
  EXPECT_THROW(r.encryptor.encrypt(Plaintext("1x^1"), x), invalid);
  EXPECT_THROW(r.encryptor.encrypt_zero(r.context.key_parms_id(), x), invalid);
  EXPECT_THROW(r.encryptor.encrypt_zero(parms_id_zero, x), invalid);
  EXPECT_THROW(r.encryptor.encrypt(plain, x, MemoryPoolHandle()), invalid);
  Plaintext out;
  EXPECT_THROW(r.decryptor.decrypt(Ciphertext(), out), invalid);
  EXPECT_THROW(r.decryptor.decrypt(Ciphertext(r.context), out), invalid);
  EXPECT_THROW((void)r.decryptor.invariant_noise_budget(r.encrypt(r.values())), std::logic_error);
  rig other(64, {30, 30});
  EXPECT_THROW(Decryptor(r.context, other.secret), invalid);
  EXPECT_THROW(Encryptor(r.context, other.public_key), invalid);
}

TEST(CompatKeyGenerator, GaloisKeysByStepsElementsAndAll) {
  rig r;
  GaloisKeys keys;
  r.generator.create_galois_keys(std::vector<std::uint32_t>{3, 127, 3}, keys);
  EXPECT_EQ(keys.size(), 2U);
  EXPECT_TRUE(keys.has_key(3) && keys.has_key(127) && !keys.has_key(9));
  EXPECT_EQ(keys.parms_id(), r.context.key_parms_id());
  EXPECT_EQ(keys.key(3).size(), 3U);
  r.generator.create_galois_keys(std::vector<int>{0, 1, 2}, keys);
  EXPECT_TRUE(keys.has_key(127) && keys.has_key(3) && keys.has_key(9));
  r.generator.create_galois_keys(keys);
  EXPECT_EQ(keys.size(), 10U);  // five powers of two, of which 16 is its own opposite, and conjugation
  EXPECT_THROW(r.generator.create_galois_keys(std::vector<std::uint32_t>{2}, keys), invalid);
  EXPECT_THROW(r.generator.create_galois_keys(std::vector<std::uint32_t>{129}, keys), invalid);
  EXPECT_THROW(r.generator.create_galois_keys(std::vector<int>{32}, keys), invalid);
  rig single(64, {50});
  EXPECT_FALSE(single.context.using_keyswitching());
  RelinKeys relin;
  EXPECT_THROW(single.generator.create_relin_keys(relin), std::logic_error);
  EXPECT_THROW(single.generator.create_galois_keys(keys), std::logic_error);
}

// A generator with a fixed seed gives the same keys and ciphertexts again, as programs expect that test with
// it.
TEST(CompatKeyGenerator, FixedSeedsRepeat) {
  EncryptionParameters parms = ckks_parameters(64, {40, 40});
  prng_seed_type seed{};
  seed[0] = 5;
  parms.set_random_generator(std::make_shared<Blake2xbPRNGFactory>(seed));
  const SEALContext context(parms, true, sec_level_type::none);
  KeyGenerator one(context), two(context);
  EXPECT_EQ(words_of(one.secret_key().data()), words_of(two.secret_key().data()));
  KeyGenerator free(SEALContext(ckks_parameters(64, {40, 40}), true, sec_level_type::none));
  EXPECT_NE(words_of(one.secret_key().data()), words_of(free.secret_key().data()));
}

// The secret is ternary: the transform back of each limb has -1, 0 and 1 only.
TEST(CompatKeyGenerator, SecretsAreTernary) {
  rig r(1024, {40, 40});
  const std::vector<std::uint64_t> key = words_of(r.secret.data());
  Ciphertext as(r.context);
  as.resize(2);
  std::copy_n(key.begin(), 1024, as.data(0));
  std::copy_n(key.begin(), 1024, as.data(1));
  as.is_ntt_form() = true;
  r.evaluator.transform_from_ntt_inplace(as);
  const std::uint64_t q = r.context.first_context_data()->parms().coeff_modulus()[0].value();
  std::array<int, 3> counts{};
  for (std::size_t i = 0; i < 1024; ++i) {
    const std::uint64_t word = std::as_const(as).data(0)[i];
    ASSERT_TRUE(word <= 1 || word == q - 1) << word;
    ++counts[word == q - 1 ? 2 : word];
  }
  for (const int count : counts) EXPECT_NEAR(count, 341, 100);
}

}  // namespace
}  // namespace seal::test
