// SPDX-License-Identifier: Apache-2.0
#include "seal/ciphertext.h"

#include <gtest/gtest.h>

#include "seal/valcheck.h"
#include "seal_objects.hpp"

namespace seal {
namespace {

TEST(SealCiphertext, IsAnArrayOfPolynomials) {
  const SEALContext context = test::small_context();
  Ciphertext cipher(context);
  EXPECT_EQ(cipher.size(), 0U);
  EXPECT_EQ(cipher.size_capacity(), 2U);
  EXPECT_EQ(cipher.poly_modulus_degree(), 8U);
  EXPECT_EQ(cipher.coeff_modulus_size(), 2U);
  EXPECT_EQ(cipher.parms_id(), context.first_parms_id());
  EXPECT_TRUE(cipher.is_transparent());
  cipher.reserve(10);
  EXPECT_EQ(cipher.dyn_array().capacity(), 160U);
  EXPECT_EQ(cipher.dyn_array().size(), 0U);
  cipher.resize(4);
  EXPECT_EQ(cipher.dyn_array().size(), 64U);
  EXPECT_EQ(cipher.size_capacity(), 10U);
  cipher.data(3)[15] = 9;
  EXPECT_EQ(cipher[63], 9U);
  EXPECT_EQ(std::as_const(cipher).data(3), cipher.dyn_array().data() + 48);
  EXPECT_FALSE(cipher.is_transparent());
  cipher.reserve(3);
  EXPECT_EQ(cipher.size(), 3U);
  EXPECT_EQ(cipher.size_capacity(), 3U);
  EXPECT_TRUE(cipher.is_transparent());
  EXPECT_THROW(static_cast<void>(cipher.data(3)), std::out_of_range);
  EXPECT_THROW(static_cast<void>(cipher[48]), std::out_of_range);
  cipher.resize(0);
  cipher.release();
  EXPECT_EQ(cipher.size_capacity(), 0U);
  EXPECT_EQ(cipher.parms_id(), parms_id_zero);
  EXPECT_EQ(cipher.data(0), nullptr);
}

TEST(SealCiphertext, TakesParametersOfItsContextOnly) {
  const SEALContext context = test::small_context();
  Ciphertext cipher;
  cipher.resize(context, context.last_parms_id(), 3);
  EXPECT_EQ(cipher.dyn_array().size(), 24U);
  EXPECT_EQ(cipher.parms_id(), context.last_parms_id());
  EXPECT_THROW(cipher.reserve(context, parms_id_zero, 2), std::invalid_argument);
  for (const std::size_t size : {0, 1, 17})
    EXPECT_THROW(cipher.reserve(context, size), std::invalid_argument) << size;
  for (const std::size_t size : {1, 17})
    EXPECT_THROW(cipher.resize(context, size), std::invalid_argument) << size;
  EncryptionParameters wrong(scheme_type::ckks);
  EXPECT_THROW(Ciphertext{SEALContext(wrong)}, std::invalid_argument);
  EXPECT_THROW(Ciphertext{MemoryPoolHandle()}, std::invalid_argument);
}

TEST(SealCiphertext, IsCopiedAndMoved) {
  const SEALContext context = test::small_context();
  Ciphertext cipher = test::sample_ciphertext(context, 3);
  Ciphertext copy(cipher);
  EXPECT_TRUE(copy.dyn_array() == cipher.dyn_array());
  EXPECT_NE(copy.data(), cipher.data());
  copy.data()[0] ^= 1;
  EXPECT_FALSE(copy.dyn_array() == cipher.dyn_array());
  const std::uint64_t* where = cipher.data();
  const Ciphertext moved(std::move(cipher));
  EXPECT_EQ(moved.data(), where);
  EXPECT_EQ(moved.scale(), 1024.0);
  EXPECT_EQ(cipher.size(), 0U);  // NOLINT(bugprone-use-after-move): the documented state
  copy = moved;
  EXPECT_TRUE(copy.is_ntt_form());
  EXPECT_TRUE(copy.dyn_array() == moved.dyn_array());
  copy = *&copy;
  EXPECT_EQ(copy.size(), 3U);
}

TEST(SealCiphertext, IsSavedAndLoaded) {
  const SEALContext context = test::small_context();
  const Ciphertext cipher = test::sample_ciphertext(context, 3);
  for (const compr_mode_type how : test::compressions()) {
    const std::string file = test::saved(cipher, how);
    EXPECT_LE(static_cast<std::streamoff>(file.size()), cipher.save_size(how));
    Ciphertext loaded;
    std::istringstream in(file);
    EXPECT_EQ(loaded.load(context, in), static_cast<std::streamoff>(file.size()));
    EXPECT_TRUE(loaded.dyn_array() == cipher.dyn_array());
    EXPECT_EQ(test::saved(loaded, how), file);
    std::vector<seal_byte> buffer(static_cast<std::size_t>(cipher.save_size(how)));
    const std::streamoff size = cipher.save(buffer.data(), buffer.size(), how);
    loaded.release();
    EXPECT_EQ(loaded.load(context, buffer.data(), buffer.size()), size);
    EXPECT_TRUE(loaded.dyn_array() == cipher.dyn_array());
  }
  EXPECT_EQ(test::saved(cipher).size(), 113U + 3 * 2 * 8 * 8);
  EXPECT_EQ(cipher.save_size(compr_mode_type::none), 113 + 3 * 2 * 8 * 8);
}

TEST(SealCiphertext, MayBeEmpty) {
  const SEALContext context = test::small_context();
  const std::string file = test::saved(Ciphertext(context));
  EXPECT_EQ(file.size(), 113U);
  Ciphertext loaded;
  loaded.load(context, test::bytes_of(file), file.size());
  EXPECT_EQ(loaded.size(), 0U);
  EXPECT_EQ(loaded.parms_id(), context.first_parms_id());
}

TEST(SealCiphertext, SavesASeedInPlaceOfWhatItExpandsTo) {
  const SEALContext context = test::small_context();
  const auto& parms = context.first_context_data()->parms();
  for (const prng_type kind : {prng_type::blake2xb, prng_type::shake256}) {
    const UniformRandomGeneratorInfo seed(kind, {1, 2, 3, 4, 5, 6, 7, 8});
    Ciphertext cipher = test::sample_ciphertext(context);
    // The rule of the format: words from the stream, those at and above the last whole multiple less one
    // again.
    const auto stream = seed.make_prng();
    std::vector<std::uint64_t> words(16);
    stream->generate(words.size() * 8, reinterpret_cast<seal_byte*>(words.data()));
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::uint64_t q = parms.coeff_modulus()[i / 8].value();
      const std::uint64_t limit = ~std::uint64_t{0} - ~std::uint64_t{0} % q - 1;
      while (words[i] >= limit) stream->generate(8, reinterpret_cast<seal_byte*>(&words[i]));
      cipher.data(1)[i] = words[i] % q;
    }
    halocline_detail::ciphertext_access::set_seed(cipher, seed);
    EXPECT_TRUE(cipher.contains_seed());
    const std::string file = test::saved(cipher);
    EXPECT_EQ(file.size(), 113U + 2 * 8 * 8 + 81);
    EXPECT_EQ(cipher.save_size(compr_mode_type::none), static_cast<std::streamoff>(file.size()));
    Ciphertext loaded;
    loaded.load(context, test::bytes_of(file), file.size());
    EXPECT_TRUE(loaded.dyn_array() == cipher.dyn_array());
    EXPECT_FALSE(loaded.contains_seed());
    EXPECT_EQ(test::saved(loaded).size(), 113U + 4 * 8 * 8);
    cipher.data()[0] = 1;
    EXPECT_FALSE(cipher.contains_seed()) << "a program that writes may write polynomial 1";
  }
}

TEST(SealCiphertext, IsCheckedWhenItIsLoaded) {
  const SEALContext context = test::small_context();
  EncryptionParameters others = test::small_parameters();
  others.set_coeff_modulus(CoeffModulus::Create(8, {23, 24, 25}));
  const SEALContext other(others, true, sec_level_type::none);
  const std::string file = test::saved(test::sample_ciphertext(context));
  Ciphertext loaded;
  EXPECT_THROW(loaded.load(other, test::bytes_of(file), file.size()), std::logic_error);
  Ciphertext key_level;
  key_level.resize(context, context.key_parms_id(), 2);
  const std::string pure = test::saved(key_level);
  EXPECT_THROW(loaded.load(context, test::bytes_of(pure), pure.size()), std::logic_error);
  loaded.unsafe_load(context, test::bytes_of(pure), pure.size());
  Ciphertext bad = test::sample_ciphertext(context);
  for (const double scale : {0.0, -1.0, std::numeric_limits<double>::infinity(), 5e-324}) {
    bad.scale() = scale;
    const std::string text = test::saved(bad);
    EXPECT_THROW(loaded.load(context, test::bytes_of(text), text.size()), std::logic_error) << scale;
  }
}

TEST(SealCiphertext, HasWordsOnADeviceThatComeWhenAskedFor) {
  struct counted : halocline_detail::device_words {
    explicit counted(int& downloads) : downloads(downloads) {}
    const void* queue() const noexcept override { return this; }
    void download(std::uint64_t* to, std::size_t count) const override {
      ++downloads;
      std::fill_n(to, count, 5);
    }
    int& downloads;
  };
  int downloads = 0;
  Ciphertext cipher = test::sample_ciphertext(test::small_context());
  auto& device = halocline_detail::ciphertext_access::device(cipher);
  const auto words = std::make_shared<counted>(downloads);
  device.set_newer(words);
  EXPECT_EQ(cipher.size(), 2U);
  EXPECT_EQ(downloads, 0);
  const Ciphertext copy = cipher;
  EXPECT_EQ(std::as_const(cipher)[31], 5U);
  EXPECT_EQ(std::as_const(cipher).data(1)[0], 5U);
  EXPECT_EQ(downloads, 1) << "both are equal then";
  EXPECT_NE(device.find(words.get()), nullptr);
  cipher.data()[0] = 1;
  EXPECT_EQ(device.find(words.get()), nullptr) << "the host may have changed it";
  EXPECT_EQ(copy.data()[0], 5U);
  EXPECT_EQ(downloads, 2);
}

}  // namespace
}  // namespace seal
