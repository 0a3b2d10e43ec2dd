// SPDX-License-Identifier: Apache-2.0
#include "halocline/io/file_map.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "halocline/core/error.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::io {
namespace {

using test::temporary_folder;
using test::write_file;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(FileMap, ReadsFilesUpToTheLimit) {
  const temporary_folder folder;
  write_file(folder / "x", "content");
  const file_map file(folder / "x", 7);
  std::string read(4, ' ');
  file.read(3, std::as_writable_bytes(std::span(read)));
  EXPECT_EQ(read, "tent");
  EXPECT_THAT([&] { file_map(folder / "x", 6); },
              ThrowsMessage<corrupt_data>(HasSubstr("7 bytes, expected at most 6")));
}

TEST(FileMap, RefusesAHugeFileBeforeItIsMapped) {
  const temporary_folder folder;
  write_file(folder / "x", "");
  std::filesystem::resize_file(folder / "x", std::uintmax_t{1} << 40);  // without blocks
  EXPECT_THROW(file_map(folder / "x", 1 << 20), corrupt_data);
}

TEST(FileMap, RefusesWhatIsNoRegularFileWithoutWaiting) {
  const temporary_folder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const std::filesystem::path& path :
       {folder / "pipe", folder.path(), std::filesystem::path("/dev/zero")}) {
    EXPECT_THAT([&] { file_map file(path); }, ThrowsMessage<io_error>(HasSubstr("not a regular file")))
        << path;
  }
}

}  // namespace
}  // namespace halocline::io
