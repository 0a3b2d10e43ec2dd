// SPDX-License-Identifier: Apache-2.0
#include "halocline/storage/key_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>

#include "halocline/core/error.hpp"
#include "halocline/io/bundle_source.hpp"
#include "halocline/io/key_file.hpp"
#include "storage/s3_listing.hpp"
#include "support/object_samples.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::storage {
namespace {

using test::byte_vector;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::size_t digest_bytes = 32;

/// Contents that fill a few blocks and a part of one.
byte_vector sample_bytes(std::size_t count = 5 * 65536 + 100) {
  byte_vector out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::byte>(i * 2654435761U >> 13);
  return out;
}

manifest sample_manifest(const std::string& user = "alice") {
  return make_manifest(user, {{1, 2, 3}}, {{4, 5}}, sample_bytes());
}

byte_vector sample_bundle(ckks::context& ctx) { return io::to_bytes(ctx, test::sample_keys(ctx)); }

TEST(KeyManifest, ComesBackAndDependsOnEverything) {
  const manifest made = sample_manifest();
  EXPECT_EQ(made.blocks.size(), 6U);
  const manifest back = decode_manifest(encode(made), "alice");
  EXPECT_EQ(back.root, made.root);
  EXPECT_EQ(back.blocks, made.blocks);
  EXPECT_EQ(back.object_name(), "keys-" + to_string(made.root).substr(0, 32) + ".hlc");
  const byte_vector bytes = sample_bytes();
  EXPECT_NE(make_manifest("bob", made.key, made.parameters, bytes).blocks[0], made.blocks[0]);
  EXPECT_NE(make_manifest("alice", {{1, 2, 4}}, made.parameters, bytes).blocks[0], made.blocks[0]);
  EXPECT_NE(make_manifest("alice", made.key, {{4, 6}}, bytes).blocks[0], made.blocks[0]);
}

TEST(KeyManifest, EveryChangedByteIsRefused) {
  const byte_vector good = encode(sample_manifest());
  for (std::size_t at = 0; at < good.size(); ++at) {
    byte_vector bad = good;
    bad[at] ^= std::byte{0x10};
    EXPECT_THROW((void)decode_manifest(bad, "alice"), corrupt_data) << "byte " << at;
    if (at % 7 == 0) {
      EXPECT_THROW((void)decode_manifest(std::span(good).first(at), "alice"), corrupt_data);
    }
  }
  EXPECT_THAT([&] { (void)decode_manifest(good, "alicf"); },
              ThrowsMessage<corrupt_data>(HasSubstr("another user")));
}

TEST(KeyManifest, CountsAreCheckedBeforeAnythingIsAllocated) {
  byte_vector forged = encode(sample_manifest());
  constexpr std::size_t container_bytes = 48;
  const std::uint64_t huge = std::uint64_t{1} << 62;
  std::memcpy(forged.data() + container_bytes, &huge, sizeof huge);
  EXPECT_THROW((void)decode_manifest(forged, "alice"), corrupt_data);
  const std::uint64_t fitting = std::uint64_t{1} << 35;
  std::memcpy(forged.data() + container_bytes, &fitting, sizeof fitting);
  EXPECT_THAT([&] { (void)decode_manifest(forged, "alice"); },
              ThrowsMessage<corrupt_data>(HasSubstr("bytes of digests, expected")));
  static_assert(manifest::most_bytes == (std::uint64_t{1} << 20) * digest_bytes);
}

class KeyStore : public ::testing::Test {
 protected:
  KeyStore() : ctx_(test::tiny_context()), bundle_(sample_bundle(*ctx_)) {}

  [[nodiscard]] key_store make(std::uint64_t quota = 0) const {
    return {open_store("file:" + folder_.path().string()), {}, quota};
  }
  /// The file of the container that a manifest names.
  [[nodiscard]] std::filesystem::path container(const manifest& of) const {
    return folder_.path() / of.user / of.object_name();
  }

  test::temporary_folder folder_;
  std::shared_ptr<ckks::context> ctx_;
  byte_vector bundle_;
};

TEST_F(KeyStore, GivesBackWhatWasPut) {
  key_store store = make();
  const manifest put = store.put("alice", bundle_);
  store.put("bob", bundle_);
  EXPECT_THAT(store.users(), ElementsAre("alice", "bob"));
  EXPECT_EQ(store.bytes("alice"), bundle_.size() + encode(put).size());
  const auto source = store.open(store.find("alice", to_string(put.root), to_string(put.key)));
  byte_vector copy(bundle_.size() - 5);
  source->read(3, copy);
  EXPECT_EQ(std::memcmp(copy.data(), bundle_.data() + 3, copy.size()), 0);
  EXPECT_EQ(io::load_evaluation_keys(io::input(source), *ctx_).list(),
            io::load_evaluation_keys(bundle_, *ctx_).list());
  EXPECT_TRUE(store.remove("alice"));
  EXPECT_FALSE(store.remove("alice"));
  EXPECT_THAT([&] { (void)store.find("alice"); }, ThrowsMessage<io_error>(HasSubstr("no keys of 'alice'")));
  EXPECT_THAT(store.users(), ElementsAre("bob"));
}

TEST_F(KeyStore, RangesMayBeginAndEndAnywhere) {
  key_store store = make();
  const auto source = store.open(store.put("alice", bundle_));
  const std::uint64_t block = manifest::block_bytes, all = bundle_.size();
  ASSERT_GT(all, 4 * block + 8);
  for (const std::uint64_t begin : {std::uint64_t{0}, std::uint64_t{1}, block - 1, block, 2 * block + 7}) {
    for (const std::uint64_t end : {begin + 2 * block, 3 * block, 3 * block + 1, all - 1, all}) {
      if (end <= begin) continue;
      byte_vector copy(end - begin);
      source->read(begin, copy);
      EXPECT_EQ(std::memcmp(copy.data(), bundle_.data() + begin, copy.size()), 0) << begin << ", " << end;
    }
  }
}

TEST_F(KeyStore, DamageAnywhereInARangeIsFound) {
  key_store store = make();
  const manifest put = store.put("alice", bundle_);
  const std::string content = test::read_file(container(put));
  const std::uint64_t block = manifest::block_bytes, begin = block / 2, end = 3 * block + 5;
  byte_vector copy(end - begin);
  for (const std::uint64_t at : {std::uint64_t{0}, begin, block, 3 * block - 1, 3 * block, 4 * block - 1}) {
    std::string damaged = content;
    damaged[at] ^= 1;
    test::write_file(container(put), damaged);
    EXPECT_THROW(store.open(put)->read(begin, copy), corrupt_data) << at;
  }
}

TEST_F(KeyStore, PinsAreKept) {
  key_store store = make();
  const manifest put = store.put("alice", bundle_);
  EXPECT_THROW((void)store.find("alice", to_string(digest256{})), corrupt_data);
  EXPECT_THROW((void)store.find("alice", {}, std::string(32, '0')), key_mismatch);
  // The manifest of another user, under the name of this one.
  store.put("bob", bundle_);
  std::filesystem::copy_file(folder_.path() / "bob/manifest.hlm", folder_.path() / "alice/manifest.hlm",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_THROW((void)store.find("alice"), corrupt_data);
}

TEST_F(KeyStore, DamagedAndShortenedContainersAreRefused) {
  key_store store = make();
  const manifest put = store.put("alice", bundle_);
  std::string content = test::read_file(container(put));
  content[content.size() / 2] ^= 4;
  test::write_file(container(put), content);
  byte_vector copy(bundle_.size());
  EXPECT_THAT([&] { store.open(put)->read(0, copy); },
              ThrowsMessage<corrupt_data>(HasSubstr("do not match")));
  test::write_file(container(put), content.substr(0, content.size() - 1));
  EXPECT_THROW(store.open(put)->read(0, copy), corrupt_data);
}

TEST_F(KeyStore, RefusesWhatIsNoBundle) {
  key_store store = make();
  EXPECT_THROW(store.put("../x", bundle_), invalid_argument);
  EXPECT_THROW(store.put("alice", sample_bytes()), corrupt_data);
  EXPECT_THROW(store.put("alice", io::to_bytes(ctx_->parameters())), invalid_argument);
  EXPECT_THAT([&] { store.put("alice", io::to_bytes(*ctx_, ckks::memory_key_set(ctx_->parameters()))); },
              ThrowsMessage<invalid_argument>(HasSubstr("no secret key")));
  byte_vector damaged = bundle_;
  damaged[damaged.size() / 2] ^= std::byte{1};
  EXPECT_THROW(store.put("alice", damaged), corrupt_data);
  EXPECT_THAT([&] { make(1000).put("alice", bundle_); }, ThrowsMessage<io_error>(HasSubstr("quota")));
  EXPECT_EQ(folder_.entries(), 0U);
}

TEST_F(KeyStore, LowerLevelsReadAPrefix) {
  key_store store = make();
  const auto source = store.open(store.put("alice", bundle_));
  const std::vector<ckks::key_request> all = io::load_evaluation_keys(bundle_, *ctx_).list();
  io::bundle_source keys(io::input(source), *ctx_, std::vector{ckks::key_request{all[0].galois_element, 0}});
  ASSERT_EQ(keys.list(), (std::vector{ckks::key_request{all[0].galois_element, 0}}));
  const io::key_bundle_reader direct(bundle_, *ctx_);
  const ckks::evaluation_key expected = direct.load(all[0].galois_element, 0);
  const ckks::evaluation_key key = keys.load(all[0].galois_element);
  ASSERT_EQ(key.digits.size(), expected.digits.size());
  EXPECT_EQ(test::contents(*ctx_, key.digits[0].b), test::contents(*ctx_, expected.digits[0].b));
  EXPECT_THROW((void)keys.load(all[1].galois_element), missing_key);
}

TEST(OpenStore, RefusesUrlsThatItCannotServe) {
  for (const char* url :
       {"", "keys", "ftp://host/", "http:host", "http://", "http://user:word@host/", "https://host/?a=b",
        "http://host/a b", "s3://", "s3:///x", "file:", "http://host/%2e"}) {
    EXPECT_THROW((void)open_store(url), invalid_argument) << url;
  }
  try {
    (void)open_store("http://user:word@host/");
  } catch (const invalid_argument& e) {
    EXPECT_THAT(e.what(), Not(HasSubstr("word@")));
  }
  store_options options;
  options.connections = 0;
  EXPECT_THROW((void)open_store("file:x", options), invalid_argument);
}

constexpr char page[] =
    "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"x\"><IsTruncated>true</IsTruncated>"
    "<NextContinuationToken>a&amp;b</NextContinuationToken>"
    "<Contents><Key>p/one.hlc</Key><Size>12</Size></Contents><Contents><Size>0</Size><Key>p/</Key></Contents>"
    "<CommonPrefixes><Prefix>p/alice/</Prefix></CommonPrefixes></ListBucketResult>";

TEST(S3Listing, ReadsPages) {
  const s3_page read = read_s3_page(page, "p/");
  ASSERT_EQ(read.entries.size(), 2U);
  EXPECT_EQ(read.entries[0].name, "one.hlc");
  EXPECT_EQ(read.entries[0].bytes, 12U);
  EXPECT_EQ(read.entries[1].name, "alice");
  EXPECT_TRUE(read.entries[1].is_folder);
  EXPECT_EQ(read.next, "a&b");
}

TEST(S3Listing, RefusesWhatIsNone) {
  const std::string text(page);
  for (std::size_t bytes = 0; bytes < text.size(); ++bytes) {
    EXPECT_THROW((void)read_s3_page(text.substr(0, bytes), "p/"), corrupt_data) << bytes;
  }
  EXPECT_THROW((void)read_s3_page(page, "other/"), corrupt_data);
}

}  // namespace
}  // namespace halocline::storage
