// SPDX-License-Identifier: Apache-2.0
#include "halocline/io/atomic_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "halocline/core/error.hpp"
#include "support/file_size_limit.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::io {
namespace {

using test::read_file;
using test::temporary_folder;
using test::write_file;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

[[nodiscard]] std::span<const std::byte> bytes_of(std::string_view letters) {
  return std::as_bytes(std::span(letters));
}

[[nodiscard]] unsigned permissions(const std::filesystem::path& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

TEST(AtomicFile, ShowsNothingBeforeCommit) {
  const temporary_folder folder;
  atomic_file file(folder / "keys.hlc");
  file.append(bytes_of("hello "));
  EXPECT_FALSE(std::filesystem::exists(folder / "keys.hlc"));
  EXPECT_THAT(file.temporary_path().filename().string(), StartsWith(".keys.hlc.partial-"));
  EXPECT_EQ(file.temporary_path().parent_path(), folder.path());
  file.append(bytes_of("world"));
  file.overwrite(0, bytes_of("J"));
  EXPECT_EQ(file.size(), 11U);
  file.commit();
  EXPECT_EQ(read_file(folder / "keys.hlc"), "Jello world");
  EXPECT_EQ(folder.entries(), 1U);
}

TEST(AtomicFile, DestructionWithoutCommitKeepsTheOldFile) {
  const temporary_folder folder;
  write_file(folder / "x", "old");
  {
    atomic_file file(folder / "x");
    file.append(bytes_of("new"));
  }
  EXPECT_EQ(read_file(folder / "x"), "old");
  EXPECT_EQ(folder.entries(), 1U);
}

TEST(AtomicFile, AnExceptionKeepsTheOldFile) {
  const temporary_folder folder;
  write_file(folder / "x", "old");
  const auto interrupted = [&folder] {
    atomic_file file(folder / "x");
    file.append(bytes_of("new"));
    throw std::runtime_error("interrupted");
  };
  EXPECT_THROW(interrupted(), std::runtime_error);
  EXPECT_EQ(read_file(folder / "x"), "old");
  EXPECT_EQ(folder.entries(), 1U);
}

TEST(AtomicFile, FullDiskKeepsTheOldFileAndNamesPathAndReason) {
  const temporary_folder folder;
  write_file(folder / "x", "old");
  const std::string large(100'000, 'y');
  const auto save = [&] {
    const test::file_size_limit limit(65'536);
    atomic_file file(folder / "x");
    file.append(bytes_of(large));
    file.commit();
  };
  EXPECT_THAT(save, ThrowsMessage<io_error>(
                        ::testing::AllOf(HasSubstr((folder / "x").string()), HasSubstr("File too large"))));
  EXPECT_EQ(read_file(folder / "x"), "old");
  EXPECT_EQ(folder.entries(), 1U);
}

TEST(AtomicFile, SecretFilesAreForTheOwnerOnly) {
  const temporary_folder folder;
  write_file(folder / "s", "old");
  ASSERT_EQ(::chmod((folder / "s").c_str(), 0644), 0);
  atomic_file file(folder / "s", file_privacy::secret);
  EXPECT_EQ(permissions(file.temporary_path()), 0600U);
  file.commit();
  EXPECT_EQ(permissions(folder / "s"), 0600U);
}

TEST(AtomicFile, SharedFilesFollowTheUmaskOrTheFileTheyReplace) {
  const temporary_folder folder;
  const mode_t old_mask = ::umask(027);
  atomic_file fresh(folder / "fresh");
  fresh.commit();
  EXPECT_EQ(permissions(folder / "fresh"), 0640U);
  ASSERT_EQ(::chmod((folder / "fresh").c_str(), 0664), 0);
  atomic_file again(folder / "fresh");
  again.commit();
  ::umask(old_mask);
  EXPECT_EQ(permissions(folder / "fresh"), 0664U);
}

TEST(AtomicFile, FollowsSymbolicLinks) {
  const temporary_folder folder;
  std::filesystem::create_directory(folder / "real");
  write_file(folder / "real/x", "old");
  std::filesystem::create_symlink(folder / "real/x", folder / "link");
  atomic_file file(folder / "link");
  file.append(bytes_of("new"));
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(read_file(folder / "real/x"), "new");
}

TEST(AtomicFile, FollowsChainsOfLinksToFilesThatAreNotThereYet) {
  const temporary_folder folder;
  std::filesystem::create_directory(folder / "real");
  std::filesystem::create_symlink("second", folder / "first");
  std::filesystem::create_symlink("real/x", folder / "second");
  atomic_file file(folder / "first");
  file.append(bytes_of("new"));
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "first"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "second"));
  EXPECT_EQ(read_file(folder / "real/x"), "new");
}

TEST(AtomicFile, RefusesLoopsOfLinksAndOpenDescriptors) {
  const temporary_folder folder;
  std::filesystem::create_symlink("b", folder / "a");
  std::filesystem::create_symlink("a", folder / "b");
  write_file(folder / "open", "old");
  const int descriptor = ::open((folder / "open").c_str(), O_WRONLY | O_CLOEXEC);
  const auto writes_to = [](const std::filesystem::path& path) { return [path] { atomic_file file(path); }; };
  EXPECT_THAT(writes_to(folder / "a"), ThrowsMessage<io_error>(HasSubstr("loop")));
  EXPECT_THAT(writes_to("/dev/fd/" + std::to_string(descriptor)),
              ThrowsMessage<io_error>(HasSubstr("open descriptor")));
  ::close(descriptor);
  EXPECT_EQ(folder.entries(), 3U);
}

TEST(AtomicFile, OwnerFilesAreNarrowWhenNewAndKeepThePermissionsOfOldOnes) {
  const temporary_folder folder;
  atomic_file fresh(folder / "x", file_privacy::owner);
  fresh.commit();
  EXPECT_EQ(permissions(folder / "x"), 0600U);
  ASSERT_EQ(::chmod((folder / "x").c_str(), 0644), 0);
  atomic_file again(folder / "x", file_privacy::owner);
  again.commit();
  EXPECT_EQ(permissions(folder / "x"), 0644U);
}

TEST(AtomicFile, ReplacesNarrowFilesByOnesThatWereNeverWider) {
  const temporary_folder folder;
  write_file(folder / "x", "old");
  ASSERT_EQ(::chmod((folder / "x").c_str(), 0600), 0);
  atomic_file file(folder / "x");
  EXPECT_EQ(permissions(file.temporary_path()), 0600U);
  file.commit();
  EXPECT_EQ(permissions(folder / "x"), 0600U);
}

TEST(AtomicFile, SurvivesAChangeOfTheWorkingFolder) {
  const temporary_folder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  atomic_file file("x");
  std::filesystem::current_path(before);
  file.commit();
  EXPECT_TRUE(std::filesystem::exists(folder / "x"));
}

TEST(AtomicFile, LongNamesStillGetATemporaryFile) {
  const temporary_folder folder;
  const std::string name(255, 'n');
  atomic_file file(folder / name);
  file.commit();
  EXPECT_TRUE(std::filesystem::exists(folder / name));
}

TEST(AtomicFile, LeftoversAreRemovedAndFilesAtWorkStay) {
  const temporary_folder folder;
  atomic_file at_work(folder / "x");
  at_work.append(bytes_of("new"));
  for (const char* const name : {".x.partial-abc123", ".x.partial-zzzzzz"}) write_file(folder / name, "old");
  // Names that are not made here, and the files of another path.
  const char* const others[] = {".x.partial-abc12", ".x.partial-abc12_", ".x.partial-abc1234",
                                ".y.partial-abc123"};
  for (const char* const name : others) write_file(folder / name, "other");
  std::filesystem::create_directory(folder / ".x.partial-folder");
  EXPECT_EQ(atomic_file::remove_leftovers(folder / "x"), 2);
  EXPECT_EQ(atomic_file::remove_leftovers(folder / "x"), 0);
  EXPECT_EQ(atomic_file::remove_leftovers(folder / "missing/x"), 0);
  EXPECT_EQ(folder.entries(), 1 + std::size(others) + 1);
  at_work.commit();
  EXPECT_EQ(read_file(folder / "x"), "new");
}

TEST(AtomicFile, RefusesWhatIsNoRegularFile) {
  const temporary_folder folder;
  const auto writes_to = [](const std::filesystem::path& path) { return [path] { atomic_file file(path); }; };
  EXPECT_THAT(writes_to("/dev/full"), ThrowsMessage<io_error>(HasSubstr("not a regular file")));
  EXPECT_THAT(writes_to(folder.path()), ThrowsMessage<io_error>(HasSubstr("not a regular file")));
  EXPECT_THAT(writes_to(folder / "missing/x"), ThrowsMessage<io_error>(HasSubstr("No such file")));
  EXPECT_THAT(writes_to(folder / "new/"), ThrowsMessage<io_error>(HasSubstr("names no file")));
}

TEST(AtomicFile, RefusesUseInTheWrongOrder) {
  const temporary_folder folder;
  atomic_file file(folder / "x");
  file.append(bytes_of("abc"));
  EXPECT_THROW(file.overwrite(2, bytes_of("de")), invalid_argument);
  EXPECT_THROW(file.overwrite(~std::uint64_t{0}, bytes_of("d")), invalid_argument);
  file.commit();
  EXPECT_THROW(file.append(bytes_of("d")), invalid_argument);
  EXPECT_THROW(file.commit(), invalid_argument);
}

}  // namespace
}  // namespace halocline::io
