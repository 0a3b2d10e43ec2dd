// SPDX-License-Identifier: Apache-2.0
#include "halocline/backend/backend.hpp"

#include <utility>

#include "backend/operands.hpp"
#include "backend/profiler.hpp"

namespace halocline::backend {

backend::backend(std::shared_ptr<memory::runtime> runtime) : runtime_(std::move(runtime)) {}
backend::~backend() = default;

void backend::start_profile() {
  HALOCLINE_EXPECTS(profiler_ == nullptr, invalid_argument, "profile: one is being made on '", name(),
                    "' already; end it first");
  profiler_ = make_profiler();
}

profile backend::stop_profile() {
  HALOCLINE_EXPECTS(profiler_ != nullptr, invalid_argument, "profile: none is being made on '", name(),
                    "'; start one first");
  end_profiler();
  const std::unique_ptr<profiler> ended = std::move(profiler_);
  profile result = ended->finish();
  result.device = name();
  return result;
}

std::unique_ptr<profiler> backend::make_profiler() { return make_host_profiler(); }

/// Checks the jobs, acquires what they name, and runs them.
template <op_kind kind, typename JobT>
void backend::submit(operation<kind, JobT> op, void (*collect)(operand_list&, const JobT&),
                     const ring_tables& ring, std::span<const JobT> jobs, stream_view stream) {
  if (jobs.empty()) return;
  HALOCLINE_EXPECTS(supports(kind, ring.word_bits), device_error, "backend '", name(), "' has no ",
                    to_string(kind), " for ", ring.word_bits, "-bit words");
  operand_list list(ring, to_string(kind));
  for (const JobT& job : jobs) collect(list, job);
  const memory::access at = list.acquire(*runtime_, stream);
  const timed_step timed(profiler_.get(), kind);
  run(job_batch(op, ring, jobs, stream), at);
}

#define HALOCLINE_OPERATION(NAME, JOB)                                                         \
  void backend::NAME(const ring_tables& ring, std::span<const JOB> jobs, stream_view stream) { \
    submit(ops::NAME, operands::NAME, ring, jobs, stream);                                     \
  }
#include "halocline/backend/operations.inc"

void backend::upload(const memory::buffer& dst, std::size_t offset, std::span<const std::byte> src,
                     stream_view stream) {
  const memory::operand target{&dst, offset, src.size()};
  const memory::access at = runtime_->acquire({}, {&target, 1}, to_string(op_kind::upload), stream);
  const timed_step timed(profiler_.get(), op_kind::upload);
  do_upload(at.pointer(dst, offset), src, stream);
}

void backend::download(std::span<std::byte> dst, const memory::buffer& src, std::size_t offset,
                       stream_view stream) {
  const memory::operand source{&src, offset, dst.size()};
  const memory::access at = runtime_->acquire({&source, 1}, {}, to_string(op_kind::download), stream);
  const timed_step timed(profiler_.get(), op_kind::download);
  do_download(dst, at.pointer(src, offset), stream);
}

}  // namespace halocline::backend
