// SPDX-License-Identifier: Apache-2.0
// The committed seeds of the fuzz targets of private retrieval run in every build. With
// HALOCLINE_WRITE_CORPUS=cpp/tests/fuzz/corpus those that are valid are written again.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "support/pir_messages.hpp"
#include "support/record_files.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::pir {
namespace {

using bytes = std::vector<std::byte>;

std::filesystem::path committed() {
  return std::filesystem::path(__FILE__).parent_path().parent_path() / "fuzz" / "corpus";
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const std::filesystem::path& path, std::span<const std::byte> content) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
}

void write_messages(const std::filesystem::path& folder) {
  const geometry& of = test::fuzzed_geometry();
  write_file(folder / "keys", write_server_keys(of, test::sample_keys(of)));
  write_file(folder / "query", write_query(of, test::sample_query(of)));
  write_file(folder / "answer", write_answer(of, test::sample_answer(of)));
  client_core core(of, nullptr, arith::seed_bytes{2});
  core.draw_secret();
  write_file(folder / "secret", write_secret(core));
}

void write_geometries(const std::filesystem::path& folder) {
  const auto write = [&folder](const char* name, const geometry& of) {
    const std::string content = to_json(of);
    write_file(folder / name, std::as_bytes(std::span(content)));
  };
  write("n4096", make_geometry(preset("pir-n4096"), 1 << 20, 1024));
  write("n2048_planes", make_geometry(preset("pir-n2048"), 300, 10000));
  write("paper", make_geometry(preset("paper", true), 100000, 3328));
  write("small", test::fuzzed_geometry());
}

/// A database of few bytes; records of the shards of it.
geometry filed() { return test::small_geometry(5, 20, 1); }
bytes filed_records() { return test::random_records(100, 17); }

/// The entry of a replacement of record 2 that was interrupted before the record was written.
bytes interrupted() {
  bytes records = filed_records();
  const bytes fresh = test::random_records(20, 18);
  std::ranges::copy(fresh, records.begin() + 40);
  return write_journal({40, 0, {io::checksum64(records)}, fresh});
}

void write_record_files(const std::filesystem::path& folder) {
  const geometry shape = filed(), split = test::small_geometry(2, 3000, 1);
  const bytes records = filed_records();
  test::build(folder / "plain", shape, records);
  test::build(folder / "split", split, test::random_records(6000, 19));
  test::build(folder / "shard", shape, bytes(records.begin() + 20, records.begin() + 80), 100000, {1, 3});
  test::build(folder / "journal", shape, records);
  std::fstream journal(folder / "journal", std::ios::binary | std::ios::in | std::ios::out);
  journal.seekp(static_cast<std::streamoff>(test::layout_in(shape).journal));
  const bytes entry = interrupted();
  journal.write(reinterpret_cast<const char*>(entry.data()), static_cast<std::streamsize>(entry.size()));
}

/// Names of the files of a folder that `accepted` takes, or all of them.
template <typename AcceptedT>
std::set<std::string> names_of(const std::filesystem::path& folder, const AcceptedT& accepted) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (accepted(read_file(entry.path()))) names.insert(entry.path().filename().string());
  }
  return names;
}

TEST(PirCorpus, Messages) {
  if (const char* corpus = std::getenv("HALOCLINE_WRITE_CORPUS")) {
    write_messages(std::filesystem::path(corpus) / "pir_message");
  }
  const auto folder = committed() / "pir_message";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "the sources are not next to this build: " << folder;
  const auto accepted = names_of(folder, [](const std::string& content) {
    return test::check_any_message(std::as_bytes(std::span(content))) == 1;
  });
  EXPECT_EQ(accepted, (std::set<std::string>{"answer", "keys", "query", "secret"}));
}

TEST(PirCorpus, Geometries) {
  if (const char* corpus = std::getenv("HALOCLINE_WRITE_CORPUS")) {
    write_geometries(std::filesystem::path(corpus) / "pir_geometry");
  }
  const auto folder = committed() / "pir_geometry";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "the sources are not next to this build: " << folder;
  const auto accepted =
      names_of(folder, [](const std::string& content) { return test::check_geometry_bytes(content); });
  EXPECT_EQ(accepted, (std::set<std::string>{"n2048_planes", "n4096", "paper", "small"}));
}

TEST(PirCorpus, RecordFiles) {
  if (const char* corpus = std::getenv("HALOCLINE_WRITE_CORPUS")) {
    write_record_files(std::filesystem::path(corpus) / "record_file");
  }
  const auto folder = committed() / "record_file";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "the sources are not next to this build: " << folder;
  const test::temporary_folder scratch;  // opening completes a replacement
  const auto open = [&](const char* name) {
    std::filesystem::copy_file(folder / name, scratch / name);
    const auto file = open_record_file(scratch / name, true);
    file->verify();
    return file;
  };
  EXPECT_EQ(test::read_all(*open("plain")), filed_records());
  EXPECT_EQ(open("split")->shape().planes(), 3U);
  const auto shard = open("shard");
  EXPECT_EQ(shard->range().first, 1U);
  EXPECT_EQ(shard->range().records, 3U);
  EXPECT_EQ(test::bytes_from(*open("journal"), 40, 20), test::random_records(20, 18));
}

}  // namespace
}  // namespace halocline::pir
