// SPDX-License-Identifier: Apache-2.0
// The committed seeds of the fuzz targets of private retrieval run in every build. With
// HALOCLINE_WRITE_CORPUS=cpp/tests/fuzz/corpus those that are valid are written again.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "support/pir_messages.hpp"

namespace halocline::pir {
namespace {

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

}  // namespace
}  // namespace halocline::pir
