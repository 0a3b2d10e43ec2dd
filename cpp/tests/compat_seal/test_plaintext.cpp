// SPDX-License-Identifier: Apache-2.0
#include "seal/plaintext.h"

#include <gtest/gtest.h>

#include "seal/valcheck.h"
#include "seal_objects.hpp"

namespace seal {
namespace {

TEST(SealPlaintext, IsAnArrayOfCoefficients) {
  Plaintext plain;
  EXPECT_EQ(plain.capacity(), 0U);
  EXPECT_EQ(plain.coeff_count(), 0U);
  EXPECT_TRUE(plain.is_zero());
  EXPECT_EQ(plain.data(), nullptr);
  plain.reserve(5);
  EXPECT_EQ(plain.capacity(), 5U);
  EXPECT_EQ(plain.coeff_count(), 0U);
  plain.resize(3);
  EXPECT_TRUE(plain[0] == 0 && plain[2] == 0);
  plain[2] = 7;
  plain.resize(6);
  EXPECT_EQ(plain.capacity(), 6U);
  EXPECT_EQ(plain.significant_coeff_count(), 3U);
  EXPECT_EQ(plain.nonzero_coeff_count(), 1U);
  EXPECT_EQ(plain.data(2), plain.data() + 2);
  EXPECT_THROW(static_cast<void>(plain[6]), std::out_of_range);
  EXPECT_THROW(static_cast<void>(plain.data(6)), std::out_of_range);
  plain.reserve(2);
  EXPECT_EQ(plain.coeff_count(), 2U);
  plain.release();
  EXPECT_EQ(plain.capacity(), 0U);
  EXPECT_THROW(Plaintext(2, 5), std::invalid_argument);
  EXPECT_EQ(Plaintext(5, 2).capacity(), 5U);
  EXPECT_THROW(Plaintext{MemoryPoolHandle()}, std::invalid_argument);
}

TEST(SealPlaintext, ReadsAndWritesPolynomials) {
  const std::pair<const char*, const char*> same[] = {{"1x^3 + 2", "1x^3 + 2"},
                                                      {"", "0"},
                                                      {"0", "0"},
                                                      {"7FFF", "7FFF"},
                                                      {"3x^1", "3x^1"},
                                                      {"3x^0", "3"},
                                                      {"1x^02 + 1", "1x^2 + 1"},
                                                      {"0x^3", "0"},
                                                      {"1x^3 + 0", "1x^3"},
                                                      {"aBcx^5 + 0x^3 + 1", "ABCx^5 + 1"},
                                                      {"FFFFFFFFFFFFFFFF", "FFFFFFFFFFFFFFFF"}};
  for (const auto& [text, expected] : same) EXPECT_EQ(Plaintext(text).to_string(), expected) << text;
  EXPECT_EQ(Plaintext("1x^3 + 2").coeff_count(), 4U);
  EXPECT_EQ(Plaintext("0x^3 + 1").coeff_count(), 4U);
  EXPECT_EQ(Plaintext("0x^3").coeff_count(), 0U);
  EXPECT_EQ(Plaintext("1x^131071").coeff_count(), 131072U);
  Plaintext plain("2x^2");
  plain = "5x^1";
  EXPECT_EQ(plain.to_string(), "5x^1");
  plain = 0x1F;
  EXPECT_EQ(plain.to_string(), "1F");
}

TEST(SealPlaintext, RefusesOtherText) {
  for (const char* text :
       {"1x^2 + 1x^2", "1x^1 + 2x^2", " 1", "1 ", "1x^2+1", "1X^2 + 1", "+", "1 + ", "1FFFFFFFFFFFFFFFF",
        "x^2", "1x", "1x^-2", "1x^131072", "1x^99999999999999999999", "1 + 1", "g", "1x^2 + +1", "-1"}) {
    Plaintext kept("3");
    EXPECT_THROW(kept = text, std::invalid_argument) << text;
    EXPECT_EQ(kept.to_string(), "3") << text;
  }
}

TEST(SealPlaintext, ZeroesRanges) {
  Plaintext plain("5x^4 + 4x^3 + 3x^2 + 2x^1 + 1");
  plain.set_zero(3, 2);
  EXPECT_EQ(plain.to_string(), "3x^2 + 2x^1 + 1");
  plain.set_zero(1);
  EXPECT_EQ(plain.to_string(), "1");
  EXPECT_THROW(plain.set_zero(5), std::out_of_range);
  EXPECT_THROW(plain.set_zero(3, 3), std::out_of_range);
  EXPECT_THROW(plain.set_zero(1, std::numeric_limits<std::size_t>::max()), std::out_of_range);
  plain.set_zero(9, 0);
  plain.set_zero();
  EXPECT_TRUE(plain.is_zero());
  EXPECT_EQ(plain.coeff_count(), 5U);
}

TEST(SealPlaintext, IsCompared) {
  Plaintext a("1x^2 + 3");
  Plaintext b("0x^5 + 1x^2 + 3");
  EXPECT_TRUE(a == b);
  b[0] = 4;
  EXPECT_TRUE(a != b);
  b = a;
  b.scale() = 2.0;
  EXPECT_TRUE(a != b);
  b = a;
  b.parms_id() = {1, 2, 3, 4};
  EXPECT_TRUE(a != b);
}

TEST(SealPlaintext, KeepsItsShapeInNttForm) {
  Plaintext plain = test::sample_plaintext(test::small_context());
  EXPECT_TRUE(plain.is_ntt_form());
  EXPECT_THROW(plain.resize(3), std::logic_error);
  EXPECT_THROW(plain.reserve(3), std::logic_error);
  EXPECT_THROW(plain = "1", std::logic_error);
  EXPECT_THROW(plain = 1, std::logic_error);
  EXPECT_THROW(static_cast<void>(plain.to_string()), std::invalid_argument);
  const Plaintext moved = std::move(plain);
  EXPECT_EQ(moved.coeff_count(), 16U);
  EXPECT_EQ(plain.coeff_count(), 0U);  // NOLINT(bugprone-use-after-move): the documented state
  EXPECT_FALSE(plain.is_ntt_form());
}

TEST(SealPlaintext, IsSavedAndLoaded) {
  const SEALContext context = test::small_context();
  const Plaintext plain = test::sample_plaintext(context);
  for (const compr_mode_type how : test::compressions()) {
    const std::string file = test::saved(plain, how);
    EXPECT_LE(static_cast<std::streamoff>(file.size()), plain.save_size(how));
    Plaintext loaded;
    std::istringstream in(file);
    EXPECT_EQ(loaded.load(context, in), static_cast<std::streamoff>(file.size()));
    EXPECT_TRUE(loaded == plain);
    loaded.release();
    EXPECT_EQ(loaded.unsafe_load(context, test::bytes_of(file), file.size()),
              static_cast<std::streamoff>(file.size()));
    EXPECT_TRUE(loaded == plain);
  }
  EXPECT_EQ(plain.save_size(compr_mode_type::none), static_cast<std::streamoff>(test::saved(plain).size()));
}

TEST(SealPlaintext, IsCheckedWhenItIsLoaded) {
  const SEALContext context = test::small_context();
  const SEALContext bfv = test::small_context(scheme_type::bfv);
  const std::string text = test::saved(Plaintext("1x^2 + 100"));
  Plaintext loaded;
  loaded.load(bfv, test::bytes_of(text), text.size());
  EXPECT_EQ(loaded.to_string(), "1x^2 + 100");
  EXPECT_THROW(loaded.load(context, test::bytes_of(text), text.size()), std::logic_error);
  const std::string large = test::saved(Plaintext("101"));  // 257, the plaintext modulus
  EXPECT_THROW(loaded.load(bfv, test::bytes_of(large), large.size()), std::logic_error);
  Plaintext wrong = test::sample_plaintext(context);
  wrong[0] = context.first_context_data()->parms().coeff_modulus()[0].value();
  const std::string unreduced = test::saved(wrong);
  EXPECT_THROW(loaded.load(context, test::bytes_of(unreduced), unreduced.size()), std::logic_error);
  EXPECT_EQ(loaded.to_string(), "1x^2 + 100") << "a refused file changes nothing";
  loaded.unsafe_load(context, test::bytes_of(unreduced), unreduced.size());
  EXPECT_FALSE(is_data_valid_for(loaded, context));
  EXPECT_TRUE(is_metadata_valid_for(loaded, context));
}

}  // namespace
}  // namespace seal
