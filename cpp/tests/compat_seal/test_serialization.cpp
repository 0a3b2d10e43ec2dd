// SPDX-License-Identifier: Apache-2.0
#include "seal/serialization.h"

#include <gtest/gtest.h>

#include <cstring>

#include "seal/dynarray.h"
#include "seal/valcheck.h"
#include "seal_objects.hpp"

namespace seal {
namespace {

struct pair_of_words {
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  void save(std::ostream& to) const { to.write(reinterpret_cast<const char*>(this), sizeof *this); }
  void load(std::istream& from, SEALVersion version) {
    EXPECT_EQ(version.major, 4);
    from.read(reinterpret_cast<char*>(this), sizeof *this);
  }
};

TEST(SealSerialization, HasAHeaderOfSixteenBytes) {
  Serialization::SEALHeader header;
  EXPECT_TRUE(Serialization::IsValidHeader(header));
  std::stringstream stream;
  EXPECT_EQ(Serialization::SaveHeader(header, stream), 16);
  EXPECT_EQ(stream.str().substr(0, 6), std::string("\x5e\xa1\x10\x04\x04\x00", 6));
  Serialization::SEALHeader loaded;
  loaded.magic = 0;
  EXPECT_EQ(Serialization::LoadHeader(stream, loaded), 16);
  EXPECT_EQ(std::memcmp(&loaded, &header, 16), 0);
  EXPECT_THROW(Serialization::LoadHeader(stream, loaded), std::runtime_error);
  header.compr_mode = static_cast<compr_mode_type>(3);
  EXPECT_FALSE(Serialization::IsValidHeader(header));
  header = {};
  header.version_minor = 5;
  EXPECT_FALSE(Serialization::IsCompatibleVersion(header));
  EXPECT_TRUE(Serialization::IsSupportedComprMode(compr_mode_type::none));
  EXPECT_FALSE(Serialization::IsSupportedComprMode(3));
  EXPECT_TRUE(Serialization::IsSupportedComprMode(Serialization::compr_mode_default));
}

TEST(SealSerialization, SavesMembersOfPrograms) {
  const pair_of_words made{3, 141592};
  const auto members = [&](std::ostream& to) { made.save(to); };
  for (const compr_mode_type how : test::compressions()) {
    for (const bool clear : {false, true}) {
      std::stringstream stream;
      const std::streamoff size = Serialization::Save(members, 32, stream, how, clear);
      EXPECT_EQ(static_cast<std::streamoff>(stream.str().size()), size);
      pair_of_words loaded;
      const auto loader = [&](std::istream& from, SEALVersion version) { loaded.load(from, version); };
      const std::string text = stream.str();
      EXPECT_EQ(Serialization::Load(loader, stream, clear), size);
      EXPECT_TRUE(loaded.a == made.a && loaded.b == made.b);
      loaded = {};
      EXPECT_EQ(Serialization::Load(loader, test::bytes_of(text), text.size(), clear), size);
      EXPECT_TRUE(loaded.a == made.a && loaded.b == made.b);
    }
  }
  std::stringstream stream;
  Serialization::Save(members, 32, stream, compr_mode_type::none);
  const std::string text = stream.str();
  std::uint64_t word = 0;
  const auto half = [&](std::istream& from, SEALVersion) { from.read(reinterpret_cast<char*>(&word), 8); };
  EXPECT_THROW(Serialization::Load(half, test::bytes_of(text), text.size()), std::logic_error)
      << "members are left";
}

TEST(SealSerialization, RefusesBadBuffersAndStreams) {
  const Modulus three(3);
  std::vector<seal_byte> small(20);
  EXPECT_THROW(three.save(small.data(), small.size(), compr_mode_type::none), std::runtime_error);
  EXPECT_THROW(three.save(small.data(), 15, compr_mode_type::none), std::invalid_argument);
  EXPECT_THROW(three.save(nullptr, 100, compr_mode_type::none), std::invalid_argument);
  EXPECT_THROW(three.save(small.data(), small.size(), static_cast<compr_mode_type>(7)),
               std::invalid_argument);
  EXPECT_THROW(static_cast<void>(three.save_size(static_cast<compr_mode_type>(7))), std::invalid_argument);
  std::ostringstream closed;
  closed.setstate(std::ios::badbit);
  EXPECT_THROW(three.save(closed, compr_mode_type::none), std::runtime_error);
  const std::string file = test::saved(three);
  Modulus loaded;
  EXPECT_THROW(loaded.load(nullptr, 24), std::invalid_argument);
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_THROW(loaded.load(test::bytes_of(file), size), std::invalid_argument) << size;
    std::istringstream in(file.substr(0, size));
    EXPECT_THROW(loaded.load(in), std::runtime_error) << size;
  }
  for (const std::size_t at : {0, 2, 3, 4, 5}) {
    std::string bad = file;
    bad[at] = 9;
    EXPECT_THROW(loaded.load(test::bytes_of(bad), bad.size()), std::logic_error) << at;
  }
}

TEST(SealSerialization, TakesNoMoreMemoryThanThereIsFile) {
  std::string claims = test::saved(Modulus(3));
  const std::uint64_t huge = std::uint64_t{1} << 62;
  std::memcpy(claims.data() + 8, &huge, sizeof huge);
  std::istringstream in(claims);
  Modulus loaded;
  EXPECT_THROW(loaded.load(in), std::runtime_error);
  std::istringstream again(claims);
  Ciphertext cipher;
  EXPECT_THROW(cipher.load(test::small_context(), again), std::runtime_error);
}

TEST(SealSerialization, SurvivesDamagedFiles) {
  const SEALContext context = test::small_context();
  std::random_device device;
  const unsigned seed = device();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::vector<std::string> files;
  for (const compr_mode_type how : test::compressions()) {
    files.push_back(test::saved(test::sample_ciphertext(context), how));
    files.push_back(test::saved(test::sample_plaintext(context), how));
    files.push_back(test::saved(test::sample_secret_key(context), how));
    files.push_back(test::saved(test::sample_keys<GaloisKeys>(context, {1}), how));
    files.push_back(test::saved(test::small_parameters(), how));
    files.push_back(test::saved(test::sample_ciphertext(context).dyn_array(), how));
  }
  for (int round = 0; round < 150; ++round) {
    for (std::string file : files) {
      // Headers and sizes are at the front: half of the changes go there.
      const std::size_t reach = random() % 2 == 0 ? std::min<std::size_t>(file.size(), 120) : file.size();
      for (unsigned changes = random() % 3 + 1; changes > 0; --changes) {
        file[random() % reach] = static_cast<char>(random() % 4 == 0 ? 0 : random());
      }
      test::check_any_file<Ciphertext>(file, context);
      test::check_any_file<Plaintext>(file, context);
      test::check_any_file<SecretKey>(file, context);
      test::check_any_file<PublicKey>(file, context);
      test::check_any_file<RelinKeys>(file, context);
      test::check_any_file<GaloisKeys>(file, context);
      test::check_any_plain_file<EncryptionParameters>(file);
      test::check_any_plain_file<DynArray<std::uint64_t>>(file);
    }
  }
}

TEST(SealDynArray, GrowsAndShrinks) {
  DynArray<std::uint64_t> array(3);
  EXPECT_EQ(array, (DynArray<std::uint64_t>(5, 3)));
  array[2] = 4;
  array.resize(5);
  EXPECT_EQ(array.back(), 0U);
  EXPECT_EQ(array[2], 4U);
  array.reserve(10);
  EXPECT_EQ(array.capacity(), 10U);
  EXPECT_EQ(array.size(), 5U);
  array.shrink_to_fit();
  EXPECT_EQ(array.capacity(), 5U);
  array.resize(2);
  array.resize(3);
  EXPECT_EQ(array[2], 0U) << "what was dropped does not come back";
  EXPECT_THROW(static_cast<void>(array.at(3)), std::out_of_range);
  EXPECT_THROW(array.reserve(array.max_size() + 1), std::bad_alloc);
  EXPECT_THROW((DynArray<int>(2, 3)), std::invalid_argument);
  EXPECT_THROW(DynArray<int>{MemoryPoolHandle()}, std::invalid_argument);
  array.clear();
  EXPECT_TRUE(array.empty());
  array.release();
  EXPECT_EQ(array.capacity(), 0U);
  EXPECT_THROW(static_cast<void>(array.front()), std::out_of_range);
  EXPECT_THROW(static_cast<void>(array.back()), std::out_of_range);
}

TEST(SealDynArray, IsSavedAndLoaded) {
  const std::int32_t values[] = {3, 1, 4, 1, 5};
  const DynArray<std::int32_t> array(values, 5, 8);
  EXPECT_EQ(array.capacity(), 8U);
  for (const compr_mode_type how : test::compressions()) {
    const std::string file = test::saved(array, how);
    EXPECT_LE(static_cast<std::streamoff>(file.size()), array.save_size(how));
    DynArray<std::int32_t> loaded;
    std::istringstream in(file);
    EXPECT_EQ(loaded.load(in, 5), static_cast<std::streamoff>(file.size()));
    EXPECT_EQ(loaded, array);
    EXPECT_THROW(loaded.load(test::bytes_of(file), file.size(), 4), std::logic_error);
  }
  std::string file = test::saved(array);
  file[16] = 6;  // one value more than there is
  DynArray<std::int32_t> loaded;
  EXPECT_THROW(loaded.load(test::bytes_of(file), file.size()), std::logic_error);
}

TEST(SealSerialization, NewObjectsAreRead) {
  EncryptionParameters without_primes(scheme_type::ckks);
  without_primes.set_poly_modulus_degree(1024);
  for (const EncryptionParameters& made :
       {EncryptionParameters(scheme_type::ckks), EncryptionParameters(), without_primes}) {
    for (const compr_mode_type how : test::compressions()) {
      std::stringstream stream;
      made.save(stream, how);
      EncryptionParameters loaded = test::small_parameters();
      loaded.load(stream);
      EXPECT_TRUE(loaded == made);
      EXPECT_EQ(loaded.poly_modulus_degree(), made.poly_modulus_degree());
      EXPECT_TRUE(loaded.coeff_modulus().empty());
    }
  }
  const SEALContext context = test::small_context();
  std::stringstream stream;
  Ciphertext().save(stream);
  PublicKey().save(stream);
  Ciphertext().save(stream);
  Ciphertext cipher = test::sample_ciphertext(context);
  cipher.unsafe_load(context, stream);
  EXPECT_TRUE(cipher.size() == 0 && cipher.poly_modulus_degree() == 0 && cipher.scale() == 1.0);
  PublicKey key;
  key.data() = test::sample_ciphertext(context);
  key.unsafe_load(context, stream);
  EXPECT_EQ(key.data().size(), 0U);
  EXPECT_THROW(cipher.load(context, stream), std::logic_error) << "it is no ciphertext of the parameters";
}

}  // namespace
}  // namespace seal
