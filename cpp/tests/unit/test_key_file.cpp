// SPDX-License-Identifier: Apache-2.0
#include "halocline/io/key_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "halocline/ckks/context.hpp"
#include "support/container_samples.hpp"
#include "support/file_size_limit.hpp"
#include "support/object_samples.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::io {
namespace {

using test::byte_vector;
using test::contents;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class KeyFile : public ::testing::TestWithParam<unsigned> {
 protected:
  KeyFile() : ctx_(test::tiny_context(GetParam())), bytes_(to_bytes(*ctx_, test::sample_keys(*ctx_))) {}

  [[nodiscard]] ckks::context& context() const { return *ctx_; }
  [[nodiscard]] const byte_vector& bytes() const { return bytes_; }
  [[nodiscard]] const params::parameters& parameters() const { return ctx_->parameters(); }

  /// The bundle with `value` at byte `at` of its list.
  template <typename ValueT>
  [[nodiscard]] byte_vector with_list(std::size_t at, ValueT value) const {
    const section_id list{section_tag("META"), 0, 0};
    const auto reader = container_reader::over(bytes_);
    byte_vector out;
    container_writer writer(out, reader.kind(), reader.parameters());
    for (const section& each : reader.sections()) {
      byte_vector content = reader.read_all(each, bytes_.size());
      if (each.id == list) std::memcpy(content.data() + at, &value, sizeof value);
      writer.add_section(each.id, content);
    }
    writer.finish();
    return out;
  }

 private:
  std::shared_ptr<ckks::context> ctx_;
  byte_vector bytes_;
};

TEST_P(KeyFile, BundlesComeBack) {
  const ckks::memory_key_set original = test::sample_keys(context());
  const ckks::memory_key_set copy = load_evaluation_keys(bytes(), context());
  EXPECT_EQ(copy.list(), original.list());
  for (const auto& [element, key] : original.keys()) {
    const ckks::evaluation_key& other = copy.keys().at(element);
    EXPECT_EQ(other.galois_element, element);
    ASSERT_EQ(other.digits.size(), key.digits.size());
    for (std::size_t i = 0; i < key.digits.size(); ++i) {
      EXPECT_TRUE(contents(context(), other.digits[i].b) == contents(context(), key.digits[i].b));
      EXPECT_TRUE(contents(context(), other.digits[i].a) == contents(context(), key.digits[i].a));
      if (!key.digits[i].a) {
        EXPECT_EQ(other.digits[i].source.seed, key.digits[i].source.seed);
        EXPECT_EQ(other.digits[i].source.stream, key.digits[i].source.stream);
      }
    }
  }
  EXPECT_EQ(to_bytes(context(), copy), bytes());
}

TEST_P(KeyFile, AKeyForALowerLevelIsAPrefix) {
  const key_bundle_reader reader(bytes(), context());
  for (const ckks::key_request& request : reader.list()) {
    const ckks::evaluation_key whole = reader.load(request.galois_element, request.level);
    const ckks::evaluation_key low = reader.load(request.galois_element, 0);
    EXPECT_EQ(low.level, 0U);
    const std::size_t prefix = parameters().key_limbs(0) * parameters().limb_bytes();
    std::size_t total = 0;
    for (std::size_t i = 0; i < low.digits.size(); ++i) {
      byte_vector expected = contents(context(), whole.digits[i].b);
      expected.resize(prefix);
      EXPECT_TRUE(contents(context(), low.digits[i].b) == expected);
      total += low.digits[i].b.size() + low.digits[i].a.size();
    }
    EXPECT_EQ(reader.bytes(request.galois_element, 0), total);
  }
}

TEST_P(KeyFile, MissingKeysAreNamed) {
  const key_bundle_reader reader(bytes(), context());
  EXPECT_THAT([&] { (void)reader.load(parameters().galois_element(3), 0); },
              ThrowsMessage<missing_key>(HasSubstr("rotation key for step 3")));
  EXPECT_THAT([&] { (void)reader.load(parameters().galois_element(1), 2); },
              ThrowsMessage<missing_key>(HasSubstr("levels up to 0 only, needed at level 2")));
}

TEST_P(KeyFile, ElementsMustAscend) {
  byte_vector out;
  key_bundle_writer writer(out, context());
  for (const std::uint64_t element : {3, 5}) writer.add(test::sample_key(context(), element, 0, true));
  writer.finish();
  const section_id list{section_tag("META"), 0, 0};
  const auto swapped = [&](std::uint64_t second) {
    const auto reader = container_reader::over(out);
    const std::size_t entry = 24 + 40 * ckks::evaluation_key::digit_count(parameters(), 0);
    byte_vector damaged;
    container_writer copy(damaged, reader.kind(), reader.parameters());
    for (const section& each : reader.sections()) {
      byte_vector content = reader.read_all(each, out.size());
      if (each.id == list) std::memcpy(content.data() + 8 + entry, &second, sizeof second);
      copy.add_section(each.id, content);
    }
    copy.finish();
    return damaged;
  };
  EXPECT_NO_THROW((void)key_bundle_reader(swapped(5), context()));
  for (const std::uint64_t second : {3, 1}) {
    const byte_vector damaged = swapped(second);
    EXPECT_THAT([&] { (void)key_bundle_reader(damaged, context()); },
                ThrowsMessage<corrupt_data>(HasSubstr("in ascending order")));
  }
}

TEST_P(KeyFile, ForgedListsAreRefused) {
  const auto expect_refused = [&](std::size_t at, auto value, const std::string& fragment) {
    const byte_vector forged = with_list(at, value);
    EXPECT_THAT([&] { (void)load_evaluation_keys(forged, context()); },
                ThrowsMessage<corrupt_data>(HasSubstr(fragment)));
  };
  expect_refused(0, std::uint64_t{0}, "left over");
  expect_refused(0, std::uint64_t{2}, "left over");
  expect_refused(0, ~std::uint64_t{0}, "ends too early");
  expect_refused(8, std::uint64_t{2}, "Galois element 2");
  expect_refused(8, std::uint64_t{2049}, "Galois element 2049");
  expect_refused(8, std::uint64_t{3}, "section 'KEYB 3/0' is missing");
  expect_refused(16, std::uint32_t{3}, "has level 3");
  expect_refused(16, std::uint32_t{0}, "expected");
  expect_refused(20, std::uint32_t{99}, "has 99 digits");
  expect_refused(24, std::uint32_t{2}, "form 2");
  expect_refused(24, std::uint32_t{0}, "section 'KEYA 1/0' is missing");
}

TEST_P(KeyFile, WriterRefusesWhatDoesNotFit) {
  byte_vector out;
  key_bundle_writer writer(out, context());
  ckks::evaluation_key key = test::sample_key(context(), 5, 2, true);
  writer.add(key);
  EXPECT_THROW(writer.add(key), invalid_argument);
  key.galois_element = 4;
  EXPECT_THROW(writer.add(key), invalid_argument);
  key.galois_element = 3;
  key.level = 3;
  EXPECT_THROW(writer.add(key), invalid_argument);
  key.level = 0;
  EXPECT_THROW(writer.add(key), invalid_argument);
  key.level = 2;
  key.digits.pop_back();
  EXPECT_THROW(writer.add(key), invalid_argument);
}

TEST_P(KeyFile, EmptyBundlesNameTheirKeyToo) {
  const ckks::memory_key_set none(parameters(), test::sample_key_id());
  byte_vector empty = to_bytes(context(), none);
  const ckks::memory_key_set copy = load_evaluation_keys(empty, context());
  EXPECT_TRUE(copy.list().empty());
  EXPECT_EQ(copy.id(), test::sample_key_id());
  empty = to_bytes(context(), ckks::memory_key_set(parameters()));
  EXPECT_FALSE(load_evaluation_keys(empty, context()).id().is_known());
  test::forge_version(empty, 1);
  EXPECT_THAT([&] { (void)load_evaluation_keys(empty, context()); },
              ThrowsMessage<corrupt_data>(HasSubstr("it lists no keys")));
}

TEST_P(KeyFile, ABundleHasKeysOfOneSecret) {
  byte_vector out;
  key_bundle_writer writer(out, context());
  ckks::evaluation_key key = test::sample_key(context(), 5, 0, true);
  writer.add(key);
  key.galois_element = 3;
  key.id = test::sample_key_id(0x2c);
  EXPECT_THAT([&] { writer.add(key); },
              ThrowsMessage<key_mismatch>(::testing::AllOf(HasSubstr("1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b"),
                                                           HasSubstr("2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c2c"))));
  key.id = {};
  EXPECT_NO_THROW(writer.add(key));
  writer.finish();
  EXPECT_EQ(load_evaluation_keys(out, context()).id(), test::sample_key_id());
}

TEST_P(KeyFile, ABundleIsWrittenKeyByKey) {
  const test::temporary_folder folder;
  key_bundle_writer writer(folder / "keys.hlc", context());
  for (const unsigned step : {4U, 2U, 1U})
    writer.add(test::sample_key(context(), parameters().galois_element(step), 1, true));
  EXPECT_FALSE(std::filesystem::exists(folder / "keys.hlc"));
  writer.finish();
  const key_bundle_reader reader(folder / "keys.hlc", context());
  EXPECT_EQ(reader.list().size(), 3U);
}

TEST_P(KeyFile, AFullDiskKeepsTheOldBundle) {
  const test::temporary_folder folder;
  const auto path = folder / "keys.hlc";
  key_bundle_writer small(path, context());
  small.add(test::sample_key(context(), 3, 0, true));
  small.finish();
  const std::string before = test::read_file(path);
  const auto save_more = [&] {
    const test::file_size_limit limit(before.size() + 4096);
    save(path, context(), test::sample_keys(context()));
  };
  EXPECT_THAT(save_more, ThrowsMessage<io_error>(HasSubstr("nothing was replaced")));
  EXPECT_EQ(test::read_file(path), before);
  EXPECT_EQ(folder.entries(), 1U);
}

INSTANTIATE_TEST_SUITE_P(WordBits, KeyFile, ::testing::Values(32U, 64U), ::testing::PrintToStringParamName());

}  // namespace
}  // namespace halocline::io
