// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "seal/context.h"
#include "seal_objects.hpp"

namespace seal {
namespace {

using error_type = EncryptionParameterQualifiers::error_type;

TEST(SealParameters, HoldWhatTheSchemeHas) {
  EncryptionParameters none;
  EXPECT_EQ(none.scheme(), scheme_type::none);
  none.set_poly_modulus_degree(0);
  none.set_coeff_modulus({});
  none.set_plain_modulus(0);
  EXPECT_THROW(none.set_poly_modulus_degree(4), std::logic_error);
  EXPECT_THROW(none.set_coeff_modulus({17}), std::logic_error);
  EXPECT_THROW(none.set_plain_modulus(2), std::logic_error);

  EncryptionParameters ckks(scheme_type::ckks);
  EXPECT_THROW(ckks.set_plain_modulus(2), std::logic_error);
  EXPECT_THROW(ckks.set_coeff_modulus({}), std::invalid_argument);
  EXPECT_THROW(ckks.set_coeff_modulus(std::vector<Modulus>(257, Modulus(17))), std::invalid_argument);
  EXPECT_THROW(EncryptionParameters(std::uint8_t{4}), std::invalid_argument);
  EXPECT_EQ(EncryptionParameters(std::uint8_t{3}).scheme(), scheme_type::bgv);
}

TEST(SealParameters, HaveAnIdentifierOfAllTheyHold) {
  EncryptionParameters a(scheme_type::bfv);
  a.set_poly_modulus_degree(4096);
  a.set_coeff_modulus({0xffffee001, 0xffffc4001, 0x1ffffe0001});
  a.set_plain_modulus(1 << 20);
  EncryptionParameters b = a;
  b.set_random_generator(std::make_shared<Shake256PRNGFactory>());
  EXPECT_TRUE(a == b);
  EXPECT_EQ(std::hash<EncryptionParameters>()(a), std::hash<EncryptionParameters>()(b));
  b.set_plain_modulus(786433);
  EXPECT_TRUE(a != b);
  // As seal-python 4.4.0 shows it.
  EXPECT_EQ(SEALContext(a).key_parms_id(), a.parms_id());
  b = a;
  b.set_poly_modulus_degree(8192);
  EXPECT_TRUE(a != b);
}

TEST(SealParameters, AreSavedAndLoaded) {
  for (const scheme_type scheme : {scheme_type::bfv, scheme_type::ckks, scheme_type::bgv}) {
    const EncryptionParameters parms = test::small_parameters(scheme);
    for (const compr_mode_type how : test::compressions()) {
      std::vector<seal_byte> buffer(static_cast<std::size_t>(parms.save_size(how)));
      const std::streamoff size = parms.save(buffer.data(), buffer.size(), how);
      EncryptionParameters loaded;
      EXPECT_EQ(loaded.load(buffer.data(), static_cast<std::size_t>(size)), size);
      EXPECT_TRUE(loaded == parms);
      std::istringstream in(test::saved(parms, how) + "more");
      loaded = EncryptionParameters();
      EXPECT_EQ(loaded.load(in), size);
      EXPECT_TRUE(loaded == parms);
      EXPECT_EQ(in.get(), 'm') << "nothing behind the object is taken";
    }
    EXPECT_EQ(test::saved(parms).size(), static_cast<std::size_t>(parms.save_size(compr_mode_type::none)));
  }
}

/// The error of a set of parameters without security, and the number of sets of primes that follow from it.
struct judged {
  scheme_type scheme;
  std::size_t n;
  std::vector<Modulus> primes;
  std::uint64_t plain;
  error_type error;
  std::size_t chain;
};

TEST(SealContext, SaysWhatIsWrong) {
  const auto prime60 = CoeffModulus::Create(4, {60})[0];
  const judged all[] = {
      {scheme_type::bfv, 4, {2, 30}, 2, error_type::invalid_coeff_modulus_non_prime, 1},
      {scheme_type::bfv, 4, {17, 41}, 0, error_type::invalid_plain_modulus_bit_count, 1},
      {scheme_type::bfv, 4, {17, 41}, 18, error_type::success, 1},
      {scheme_type::bfv, 4, {17}, 18, error_type::invalid_plain_modulus_too_large, 1},
      {scheme_type::bfv, 4, {17, 41, 97}, 17, error_type::invalid_plain_modulus_coprimality, 1},
      {scheme_type::bfv, 5, {17, 41}, 3, error_type::invalid_poly_modulus_degree_non_power_of_two, 1},
      {scheme_type::bfv, 1, {17, 41}, 3, error_type::invalid_poly_modulus_degree, 1},
      {scheme_type::bfv, 262144, {17, 41}, 3, error_type::invalid_poly_modulus_degree, 1},
      {scheme_type::bfv, 4, {17, 41, 137, 193, 65537}, 73, error_type::success, 4},
      {scheme_type::bfv,
       4,
       {(std::uint64_t{1} << 60) | 1},
       3,
       error_type::invalid_coeff_modulus_bit_count,
       1},
      {scheme_type::bfv, 4, {0}, 3, error_type::invalid_coeff_modulus_bit_count, 1},
      {scheme_type::bfv, 4, {3}, 2, error_type::invalid_coeff_modulus_no_ntt, 1},
      {scheme_type::bfv, 4, {17}, 16, error_type::success, 1},
      {scheme_type::ckks, 4, {17, 41, 137, 193, 65537}, 0, error_type::success, 5},
      {scheme_type::ckks, 4, {17}, 0, error_type::success, 1},
      {scheme_type::ckks, 4, {17, 17}, 0, error_type::failed_creating_rns_base, 1},
      {scheme_type::ckks, 4, {17, 19}, 0, error_type::invalid_coeff_modulus_no_ntt, 1},
      {scheme_type::ckks, 4, {prime60}, 0, error_type::success, 1},
      {scheme_type::bgv, 4, {17, 41, 137, 193, 65537}, 73, error_type::success, 4},
      {scheme_type::none, 0, {}, 0, error_type::invalid_scheme, 1},
  };
  for (const judged& one : all) {
    EncryptionParameters parms(one.scheme);
    parms.set_poly_modulus_degree(one.n);
    if (!one.primes.empty()) parms.set_coeff_modulus(one.primes);
    parms.set_plain_modulus(one.plain);
    const SEALContext context(parms, true, sec_level_type::none);
    EXPECT_EQ(context.key_context_data()->qualifiers().parameter_error, one.error) << &one - all;
    EXPECT_EQ(context.parameters_set(), one.error == error_type::success);
    EXPECT_EQ(context.key_context_data()->chain_index() + 1, one.chain) << &one - all;
    EXPECT_EQ(context.using_keyswitching(), one.chain > 1);
    EXPECT_EQ(std::string(context.parameter_error_message()) == "valid", context.parameters_set());
  }
}

TEST(SealContext, RefusesInsecureParameters) {
  EncryptionParameters parms(scheme_type::ckks);
  parms.set_poly_modulus_degree(4096);
  parms.set_coeff_modulus(CoeffModulus::Create(4096, {40, 40, 30}));
  EXPECT_STREQ(SEALContext(parms).parameter_error_name(), "invalid_parameters_insecure");
  EXPECT_EQ(SEALContext(parms).key_context_data()->qualifiers().sec_level, sec_level_type::none);
  EXPECT_TRUE(SEALContext(parms, true, sec_level_type::none).parameters_set());
  parms.set_coeff_modulus(CoeffModulus::Create(4096, {40, 40, 29}));
  const SEALContext secure(parms);
  EXPECT_TRUE(secure.parameters_set());
  EXPECT_EQ(secure.key_context_data()->qualifiers().sec_level, sec_level_type::tc128);
}

TEST(SealContext, LinksItsParameters) {
  const SEALContext context = test::small_context();
  const auto key = context.key_context_data();
  const auto first = context.first_context_data();
  const auto last = context.last_context_data();
  EXPECT_EQ(key->next_context_data(), first);
  EXPECT_EQ(first->prev_context_data(), key);
  EXPECT_EQ(first->next_context_data(), last);
  EXPECT_EQ(last->next_context_data(), nullptr);
  EXPECT_EQ(key->prev_context_data(), nullptr);
  EXPECT_EQ(key->chain_index(), 2U);
  EXPECT_EQ(last->chain_index(), 0U);
  EXPECT_EQ(last->parms().coeff_modulus().size(), 1U);
  EXPECT_EQ(context.get_context_data(context.last_parms_id()), last);
  EXPECT_EQ(context.get_context_data(parms_id_zero), nullptr);
  EXPECT_EQ(context.key_parms_id(), key->parms_id());
  EXPECT_EQ(context.first_parms_id(), first->parms_id());
  const SEALContext copy = context;
  EXPECT_EQ(copy.last_context_data(), last);
  const SEALContext flat(test::small_parameters(), false, sec_level_type::none);
  EXPECT_EQ(flat.first_parms_id(), flat.last_parms_id());
  EXPECT_NE(flat.key_parms_id(), flat.first_parms_id());
}

TEST(SealContext, KnowsProductsAndHalves) {
  EncryptionParameters parms(scheme_type::ckks);
  parms.set_poly_modulus_degree(4);
  parms.set_coeff_modulus({17, 41});
  const SEALContext context(parms, true, sec_level_type::none);
  const auto key = context.key_context_data();
  EXPECT_EQ(key->total_coeff_modulus()[0], 697U);
  EXPECT_EQ(key->total_coeff_modulus()[1], 0U);
  EXPECT_EQ(key->total_coeff_modulus_bit_count(), 10);
  EXPECT_EQ(key->upper_half_threshold()[0], 349U);
  EXPECT_EQ(key->plain_upper_half_threshold(), std::uint64_t{1} << 63);
  // 2^64 is 1 modulo 17 and 16 modulo 41.
  EXPECT_EQ(key->plain_upper_half_increment()[0], 16U);
  EXPECT_EQ(key->plain_upper_half_increment()[1], 25U);

  EncryptionParameters bfv(scheme_type::bfv);
  bfv.set_poly_modulus_degree(4);
  bfv.set_coeff_modulus({17, 41});
  bfv.set_plain_modulus(18);
  const SEALContext other(bfv, true, sec_level_type::none);
  const auto data = other.first_context_data();
  EXPECT_FALSE(data->qualifiers().using_fast_plain_lift);
  EXPECT_FALSE(data->qualifiers().using_batching);
  EXPECT_EQ(data->plain_upper_half_threshold(), 9U);
  EXPECT_EQ(data->plain_upper_half_increment()[0], 679U);
  EXPECT_EQ(data->coeff_modulus_mod_plain_modulus(), 13U);
  EXPECT_EQ(data->upper_half_increment()[1], 13U);
  EXPECT_EQ(data->upper_half_threshold(), nullptr);
}

TEST(SealContext, KnowsProductsOfManyWords) {
  EncryptionParameters parms(scheme_type::ckks);
  parms.set_poly_modulus_degree(1024);
  parms.set_coeff_modulus(CoeffModulus::Create(1024, {60, 60, 60}));
  const SEALContext context(parms, true, sec_level_type::none);
  const auto key = context.key_context_data();
  EXPECT_EQ(key->total_coeff_modulus_bit_count(), 180);
  unsigned __int128 product = 1;  // modulo 2^128
  for (const Modulus& prime : parms.coeff_modulus()) product *= prime.value();
  EXPECT_EQ(key->total_coeff_modulus()[0], static_cast<std::uint64_t>(product));
  EXPECT_EQ(key->total_coeff_modulus()[1], static_cast<std::uint64_t>(product >> 64));
  const std::uint64_t* half = key->upper_half_threshold();
  const std::uint64_t* whole = key->total_coeff_modulus();
  EXPECT_EQ(2 * half[0], whole[0] + 1);
  EXPECT_EQ((half[2] << 1) | (half[1] >> 63), whole[2]);
}

}  // namespace
}  // namespace seal
