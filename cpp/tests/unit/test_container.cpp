// SPDX-License-Identifier: Apache-2.0
#include "halocline/io/container.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cstdlib>
#include <string>

#include "halocline/core/error.hpp"
#include "support/container_samples.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::io {
namespace {

using test::byte_vector;
using test::sample_bytes;
using test::sample_container;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::array<std::size_t, 4> sizes{1, 4096, 5000, 2 * block_bytes + 7};

[[nodiscard]] section_id data_section(std::uint64_t item) { return {section_tag("DATA"), 0, item}; }

template <typename ValueT>
void put(byte_vector& bytes, std::size_t at, ValueT value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

/// Expects corrupt_data with a fragment of its message from opening (and verifying) the bytes.
void expect_corrupt(const byte_vector& bytes, const std::string& fragment) {
  const auto open = [&bytes] { container_reader::over(bytes, "'k.hlc'").verify_all(); };
  EXPECT_THAT(open, ThrowsMessage<corrupt_data>(AllOf(HasSubstr("'k.hlc'"), HasSubstr(fragment))));
}

TEST(Container, ReturnsWhatWasWritten) {
  const byte_vector bytes = sample_container(sizes, 7);
  const auto reader = container_reader::over(bytes);
  EXPECT_EQ(reader.kind(), object_kind::evaluation_keys);
  EXPECT_EQ(reader.parameters()[15], 7);
  ASSERT_EQ(reader.sections().size(), sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const section& found = reader.at(data_section(i));
    EXPECT_EQ(found.offset % section_alignment, 0U);
    EXPECT_EQ(reader.read_all(found, sizes[i]), sample_bytes(sizes[i], 7 + static_cast<std::uint32_t>(i)));
  }
  EXPECT_NO_THROW(reader.verify_all());
  EXPECT_EQ(test::rewrite(reader), bytes);
}

TEST(Container, PiecesOfAnySizeGiveTheSameBytes) {
  const byte_vector content = sample_bytes(3 * block_bytes + 11, 3);
  byte_vector whole;
  container_writer at_once(whole, object_kind::plaintext, {});
  at_once.add_section(data_section(0), content);
  at_once.finish();
  for (const std::size_t piece : {std::size_t{1000}, block_bytes - 1, block_bytes, 2 * block_bytes + 1}) {
    byte_vector out;
    container_writer writer(out, object_kind::plaintext, {});
    writer.begin_section(data_section(0));
    for (std::size_t at = 0; at < content.size(); at += piece) {
      writer.append(std::span(content).subspan(at, std::min(piece, content.size() - at)));
    }
    writer.end_section();
    writer.finish();
    EXPECT_EQ(out, whole) << "pieces of " << piece;
  }
}

TEST(Container, FilesAndBytesAreTheSame) {
  const test::temporary_folder folder;
  const byte_vector bytes = sample_container(sizes, 5);
  const auto source = container_reader::over(bytes);
  container_writer writer(folder / "k.hlc", source.kind(), source.parameters());
  for (const section& each : source.sections()) {
    writer.add_section(each.id, source.view(each));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "k.hlc"));
  writer.finish();
  const auto reader = container_reader::open(folder / "k.hlc");
  EXPECT_EQ(test::rewrite(reader), bytes);
  EXPECT_EQ(std::filesystem::file_size(folder / "k.hlc"), bytes.size());
}

TEST(Container, ReadsPartsAndVerifiesOnlyTheBlocksTheyTouch) {
  const std::array<std::size_t, 1> size{4 * block_bytes};
  byte_vector bytes = sample_container(size, 9);
  const byte_vector content = sample_bytes(size[0], 9);
  bytes[section_alignment + 3 * block_bytes] ^= std::byte{1};
  const auto reader = container_reader::over(bytes);
  const section& part = reader.sections()[0];
  byte_vector prefix(3 * block_bytes - 5);
  reader.read(part, 5, prefix);
  EXPECT_TRUE(std::equal(prefix.begin(), prefix.end(), content.begin() + 5));
  byte_vector one(1);
  EXPECT_THROW(reader.read(part, 4 * block_bytes - 1, one), corrupt_data);
  EXPECT_THROW(reader.read(part, 4 * block_bytes, one), invalid_argument);
  EXPECT_THROW(reader.read(part, ~std::uint64_t{0}, one), invalid_argument);
  EXPECT_THROW(reader.verify(part), corrupt_data);
}

TEST(Container, NamesForeignAndTruncatedFiles) {
  expect_corrupt({}, "is not a Halocline file: it is empty");
  expect_corrupt(sample_bytes(10'000, 1), "is not a Halocline file");
  const byte_vector bytes = sample_container(sizes);
  expect_corrupt({bytes.begin(), bytes.begin() + 5}, "is truncated");
  expect_corrupt({bytes.begin(), bytes.begin() + 4095}, "is truncated");
  expect_corrupt({bytes.begin(), bytes.end() - 1}, "is truncated");
  byte_vector longer = bytes;
  longer.push_back(std::byte{0});
  expect_corrupt(longer, "has bytes after its end");
}

TEST(Container, RefusesNewerVersionsByName) {
  byte_vector bytes = sample_container(sizes);
  put(bytes, 8, container_version + 1);
  expect_corrupt(bytes, "has format version 3, this library reads versions up to 2; update halocline");
}

TEST(Container, NamesTheDamagedSection) {
  byte_vector bytes = sample_container(sizes);
  const auto where = container_reader::over(bytes).at(data_section(3)).offset + block_bytes + 100;
  bytes[where] ^= std::byte{0x10};
  expect_corrupt(bytes, "bytes 65536 to 131072 of section 'DATA 3/0' have checksum");
}

TEST(Container, RefusesForgedLayouts) {
  const byte_vector valid = sample_container(sizes);
  const std::size_t directory = container_reader::over(valid).sections().back().offset +
                                container_reader::over(valid).sections().back().padded_bytes();
  const auto expect_forged = [&](std::size_t at, auto value, const std::string& fragment) {
    byte_vector bytes = valid;
    put(bytes, at, value);
    test::reseal(bytes);
    expect_corrupt(bytes, fragment);
  };
  expect_forged(12, std::uint32_t{99}, "unknown object kind (99)");
  expect_forged(60, std::uint32_t{4096}, "its header has");
  expect_forged(80, std::uint8_t{1}, "reserved");
  expect_forged(4000, std::uint8_t{1}, "reserved");
  expect_forged(56, std::uint32_t{0}, "its directory of 0 sections");
  expect_forged(56, ~std::uint32_t{0}, "its directory of 4294967295 sections");
  expect_forged(40, std::uint64_t{4097}, "its directory");
  expect_forged(directory + 16, std::uint64_t{8192}, "section 'DATA' is said to be 1 bytes at 8192");
  expect_forged(directory + 24, std::uint64_t{0}, "is said to be 0 bytes");
  expect_forged(directory + 24, ~std::uint64_t{0}, "is said to be 18446744073709551615 bytes");
  expect_forged(directory + 24, std::uint64_t{4097}, "section 'DATA 1/0' is said to be 4096 bytes at 8192");
  expect_forged(directory + 32 + 8, std::uint64_t{0}, "two sections 'DATA'");
  expect_forged(section_alignment + 1, std::uint8_t{1}, "padding after section 'DATA' is not zero");
}

TEST(Container, ChecksKindParametersAndSections) {
  const byte_vector bytes = sample_container(sizes, 3, object_kind::secret_key);
  const auto reader = container_reader::over(bytes, "'s.hlc'");
  EXPECT_THAT([&] { reader.expect_kind(object_kind::evaluation_keys); },
              ThrowsMessage<invalid_argument>(HasSubstr(
                  "'s.hlc' holds a Halocline object of kind 'secret key', expected 'evaluation keys'")));
  EXPECT_THAT([&] { reader.expect_parameters({}); },
              ThrowsMessage<invalid_argument>(HasSubstr("made for other parameters")));
  EXPECT_THAT(
      [&] {
        (void)reader.at({section_tag("KEYB"), 2, 5});
      },
      ThrowsMessage<corrupt_data>(HasSubstr("section 'KEYB 5/2' is missing")));
  EXPECT_EQ(reader.find({section_tag("KEYB"), 2, 5}), nullptr);
  EXPECT_THAT([&] { (void)reader.read_all(reader.at(data_section(2)), 4999); },
              ThrowsMessage<corrupt_data>(HasSubstr("has 5000 bytes, expected at most 4999")));
}

TEST(Container, WriterRefusesMisuse) {
  byte_vector out;
  container_writer writer(out, object_kind::plaintext, {});
  EXPECT_THROW(writer.finish(), invalid_argument);
  EXPECT_THROW(writer.append(sample_bytes(1, 1)), invalid_argument);
  EXPECT_THROW(writer.end_section(), invalid_argument);
  writer.begin_section(data_section(0));
  EXPECT_THROW(writer.end_section(), invalid_argument);
  EXPECT_THROW(writer.begin_section(data_section(1)), invalid_argument);
  writer.append(sample_bytes(1, 1));
  EXPECT_THROW(writer.finish(), invalid_argument);
  writer.end_section();
  EXPECT_THROW(writer.begin_section(data_section(0)), invalid_argument);
  writer.finish();
  EXPECT_THROW(writer.finish(), invalid_argument);
  EXPECT_THROW(container_writer(out, object_kind::plaintext, {}), invalid_argument);
}

TEST(Container, MissingFilesAndFoldersAreInputErrors) {
  const test::temporary_folder folder;
  const auto opens = [](const std::filesystem::path& path) {
    return [path] { (void)container_reader::open(path); };
  };
  EXPECT_THAT(opens(folder / "none"), ThrowsMessage<io_error>(HasSubstr("No such file")));
  EXPECT_THAT(opens(folder.path()), ThrowsMessage<io_error>(HasSubstr("not a regular file")));
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(opens(folder / "pipe"), ThrowsMessage<io_error>(HasSubstr("not a regular file")));
  test::write_file(folder / "empty", "");
  EXPECT_THAT(opens(folder / "empty"), ThrowsMessage<corrupt_data>(HasSubstr("it is empty")));
}

TEST(Container, AMappedFileKeepsItsContentWhenTheNameIsReplaced) {
  const test::temporary_folder folder;
  const auto save = [&](std::uint32_t seed) {
    container_writer writer(folder / "k", object_kind::plaintext, {});
    writer.add_section(data_section(0), sample_bytes(100'000, seed));
    writer.finish();
  };
  save(1);
  const auto reader = container_reader::open(folder / "k");
  save(2);
  EXPECT_EQ(reader.read_all(reader.sections()[0], 100'000), sample_bytes(100'000, 1));
}

// Also writes the committed inputs of fuzz_container again when HALOCLINE_WRITE_CORPUS names
// cpp/tests/fuzz/corpus.
TEST(Container, SeedsOfTheFuzzerAreValid) {
  const test::temporary_folder scratch;
  const char* const corpus = std::getenv("HALOCLINE_WRITE_CORPUS");
  const auto folder = (corpus == nullptr ? scratch.path() : std::filesystem::path(corpus)) / "container";
  std::filesystem::create_directories(folder);
  const std::vector<std::vector<std::size_t>> layouts{{1}, {4096, 100}, {5000, 1, 2}, {block_bytes + 1}};
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const auto bytes = sample_container(layouts[i], 1, static_cast<object_kind>(1 + i));
    const auto path = folder / ("layout_" + std::to_string(i));
    test::write_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    EXPECT_NO_THROW(container_reader::open(path).verify_all());
  }
}

}  // namespace
}  // namespace halocline::io
