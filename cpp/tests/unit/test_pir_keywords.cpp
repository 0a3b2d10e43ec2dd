// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "halocline/backend/registry.hpp"
#include "halocline/pir/client.hpp"
#include "halocline/pir/keyword_builder.hpp"
#include "halocline/pir/keyword_choice.hpp"
#include "halocline/pir/server.hpp"
#include "support/keyword_samples.hpp"

namespace halocline::pir {
namespace {

using test::byte_string;

/// Lookups through a client and a server. Queries are independent of whether a key is there.
class KeywordRetrieval : public ::testing::TestWithParam<unsigned> {
 protected:
  static std::shared_ptr<backend::backend> device() {
    backend::backend_options options;
    options.threads = 1;
    return backend::make_backend("cpu", options);
  }

  static std::optional<byte_string> lookup(const keyword_layout& at, client& asking, server& answering,
                                           const std::shared_ptr<const server_keys>& keys,
                                           std::string_view key) {
    const auto candidates = candidate_buckets(at, key_bytes(key));
    std::vector<byte_string> queries;
    for (const std::uint64_t bucket : candidates) queries.push_back(asking.query(bucket));
    const std::vector<std::span<const std::byte>> sent(queries.begin(), queries.end());
    const auto answers = answering.answer(std::vector(queries.size(), keys), sent);
    std::vector<byte_string> buckets;
    for (std::size_t i = 0; i < queries.size(); ++i) {
      buckets.push_back(asking.decode(candidates[i], queries[i], answers[i]));
    }
    return find_entry(at, buckets, key_bytes(key));
  }
};

TEST_P(KeywordRetrieval, FindsKeysAndTheirUpdates) {
  std::mt19937_64 random(11);
  const auto contents = test::random_dictionary(700, 24, random);
  keyword_choice chosen = choose_keyword_layout(
      preset("pir-n2048"), {.keys = contents.size(), .max_value_bytes = 24, .hashes = GetParam()});
  chosen.table.seed = test::fixed_seed(4);
  const auto table = test::memory_table::build(chosen.table, contents, {.attempts = 100, .growths = 0});
  byte_string records;
  for (const byte_string& bucket : table.buckets) records.insert(records.end(), bucket.begin(), bucket.end());
  server answering(chosen.shape, make_memory_records(records), device());
  client asking(chosen.shape);
  const auto keys = answering.load_keys(asking.server_keys());
  const auto find = [&](std::string_view key) { return lookup(table.at, asking, answering, keys, key); };
  for (const char* key : {"key 0", "key 1", "key 350", "key 699"})
    EXPECT_EQ(find(key), contents.at(key)) << key;
  for (const char* key : {"key 700", ""}) EXPECT_EQ(find(key), std::nullopt) << key;

  test::memory_table copy = table;
  bucket_access access = copy.access();
  access.write = [&, write = access.write](std::uint64_t bucket, std::span<const std::byte> bytes) {
    write(bucket, bytes);
    answering.records().replace(bucket, bytes);
  };
  EXPECT_TRUE(replace(table.at, access, key_bytes("key 350"), test::bytes_of("new")));
  EXPECT_EQ(find("key 350"), test::bytes_of("new"));
  EXPECT_TRUE(erase(table.at, access, key_bytes("key 350")));
  EXPECT_EQ(find("key 350"), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(HashFunctions, KeywordRetrieval, ::testing::Values(1U, 2U, 3U));

}  // namespace
}  // namespace halocline::pir
