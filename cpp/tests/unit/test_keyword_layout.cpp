// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/keyword_layout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "halocline/core/error.hpp"
#include "support/keyword_check.hpp"
#include "support/keyword_samples.hpp"

namespace halocline::pir {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

template <typename ErrorT>
void expect_refused(const std::string& json, const std::string& part) {
  EXPECT_THAT([&] { (void)keyword_layout_from_json(json); }, ThrowsMessage<ErrorT>(HasSubstr(part))) << json;
}

std::string replaced(std::string text, const std::string& part, const std::string& by) {
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.replace(at, part.size(), by);
}

TEST(KeywordLayout, TagsFollowTheFormula) {
  // 8 bytes of tag >= 44 + log2(hashes * slots): 6 bytes leave 4 bits, 7 leave 12.
  EXPECT_EQ(required_tag_bytes(1, 1), 6U);
  EXPECT_EQ(required_tag_bytes(1, 16), 6U);
  EXPECT_EQ(required_tag_bytes(1, 17), 7U);
  EXPECT_EQ(required_tag_bytes(2, 8), 6U);
  EXPECT_EQ(required_tag_bytes(3, 6), 7U);
  EXPECT_EQ(required_tag_bytes(1, 4096), 7U);
  EXPECT_EQ(required_tag_bytes(1, 4097), 8U);
  EXPECT_EQ(required_tag_bytes(3, max_keyword_slots), 8U);
  for (const std::uint32_t slots : {1U, 3U, 100U, 65536U}) {
    for (unsigned hashes = 1; hashes <= 3; ++hashes) {
      EXPECT_LE(test::layout_of(hashes, slots, 100, 8).log2_false_positive(), -44) << hashes << " " << slots;
    }
  }
}

TEST(KeywordLayout, LengthFieldsHoldTheLengthPlusOne) {
  const auto bytes = [](std::uint64_t longest) { return test::layout_of(1, 1, 1, longest).length_bytes(); };
  EXPECT_EQ(bytes(0), 1U);
  EXPECT_EQ(bytes(254), 1U);
  EXPECT_EQ(bytes(255), 2U);
  EXPECT_EQ(bytes(65534), 2U);
  EXPECT_EQ(bytes(65535), 3U);
  EXPECT_EQ(test::layout_of(2, 4, 9, 16).bucket_bytes(), 4U * (6 + 1 + 16));
}

TEST(KeywordLayout, CandidatesAreDifferentAndUniform) {
  constexpr std::uint64_t buckets = 5;
  constexpr int keys = 20000;
  const keyword_layout at = test::layout_of(3, 1, buckets, 8);
  std::vector<std::vector<int>> counts(3, std::vector<int>(buckets));
  for (int i = 0; i < keys; ++i) {
    const auto found = candidate_buckets(at, key_bytes("key " + std::to_string(i)));
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(std::set(found.begin(), found.end()).size(), 3U);
    for (unsigned k = 0; k < 3; ++k) ++counts[k].at(found[k]);
  }
  // Binomial with p = 1/5: standard deviation 57; five of them.
  for (const auto& of_hash : counts) {
    for (const int count : of_hash) EXPECT_NEAR(count, keys / 5, 285);
  }
}

TEST(KeywordLayout, SeedsAndAttemptsChangeCandidatesAndOnlySeedsTags) {
  const keyword_layout at = test::layout_of(2, 4, 1u << 30, 8);
  keyword_layout other_attempt = at;
  other_attempt.attempt = 1;
  const keyword_layout other_seed = test::layout_of(2, 4, 1u << 30, 8, 2);
  const auto key = key_bytes("alice");
  EXPECT_EQ(candidate_buckets(at, key), candidate_buckets(at, key));
  EXPECT_NE(candidate_buckets(at, key), candidate_buckets(other_attempt, key));
  EXPECT_NE(candidate_buckets(at, key), candidate_buckets(other_seed, key));
  EXPECT_EQ(digest_of(at, key), digest_of(other_attempt, key));
  EXPECT_NE(digest_of(at, key), digest_of(other_seed, key));
  EXPECT_NE(digest_of(at, key), digest_of(at, key_bytes("alicf")));
  EXPECT_NE(digest_of(at, key_bytes(std::string_view("\0", 1))), digest_of(at, {}));
}

TEST(KeywordLayout, KeysHaveAtMost64KiB) {
  const keyword_layout at = test::layout_of(1, 1, 10, 8);
  EXPECT_NO_THROW((void)candidate_buckets(at, test::byte_string(max_keyword_bytes)));
  EXPECT_THAT([&] { (void)candidate_buckets(at, test::byte_string(max_keyword_bytes + 1)); },
              ThrowsMessage<invalid_argument>(HasSubstr("65537 bytes; expected at most 65536")));
}

TEST(KeywordLayout, KeysInMessagesArePrintableAndShort) {
  EXPECT_EQ(printable_key(key_bytes("alice")), "'alice'");
  EXPECT_EQ(printable_key({}), "''");
  EXPECT_EQ(printable_key(key_bytes("a\nb")), "0x610a62");
  EXPECT_EQ(printable_key(key_bytes("it's")), "0x69742773");
  EXPECT_EQ(printable_key(key_bytes("\xC3\xA9")), "0xc3a9");
  EXPECT_EQ(printable_key(key_bytes(std::string(1000, 'x'))),
            "'" + std::string(32, 'x') + "'... (1000 bytes)");
}

TEST(KeywordLayout, JsonReadsBackEqual) {
  keyword_layout at = test::layout_of(2, 4, 1000, 300, 0xab);
  at.attempt = 4294967295U;
  EXPECT_EQ(keyword_layout_from_json(to_json(at)), at);
  EXPECT_EQ(to_json(at),
            "{\"schema\":1,\"seed\":\"abababababababababababababababababababababababababababababababab\","
            "\"attempt\":4294967295,\"hashes\":2,\"slots\":4,\"tag_bytes\":6,\"max_value_bytes\":300,"
            "\"buckets\":1000}");
}

TEST(KeywordLayout, RefusesJsonThatIsNotALayout) {
  const std::string good = to_json(test::layout_of(2, 4, 1000, 300));
  expect_refused<corrupt_data>(good.substr(1), "line 1");
  expect_refused<corrupt_data>(good + " 1", "line 1");
  expect_refused<corrupt_data>(good + std::string(2000, ' '), "bytes");
  expect_refused<invalid_argument>("[]", "keyword layout");
  expect_refused<invalid_argument>(replaced(good, "\"slots\":4,", ""), "lacks \"slots\"");
  expect_refused<invalid_argument>(replaced(good, "slots", "slot"), "unknown field \"slot\"");
  expect_refused<invalid_argument>(replaced(good, "\"schema\":1", "\"schema\":2"), "schema");
  expect_refused<invalid_argument>(replaced(good, "0101", "010"), "63 characters");
  expect_refused<invalid_argument>(replaced(good, "0101", "010A"), "hexadecimal");
  expect_refused<invalid_argument>(replaced(good, "\"hashes\":2", "\"hashes\":4"), "hashes");
  expect_refused<invalid_argument>(replaced(good, "\"hashes\":2", "\"hashes\":0"), "hashes");
  expect_refused<invalid_argument>(replaced(good, "\"slots\":4", "\"slots\":65537"), "slots");
  expect_refused<invalid_argument>(replaced(good, "\"slots\":4", "\"slots\":1.5"), "slots");
  expect_refused<invalid_argument>(replaced(good, "\"tag_bytes\":6", "\"tag_bytes\":17"), "tag_bytes");
  expect_refused<invalid_argument>(replaced(good, "\"tag_bytes\":6", "\"tag_bytes\":5"),
                                   "2^-37; expected at most 2^-40. Take 6 tag_bytes instead of 5");
  expect_refused<invalid_argument>(replaced(good, ":300", ":1073741825"), "max_value_bytes");
  expect_refused<invalid_argument>(replaced(good, ":300", ":1073741824"), "bytes of a bucket");
  expect_refused<invalid_argument>(replaced(good, ":1000}", ":1}"), "buckets is 1; expected 2");
  expect_refused<invalid_argument>(replaced(good, ":1000}", ":1099511627776}"), "bytes together");
  expect_refused<invalid_argument>(replaced(good, "\"attempt\":0", "\"attempt\":4294967296"), "attempt");
}

TEST(KeywordLayout, CorpusOfItsFuzzTargetIsHandled) {
  const std::filesystem::path folder =
      std::filesystem::path(__FILE__).parent_path() / "../fuzz/corpus/keyword_table";
  int accepted = 0;
  int refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    (test::check_keyword_bytes(bytes) ? accepted : refused) += 1;
  }
  EXPECT_GE(accepted, 4);
  EXPECT_GE(refused, 4);
}

}  // namespace
}  // namespace halocline::pir
