// SPDX-License-Identifier: Apache-2.0
// Reader of RMM logs on arbitrary bytes: either corrupt_data, or a trace that can be written as a log again,
// whose allocations and frees then read back equal in number, order and size.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "halocline/core/error.hpp"
#include "halocline/memory/trace_formats/perfetto.hpp"
#include "halocline/memory/trace_formats/rmm_log.hpp"

namespace {

using namespace halocline::memory;

/// Bytes of all allocations, with buffers that existed before first, as a log orders them.
std::vector<std::uint64_t> allocations(const trace& of) {
  std::vector<std::uint64_t> early;
  std::vector<std::uint64_t> late;
  for (const trace_event& e : of.events) {
    if (e.action == trace_action::exists) early.push_back(e.bytes);
    if (e.action == trace_action::allocate) late.push_back(e.bytes);
  }
  early.insert(early.end(), late.begin(), late.end());
  return early;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
  try {
    const trace accepted = read_rmm_log(in);
    std::stringstream again;
    write_rmm_log(accepted, again);
    if (allocations(read_rmm_log(again)) != allocations(accepted)) std::abort();
    std::ostringstream timeline;
    write_perfetto(make_timeline(accepted), timeline);
  } catch (const halocline::corrupt_data&) {
  } catch (const halocline::invalid_argument&) {  // sizes that no address space holds
  }
  return 0;
}
