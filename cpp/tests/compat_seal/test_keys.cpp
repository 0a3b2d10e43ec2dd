// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "seal/galoiskeys.h"
#include "seal/publickey.h"
#include "seal/relinkeys.h"
#include "seal/secretkey.h"
#include "seal/serializable.h"
#include "seal/valcheck.h"
#include "seal_objects.hpp"

namespace seal {
namespace {

template <typename KeyT>
void expect_round_trip(const KeyT& key, const SEALContext& context) {
  for (const compr_mode_type how : test::compressions()) {
    const std::string file = test::saved(key, how);
    EXPECT_LE(static_cast<std::streamoff>(file.size()), key.save_size(how));
    std::istringstream in(file);
    KeyT loaded;
    EXPECT_EQ(loaded.load(context, in), static_cast<std::streamoff>(file.size()));
    EXPECT_EQ(test::saved(loaded, how), file);
    KeyT again;
    EXPECT_EQ(again.unsafe_load(context, test::bytes_of(file), file.size()),
              static_cast<std::streamoff>(file.size()));
    EXPECT_TRUE(is_valid_for(again, context));
  }
  EXPECT_EQ(static_cast<std::streamoff>(test::saved(key).size()), key.save_size(compr_mode_type::none));
}

TEST(SealKeys, AreSavedAndLoaded) {
  const SEALContext context = test::small_context();
  expect_round_trip(test::sample_secret_key(context), context);
  expect_round_trip(test::sample_public_key(context), context);
  expect_round_trip(test::sample_keys<RelinKeys>(context, {0, 1}), context);
  expect_round_trip(test::sample_keys<GaloisKeys>(context, {1, 7}), context);
}

TEST(SealKeys, AreCheckedWhenTheyAreLoaded) {
  const SEALContext context = test::small_context();
  const SEALContext single(
      [] {
        EncryptionParameters parms(scheme_type::ckks);
        parms.set_poly_modulus_degree(8);
        parms.set_coeff_modulus(CoeffModulus::Create(8, {20}));
        return parms;
      }(),
      true, sec_level_type::none);
  const auto refuses = [&](const auto& key, const SEALContext& of) {
    const std::string file = test::saved(key);
    auto loaded = key;
    EXPECT_THROW(loaded.load(of, test::bytes_of(file), file.size()), std::logic_error);
    loaded.unsafe_load(of, test::bytes_of(file), file.size());
  };
  SecretKey secret = test::sample_secret_key(context);
  refuses(secret, single);
  secret.parms_id() = context.first_parms_id();
  refuses(secret, context);
  PublicKey pub = test::sample_public_key(context);
  refuses(pub, single);
  pub.data().is_ntt_form() = false;
  refuses(pub, context);
  refuses(test::sample_keys<RelinKeys>(context, {0}), single);
  EXPECT_FALSE(is_valid_for(test::sample_keys<RelinKeys>(context, {14}), context));
  EXPECT_FALSE(is_valid_for(test::sample_keys<GaloisKeys>(context, {8}), context));
  RelinKeys few = test::sample_keys<RelinKeys>(context, {0});
  few.data()[0].pop_back();
  refuses(few, context);
}

TEST(SealKeys, AreFoundByPowerAndElement) {
  const SEALContext context = test::small_context();
  const RelinKeys relin = test::sample_keys<RelinKeys>(context, {0, 2});
  EXPECT_EQ(relin.size(), 2U);
  EXPECT_TRUE(relin.has_key(2) && !relin.has_key(3) && relin.has_key(4) && !relin.has_key(5));
  EXPECT_EQ(relin.key(4).size(), 2U);
  EXPECT_THROW(static_cast<void>(relin.key(3)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(relin.has_key(1)), std::invalid_argument);
  const GaloisKeys galois = test::sample_keys<GaloisKeys>(context, {1});
  EXPECT_EQ(GaloisKeys::get_index(15), 7U);
  EXPECT_TRUE(galois.has_key(3) && !galois.has_key(15));
  EXPECT_THROW(static_cast<void>(GaloisKeys::get_index(4)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(galois.key(5)), std::invalid_argument);
}

TEST(SealKeys, KeepSecretsInPoolsOfTheirOwn) {
  MemoryPoolHandle pool;
  {
    const SecretKey key = test::sample_secret_key(test::small_context());
    pool = key.pool();
    EXPECT_EQ(pool.alloc_byte_count(), 8U * 3 * 8);
    const SecretKey copy = key;
    EXPECT_TRUE(copy.data() == key.data());
    EXPECT_NE(copy.pool(), pool);
  }
  EXPECT_EQ(pool.alloc_byte_count(), 0U);
}

TEST(SealKeys, AreMadeForSavingOnly) {
  const SEALContext context = test::small_context();
  RelinKeys keys = test::sample_keys<RelinKeys>(context, {0});
  const std::string file = test::saved(keys);
  const Serializable<RelinKeys> kept = halocline_detail::serializable_access::make(std::move(keys));
  EXPECT_EQ(test::saved(kept), file);
  EXPECT_EQ(kept.save_size(compr_mode_type::none), static_cast<std::streamoff>(file.size()));
}

}  // namespace
}  // namespace seal
