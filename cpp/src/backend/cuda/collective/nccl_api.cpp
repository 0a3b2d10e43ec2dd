// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/collective/nccl_api.hpp"

#include <dlfcn.h>

#include "halocline/core/error.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::backend::cuda {
namespace {

constexpr const char* library = "libnccl.so.2";

template <typename FunctionT>
void find(void* from, const char* name, FunctionT*& function) {
  function = reinterpret_cast<FunctionT*>(dlsym(from, name));
  HALOCLINE_EXPECTS(function != nullptr, device_error, library, " has no ", name,
                    "; NCCL 2.7 or newer is needed");
}

nccl_api load() {
  // Stays loaded: communicators may live until the process ends.
  void* const from = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  HALOCLINE_EXPECTS(from != nullptr, device_error, "several GPUs need ", library,
                    ", which cannot be loaded (", dlerror(),
                    "). Install NCCL (the package nvidia-nccl-cu13, or your system's), and put its "
                    "folder into LD_LIBRARY_PATH");
  nccl_api api{};
  find(from, "ncclCommInitAll", api.comm_init_all);
  find(from, "ncclCommDestroy", api.comm_destroy);
  find(from, "ncclGroupStart", api.group_start);
  find(from, "ncclGroupEnd", api.group_end);
  find(from, "ncclSend", api.send);
  find(from, "ncclRecv", api.receive);
  find(from, "ncclGetErrorString", api.error_string);
  return api;
}

}  // namespace

void nccl_api::check(int result, std::string_view what) const {
  if (result != 0) throw device_error(text("NCCL: ", what, ": ", error_string(result)));
}

const nccl_api& nccl() {
  static const nccl_api api = load();
  return api;
}

}  // namespace halocline::backend::cuda
