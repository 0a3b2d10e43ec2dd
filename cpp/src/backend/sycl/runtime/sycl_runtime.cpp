// SPDX-License-Identifier: Apache-2.0
#include "backend/sycl/runtime/sycl_runtime.hpp"

#include <dlfcn.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <mutex>
#include <sstream>

#include "backend/sycl/runtime/bridge_compiler.hpp"
#include "backend/sycl/runtime/disk_cache.hpp"
#include "backend/sycl/runtime/embedded_texts.hpp"
#include "halocline/backend/devices.hpp"
#include "halocline/core/process.hpp"

namespace halocline::backend {
namespace {

std::mutex root_mutex;
std::string given_root;

}  // namespace

void use_sycl_root(const std::string& folder) {
  const std::lock_guard lock(root_mutex);
  given_root = folder;
}

namespace sycl {
namespace {

constexpr char how_to_install[] =
    "install it with `pip install 'halocline[sycl]'` (1.5 GB), or set HALOCLINE_SYCL_ROOT to the folder that "
    "has "
    "its include/sycl and lib/libsycl.so";

/// The loader of OpenCL finds Intel's CPU device by this variable: the wheels name no usable path.
void show_opencl_device(const std::filesystem::path& root) {
  const std::filesystem::path driver = root / "lib" / "libintelocl.so";
  std::error_code failure;
  if (!std::filesystem::exists(driver, failure)) return;
  constexpr int keep = 0;
  setenv("OCL_ICD_FILENAMES", driver.c_str(), keep);
}

/// The compiled bridge in the cache, which is checked, or made.
std::filesystem::path bridge_file(const std::filesystem::path& root) {
  const disk_cache cache;
  const std::string compiler = bridge_compiler();
  std::vector<std::string> parts{"bridge", runtime_version(root), root.string(), compiler};
  for (const sycl_bridge::source_text& each : bridge_texts()) parts.emplace_back(each.contents);
  const std::string key = cache_key(parts);
  if (!cache.load(key, ".so")) cache.store(key, ".so", compile_bridge(compiler, root, cache.folder()));
  return cache.path_of(key, ".so");
}

const sycl_bridge::entry_points* load_bridge() {
  const std::optional<std::filesystem::path> root = runtime_root();
  HALOCLINE_EXPECTS(root, device_error, "SYCL: no runtime of Intel found; ", how_to_install);
  const std::filesystem::path file = bridge_file(*root);
  show_opencl_device(*root);
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  HALOCLINE_EXPECTS(library != nullptr, device_error, "SYCL: cannot load the bridge to ", root->string(),
                    ": ", dlerror());
  const auto* const found =
      static_cast<const sycl_bridge::entry_points*>(dlsym(library, sycl_bridge::entry_symbol));
  HALOCLINE_EXPECTS(found != nullptr && found->version == sycl_bridge::api_version, device_error,
                    "SYCL: ", file.string(), " is no bridge of this version; delete it");
  return found;
}

}  // namespace

std::optional<std::filesystem::path> runtime_root() {
  if (const char* const own = std::getenv("HALOCLINE_SYCL_ROOT"); own != nullptr && *own != '\0') return own;
  const std::lock_guard lock(root_mutex);
  if (given_root.empty()) return std::nullopt;
  return given_root;
}

std::string runtime_version(const std::filesystem::path& root) {
  const std::filesystem::path header = root / "include" / "sycl" / "version.hpp";
  std::ifstream file(header);
  std::string version, line;
  constexpr int most_lines = 200;
  for (int i = 0; i < most_lines && std::getline(file, line); ++i) {
    if (line.starts_with("#define __SYCL_COMPILER_VERSION") || line.starts_with("#define __LIBSYCL_")) {
      version += line + "\n";
    }
  }
  HALOCLINE_EXPECTS(!version.empty(), device_error, "SYCL: ", header.string(),
                    " is not there or states no version; expected that of intel-sycl-rt ", wanted_release,
                    ": ", how_to_install);
  return version;
}

const sycl_bridge::entry_points& bridge() {
  // A failure is not kept: the next call tries again.
  static std::mutex mutex;
  static const sycl_bridge::entry_points* loaded = nullptr;
  static std::uint64_t process = 0;
  const std::lock_guard lock(mutex);
  if (loaded == nullptr) {
    loaded = load_bridge();
    process = process_generation();
  }
  HALOCLINE_EXPECTS(
      process == process_generation(), device_error,
      "SYCL: this process was forked from one that had loaded the runtime, whose threads it does "
      "not have; start it anew (multiprocessing: 'spawn'), or use SYCL in the children only");
  return *loaded;
}

}  // namespace sycl
}  // namespace halocline::backend
