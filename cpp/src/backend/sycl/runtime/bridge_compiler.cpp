// SPDX-License-Identifier: Apache-2.0
#include "backend/sycl/runtime/bridge_compiler.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "backend/sycl/runtime/embedded_texts.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::backend::sycl {
namespace {

/// A folder that is removed with all that is in it.
class work_folder {
 public:
  explicit work_folder(const std::filesystem::path& in) : path_((in / ".build-XXXXXX").string()) {
    HALOCLINE_EXPECTS(mkdtemp(path_.data()) != nullptr, device_error, "SYCL: cannot make a folder in ",
                      in.string(), " (", std::strerror(errno), ")");
  }
  ~work_folder() {
    std::error_code failure;
    std::filesystem::remove_all(path_, failure);
  }
  work_folder(const work_folder&) = delete;
  work_folder& operator=(const work_folder&) = delete;
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const {
    return std::filesystem::path(path_) / name;
  }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

[[nodiscard]] std::vector<std::byte> read_all(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto* const first = reinterpret_cast<const std::byte*>(bytes.data());
  return {first, first + bytes.size()};
}

/// The end of what a program wrote.
[[nodiscard]] std::string end_of(const std::filesystem::path& path) {
  constexpr std::size_t most = 2000;
  const std::vector<std::byte> bytes = read_all(path);
  const auto* const text = reinterpret_cast<const char*>(bytes.data());
  return bytes.size() <= most ? std::string(text, bytes.size())
                              : "..." + std::string(text + bytes.size() - most, most);
}

/// Runs a program without a shell; its output goes to a file. Its exit status, or -1 when it was ended.
int run(const std::vector<std::string>& words, const std::filesystem::path& output) {
  std::vector<char*> arguments;
  for (const std::string& each : words) arguments.push_back(const_cast<char*>(each.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  constexpr mode_t own = 0600;
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                   own);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int failure = posix_spawnp(&child, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  HALOCLINE_EXPECTS(failure == 0, device_error, "SYCL: cannot run the C++ compiler '", words[0], "' (",
                    std::strerror(failure),
                    "). The bridge to the runtime is compiled once on each machine: install one (Debian: "
                    "g++), or name it in HALOCLINE_SYCL_CXX");
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    HALOCLINE_EXPECTS(errno == EINTR, device_error, "SYCL: lost the C++ compiler (", std::strerror(errno),
                      ")");
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

std::string bridge_compiler() {
  const char* const own = std::getenv("HALOCLINE_SYCL_CXX");
  return own != nullptr && *own != '\0' ? own : "c++";
}

std::vector<std::byte> compile_bridge(const std::string& compiler, const std::filesystem::path& root,
                                      const std::filesystem::path& folder) {
  const work_folder work(folder);
  for (const sycl_bridge::source_text& each : bridge_texts())
    std::ofstream(work / each.name) << each.contents;
  const std::filesystem::path lib = root / "lib";
  const int status =
      run({compiler, "-std=c++20", "-O1", "-w", "-fPIC", "-shared", "-fvisibility=hidden", "-isystem",
           (root / "include").string(), "-I", work.path(), (work / bridge_texts()[0].name).string(), "-o",
           (work / "bridge.so").string(), "-L", lib.string(), "-Wl,-rpath," + lib.string(), "-l:libsycl.so"},
          work / "messages");
  HALOCLINE_EXPECTS(status == 0, device_error, "SYCL: '", compiler,
                    "' cannot compile the bridge to the runtime in ", root.string(), " (status ", status,
                    "): ", end_of(work / "messages"));
  std::vector<std::byte> made = read_all(work / "bridge.so");
  HALOCLINE_EXPECTS(!made.empty(), device_error, "SYCL: '", compiler, "' left no library in ", work.path());
  return made;
}

}  // namespace halocline::backend::sycl
