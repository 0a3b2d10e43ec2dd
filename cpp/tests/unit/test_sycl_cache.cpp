// SPDX-License-Identifier: Apache-2.0
// What the SYCL backend keeps on disk, and what it says where there is no runtime. Needs no runtime.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "backend/sycl/runtime/bridge_compiler.hpp"
#include "backend/sycl/runtime/disk_cache.hpp"
#include "backend/sycl/runtime/embedded_texts.hpp"
#include "backend/sycl/runtime/kernel_images.hpp"
#include "backend/sycl/runtime/sycl_runtime.hpp"
#include "halocline/backend/devices.hpp"
#include "halocline/backend/registry.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::test {
namespace {

using backend::sycl::cache_key;
using backend::sycl::disk_cache;
using bytes = std::vector<std::byte>;

/// A variable of the environment that gets its old value back.
class set_variable {
 public:
  set_variable(const char* name, const std::string& value) : name_(name) {
    if (const char* const old = std::getenv(name)) old_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~set_variable() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }
  set_variable(const set_variable&) = delete;
  set_variable& operator=(const set_variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

bytes bytes_of(const std::string& text) {
  const auto* const first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

class SyclCache : public testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path place() const { return std::filesystem::path(folder.path()) / "cache"; }

  temporary_folder folder;
  set_variable chosen{"HALOCLINE_SYCL_CACHE", place().string()};
};

TEST_F(SyclCache, GivesBackWhatWasStoredUnderItsKeyAlone) {
  const disk_cache cache;
  const bytes contents = bytes_of(std::string("some\0kernel", 11));
  EXPECT_EQ(cache.load("one", ".spv"), std::nullopt);
  cache.store("one", ".spv", contents);
  EXPECT_EQ(cache.load("one", ".spv"), contents);
  EXPECT_EQ(cache.load("two", ".spv"), std::nullopt);
  EXPECT_EQ(cache.load("one", ".so"), std::nullopt);
  // A file under another name is not what that name says.
  std::filesystem::copy(cache.path_of("one", ".spv"), cache.path_of("two", ".spv"));
  EXPECT_EQ(cache.load("two", ".spv"), std::nullopt);
  cache.store("one", ".spv", bytes_of("new"));
  EXPECT_EQ(cache.load("one", ".spv"), bytes_of("new"));
  std::size_t files = 0;
  for (const auto& each : std::filesystem::directory_iterator(place())) files += each.exists() ? 1 : 0;
  EXPECT_EQ(files, 2U) << "a file that was being written is left";
}

TEST_F(SyclCache, DamagedFilesCountAsAbsent) {
  const disk_cache cache;
  const std::filesystem::path file = cache.path_of("one", ".spv");
  cache.store("one", ".spv", bytes_of("kernel"));
  std::string whole;
  {
    std::ifstream in(file, std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(in), {});
  }
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    std::ofstream(file, std::ios::binary) << changed;
    EXPECT_EQ(cache.load("one", ".spv"), std::nullopt) << "byte " << i;
    std::ofstream(file, std::ios::binary) << whole.substr(0, i);
    EXPECT_EQ(cache.load("one", ".spv"), std::nullopt) << i << " bytes";
  }
  std::filesystem::remove(file);
  std::filesystem::create_symlink("/dev/zero", file);
  EXPECT_EQ(cache.load("one", ".spv"), std::nullopt);
}

TEST_F(SyclCache, ManyWritersLeaveOneWholeFile) {
  const disk_cache cache;
  const bytes large(1 << 20, std::byte{7});
  std::vector<std::thread> writers;
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back([&] {
      for (int round = 0; round < 4; ++round) cache.store("one", ".so", large);
    });
  }
  for (std::thread& each : writers) each.join();
  EXPECT_EQ(cache.load("one", ".so"), large);
}

TEST_F(SyclCache, RefusesAFolderThatOthersMayWriteTo) {
  std::filesystem::create_directory(place());
  ASSERT_EQ(chmod(place().c_str(), 0770), 0);
  EXPECT_NE(message_of<device_error>([] { (void)disk_cache(); }).find("may write to"), std::string::npos);
  ASSERT_EQ(chmod(place().c_str(), 0700), 0);
  (void)disk_cache();
  const set_variable file("HALOCLINE_SYCL_CACHE", "/dev/null/x");
  EXPECT_NE(message_of<device_error>([] { (void)disk_cache(); }).find("cannot make the folder"),
            std::string::npos);
}

TEST(SyclCacheKey, DependsOnEveryPartAndTheirBounds) {
  const auto key = [](std::vector<std::string> parts) { return cache_key(parts); };
  EXPECT_EQ(key({"a", "b"}), key({"a", "b"}));
  EXPECT_EQ(key({"a", "b"}).size(), 32U);
  EXPECT_NE(key({"a", "b"}), key({"b", "a"}));
  EXPECT_NE(key({"a", "b"}), key({"ab", ""}));
  EXPECT_NE(key({"a", "b"}), key({"a", "b", ""}));
}

TEST(SyclImages, ComeBackFromAFileAndNotFromAnother) {
  const std::vector<bytes> images{bytes_of("one"), {}, bytes_of("three")};
  const bytes file = backend::sycl::pack_images(images);
  EXPECT_EQ(backend::sycl::unpack_images(file), images);
  EXPECT_EQ(backend::sycl::unpack_images({}), std::vector<bytes>());
  for (std::size_t size = 1; size < file.size(); ++size) {
    const auto found = backend::sycl::unpack_images({file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size)});
    EXPECT_TRUE(found.empty() || size == 11 || size == 19) << size;  // where an image ends
  }
  bytes huge = file;
  huge[7] = std::byte{0xff};
  EXPECT_TRUE(backend::sycl::unpack_images(huge).empty());
}

TEST(SyclTexts, EveryIncludeOfAKernelIsEmbedded) {
  const auto texts = backend::sycl::kernel_texts();
  for (const auto& text : texts) {
    const std::string contents = text.contents;
    for (std::size_t at = 0; (at = contents.find("#include \"", at)) != std::string::npos;) {
      at += 10;
      const std::string name = contents.substr(at, contents.find('"', at) - at);
      EXPECT_TRUE(std::any_of(texts.begin(), texts.end(), [&](const auto& each) { return each.name == name; }))
          << text.name << " includes " << name;
    }
  }
  EXPECT_STREQ(texts[0].name, "ring.cpp");
}

class SyclRuntime : public SyclCache {};

TEST_F(SyclRuntime, SaysHowToInstallIt) {
  const set_variable none("HALOCLINE_SYCL_ROOT", "");
  const std::string message = message_of<device_error>([] { (void)backend::make_backend("sycl:0"); });
  EXPECT_NE(message.find("pip install 'halocline[sycl]'"), std::string::npos) << message;
  for (const std::string& each : backend::available_devices()) EXPECT_FALSE(each.starts_with("sycl"));
  EXPECT_EQ(backend::sycl_problem(), "");
}

TEST_F(SyclRuntime, NamesWhatAFolderLacks) {
  const set_variable root("HALOCLINE_SYCL_ROOT", std::string(folder.path()));
  const std::string message = message_of<device_error>([] { (void)backend::make_backend("sycl"); });
  EXPECT_NE(message.find("include/sycl/version.hpp"), std::string::npos) << message;
  EXPECT_NE(backend::sycl_problem().find("include/sycl/version.hpp"), std::string::npos);
  for (const std::string& each : backend::available_devices()) EXPECT_FALSE(each.starts_with("sycl"));
}

TEST_F(SyclRuntime, ReportsTheCompilersMessages) {
  std::filesystem::create_directories(std::filesystem::path(folder.path()) / "include" / "sycl");
  const auto compile = [&](const char* compiler) {
    return message_of<device_error>(
        [&] { (void)backend::sycl::compile_bridge(compiler, folder.path(), folder.path()); });
  };
  EXPECT_NE(compile("no-such-compiler-anywhere").find("HALOCLINE_SYCL_CXX"), std::string::npos);
  EXPECT_NE(compile("c++").find("sycl/sycl.hpp"), std::string::npos);
  EXPECT_NE(compile("true").find("left no library"), std::string::npos);
  for (const auto& each : std::filesystem::directory_iterator(folder.path())) {
    EXPECT_EQ(each.path().filename().string().find(".build-"), std::string::npos) << each.path();
  }
}

}  // namespace
}  // namespace halocline::test
