// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "halocline/backend/capability.hpp"
#include "halocline/backend/client_jobs.hpp"
#include "halocline/backend/descriptors.hpp"
#include "halocline/backend/graph_statistics.hpp"
#include "halocline/backend/job_batch.hpp"
#include "halocline/backend/key_jobs.hpp"
#include "halocline/backend/matrix_jobs.hpp"
#include "halocline/backend/profile.hpp"
#include "halocline/backend/reduce_jobs.hpp"
#include "halocline/backend/retrieval_jobs.hpp"
#include "halocline/core/stream_view.hpp"
#include "halocline/memory/runtime.hpp"

namespace halocline::backend {

class operand_list;
class profiler;

/// Executes ring-level operations on batches of limbs. The public functions check the batch, acquire its
/// buffers from the memory runtime as one step, and hand it to the backend's kernels; nothing else in the
/// library touches residues. CPU and GPU backends produce equal integers. Not thread-safe: one caller per
/// backend object.
///
/// All operations throw invalid_argument for inconsistent descriptors and device_error where the backend
/// lacks the operation. They are listed in operations.inc and named after their formula; see descriptors.hpp
/// for operand rules.
class backend {
 public:
  explicit backend(std::shared_ptr<memory::runtime> runtime);
  virtual ~backend();
  backend(const backend&) = delete;
  backend& operator=(const backend&) = delete;

  /// The name that `make_backend` accepts: "cpu".
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// The operations that it has for words of that many bits (32 or 64). The others throw device_error.
  [[nodiscard]] virtual op_set operations(unsigned word_bits) const noexcept = 0;
  /// Whether `operations` has the operation.
  [[nodiscard]] bool supports(op_kind op, unsigned word_bits) const noexcept {
    return operations(word_bits).contains(op);
  }
  /// What it runs on.
  [[nodiscard]] virtual capability describe() const = 0;
  [[nodiscard]] memory::runtime& runtime() const noexcept { return *runtime_; }

  /// Begins a program: a sequence of operations that is likely to be repeated. A backend may defer kernels
  /// until the program ends or their results are needed, and launch a recorded sequence as one graph; results
  /// never depend on that. Programs with the same `key` are expected to launch the same kernels; a nested
  /// program is part of the outer one. See `program_scope`.
  virtual void begin_program(std::uint64_t key) { (void)key; }
  /// Ends what the last `begin_program` began. @throws device_error when a kernel could not be launched
  virtual void end_program() {}
  /// Whether this backend records programs, and whether recording is enabled.
  [[nodiscard]] virtual bool makes_graphs() const noexcept { return false; }
  virtual void use_graphs(bool wanted) { (void)wanted; }
  [[nodiscard]] virtual graph_statistics graphs() const { return {}; }
  /// Blocks until all work submitted so far has finished.
  virtual void wait() {}
  /// Calls of this process to the device's driver that may block.
  [[nodiscard]] virtual driver_counters driver_calls() const { return {}; }

  /// Starts timing: kernels on a device, operations elsewhere. Profiles do not nest.
  void start_profile();
  /// Ends it. Waits for a device.
  [[nodiscard]] profile stop_profile();

  // One function per line of operations.inc: `void ntt(ring, jobs, stream)`.
#define HALOCLINE_OPERATION(NAME, JOB) \
  void NAME(const ring_tables& ring, std::span<const JOB> jobs, stream_view stream = {});
#include "halocline/backend/operations.inc"
  /// Copies host bytes into a buffer and waits until the source may be re-used.
  void upload(const memory::buffer& dst, std::size_t offset, std::span<const std::byte> src,
              stream_view stream = {});
  /// Copies bytes of a buffer to the host and waits for them. The ghost backend yields zeros.
  void download(std::span<std::byte> dst, const memory::buffer& src, std::size_t offset,
                stream_view stream = {});

 protected:
  [[nodiscard]] virtual std::unique_ptr<profiler> make_profiler();
  [[nodiscard]] profiler* active_profiler() const noexcept { return profiler_.get(); }
  /// Called before the active profiler is destroyed.
  virtual void end_profiler() noexcept {}

  /// Runs the kernels of one operation of `operations(ring.word_bits)`. The jobs are checked, and their
  /// buffers are resident while `at` lives.
  virtual void run(const job_batch& batch, const memory::access& at) = 0;
  virtual void do_upload(std::byte* dst, std::span<const std::byte> src, stream_view) = 0;
  virtual void do_download(std::span<std::byte> dst, const std::byte* src, stream_view) = 0;

 private:
  template <op_kind kind, typename JobT>
  void submit(operation<kind, JobT> op, void (*collect)(operand_list&, const JobT&), const ring_tables& ring,
              std::span<const JobT> jobs, stream_view stream);
  std::shared_ptr<memory::runtime> runtime_;
  std::unique_ptr<profiler> profiler_;
};

}  // namespace halocline::backend
