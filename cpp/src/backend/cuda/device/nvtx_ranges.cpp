// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/device/nvtx_ranges.hpp"

#include <nvtx3/nvToolsExt.h>

#include "backend/operation_stack.hpp"

namespace halocline::backend::cuda {
namespace {

nvtxDomainHandle_t domain() noexcept {
  static const nvtxDomainHandle_t made = nvtxDomainCreateA("halocline");
  return made;
}

void begin_range(const char* name) noexcept {
  nvtxEventAttributes_t range{};
  range.version = NVTX_VERSION;
  range.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  range.messageType = NVTX_MESSAGE_TYPE_ASCII;
  range.message.ascii = name;
  (void)nvtxDomainRangePushEx(domain(), &range);
}

void end_range() noexcept { (void)nvtxDomainRangePop(domain()); }

}  // namespace

void show_operations() {
  static const operation_hooks hooks{begin_range, end_range};
  set_operation_hooks(&hooks);
}

nvtx_range::nvtx_range(std::string_view name) noexcept { begin_range(name.data()); }
nvtx_range::~nvtx_range() { end_range(); }

}  // namespace halocline::backend::cuda
