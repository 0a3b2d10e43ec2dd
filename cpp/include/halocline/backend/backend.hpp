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
#include "halocline/backend/key_jobs.hpp"
#include "halocline/backend/profile.hpp"
#include "halocline/core/stream_view.hpp"
#include "halocline/memory/runtime.hpp"

namespace halocline::backend {

class profiler;

/// Executes ring-level operations on batches of limbs. The public functions check the batch, acquire its
/// buffers from the memory runtime as one step, and hand it to the backend's kernels; nothing else in the
/// library touches residues. CPU and GPU backends produce equal integers. Not thread-safe: one caller per
/// backend object.
///
/// All operations throw invalid_argument for inconsistent descriptors and device_error where the backend
/// lacks the operation. They are named after their formula; see descriptors.hpp for operand rules.
class backend {
 public:
  explicit backend(std::shared_ptr<memory::runtime> runtime);
  virtual ~backend();
  backend(const backend&) = delete;
  backend& operator=(const backend&) = delete;

  /// As `make_backend` calls it: "cpu".
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Whether the operation exists for words of that many bits (32 or 64); if not, it throws device_error.
  [[nodiscard]] virtual bool supports(op_kind op, unsigned word_bits) const noexcept = 0;
  /// What it runs on.
  [[nodiscard]] virtual capability describe() const = 0;
  [[nodiscard]] memory::runtime& runtime() const noexcept { return *runtime_; }

  /// Begins a program: operations that are likely to come again in the same order. A backend may put kernels
  /// off until the program ends or something needs them, and launch those that it knows as one graph; results
  /// never depend on that. Programs with the same `key` are expected to look alike; one within another is a
  /// part of it. See `program_scope`.
  virtual void begin_program(std::uint64_t key) { (void)key; }
  /// Ends what the last `begin_program` began. @throws device_error when a kernel could not be launched
  virtual void end_program() {}
  /// Whether `begin_program` does anything here, and whether it shall.
  [[nodiscard]] virtual bool makes_graphs() const noexcept { return false; }
  virtual void use_graphs(bool wanted) { (void)wanted; }
  [[nodiscard]] virtual graph_statistics graphs() const { return {}; }
  /// Blocks until everything that was asked for so far is done.
  virtual void wait() {}
  /// Calls of this process to the device's driver that may wait.
  [[nodiscard]] virtual driver_counters driver_calls() const { return {}; }

  /// Begins to time operations, by kernels where there is a device. Not while a profile is being made.
  void start_profile();
  /// Ends it. Waits for a device.
  [[nodiscard]] profile stop_profile();

  /// Forward negacyclic NTT: coefficients in natural order to evaluations at psi^(2 bitrev(j) + 1) in entry
  /// j.
  void ntt(const ring_tables& ring, std::span<const unary_job> jobs, stream_view stream = {});
  /// Inverse of `ntt`, including the factor 1/N.
  void intt(const ring_tables& ring, std::span<const unary_job> jobs, stream_view stream = {});
  void add(const ring_tables& ring, std::span<const binary_job> jobs, stream_view stream = {});
  void sub(const ring_tables& ring, std::span<const binary_job> jobs, stream_view stream = {});
  void negate(const ring_tables& ring, std::span<const unary_job> jobs, stream_view stream = {});
  void multiply(const ring_tables& ring, std::span<const binary_job> jobs, stream_view stream = {});
  /// dst += a * b.
  void multiply_add(const ring_tables& ring, std::span<const binary_job> jobs, stream_view stream = {});
  void dot(const ring_tables& ring, std::span<const dot_job> jobs, stream_view stream = {});
  void tensor(const ring_tables& ring, std::span<const tensor_job> jobs, stream_view stream = {});
  void scalar_multiply(const ring_tables& ring, std::span<const scalar_job> jobs, stream_view stream = {});
  void scalar_add(const ring_tables& ring, std::span<const scalar_job> jobs, stream_view stream = {});
  void linear_combine(const ring_tables& ring, std::span<const linear_job> jobs, stream_view stream = {});
  /// Equals `ntt` of b in place followed by `linear_combine` (b is in coefficient form and is destroyed),
  /// after `base_convert` to b where a job has a conversion.
  void ntt_linear_combine(const ring_tables& ring, std::span<const linear_job> jobs, stream_view stream = {});
  void automorphism(const ring_tables& ring, std::span<const automorphism_job> jobs, stream_view stream = {});
  void base_convert(const ring_tables& ring, std::span<const convert_job> jobs, stream_view stream = {});
  void key_multiply_accumulate(const ring_tables& ring, std::span<const key_job> jobs,
                               stream_view stream = {});
  void encode_expand(const ring_tables& ring, std::span<const encode_job> jobs, stream_view stream = {});
  void sample_uniform(const ring_tables& ring, std::span<const uniform_job> jobs, stream_view stream = {});
  void sample_small(const ring_tables& ring, std::span<const small_job> jobs, stream_view stream = {});
  void slot_transform(const ring_tables& ring, std::span<const slot_job> jobs, stream_view stream = {});
  void round_coefficients(const ring_tables& ring, std::span<const round_job> jobs, stream_view stream = {});
  void lift(const ring_tables& ring, std::span<const lift_job> jobs, stream_view stream = {});
  void copy(const ring_tables& ring, std::span<const unary_job> jobs, stream_view stream = {});
  void set_zero(const ring_tables& ring, std::span<const limb_view> views, stream_view stream = {});
  /// Copies host bytes into a buffer and waits until the source may be re-used.
  void upload(const memory::buffer& dst, std::size_t offset, std::span<const std::byte> src,
              stream_view stream = {});
  /// Copies bytes of a buffer to the host and waits for them. The ghost backend yields zeros.
  void download(std::span<std::byte> dst, const memory::buffer& src, std::size_t offset,
                stream_view stream = {});

 protected:
  [[nodiscard]] virtual std::unique_ptr<profiler> make_profiler();
  [[nodiscard]] profiler* active_profiler() const noexcept { return profiler_.get(); }
  /// The active profiler is about to go.
  virtual void end_profiler() noexcept {}

  // Kernels of one backend. Batches are checked and their buffers are resident while `at` lives.
  virtual void do_ntt(const ring_tables&, std::span<const unary_job>, const memory::access& at,
                      stream_view) = 0;
  virtual void do_intt(const ring_tables&, std::span<const unary_job>, const memory::access& at,
                       stream_view) = 0;
  virtual void do_add(const ring_tables&, std::span<const binary_job>, const memory::access& at,
                      stream_view) = 0;
  virtual void do_sub(const ring_tables&, std::span<const binary_job>, const memory::access& at,
                      stream_view) = 0;
  virtual void do_negate(const ring_tables&, std::span<const unary_job>, const memory::access& at,
                         stream_view) = 0;
  virtual void do_multiply(const ring_tables&, std::span<const binary_job>, const memory::access& at,
                           stream_view) = 0;
  virtual void do_multiply_add(const ring_tables&, std::span<const binary_job>, const memory::access& at,
                               stream_view) = 0;
  virtual void do_dot(const ring_tables&, std::span<const dot_job>, const memory::access& at,
                      stream_view) = 0;
  virtual void do_tensor(const ring_tables&, std::span<const tensor_job>, const memory::access& at,
                         stream_view) = 0;
  virtual void do_scalar_multiply(const ring_tables&, std::span<const scalar_job>, const memory::access& at,
                                  stream_view) = 0;
  virtual void do_scalar_add(const ring_tables&, std::span<const scalar_job>, const memory::access& at,
                             stream_view) = 0;
  virtual void do_linear_combine(const ring_tables&, std::span<const linear_job>, const memory::access& at,
                                 stream_view) = 0;
  virtual void do_ntt_linear_combine(const ring_tables&, std::span<const linear_job>,
                                     const memory::access& at, stream_view) = 0;
  virtual void do_automorphism(const ring_tables&, std::span<const automorphism_job>,
                               const memory::access& at, stream_view) = 0;
  virtual void do_base_convert(const ring_tables&, std::span<const convert_job>, const memory::access& at,
                               stream_view) = 0;
  virtual void do_key_multiply_accumulate(const ring_tables&, std::span<const key_job>,
                                          const memory::access& at, stream_view) = 0;
  virtual void do_encode_expand(const ring_tables&, std::span<const encode_job>, const memory::access& at,
                                stream_view) = 0;
  virtual void do_sample_uniform(const ring_tables&, std::span<const uniform_job>, const memory::access& at,
                                 stream_view) = 0;
  virtual void do_sample_small(const ring_tables&, std::span<const small_job>, const memory::access& at,
                               stream_view) = 0;
  virtual void do_slot_transform(const ring_tables&, std::span<const slot_job>, const memory::access& at,
                                 stream_view) = 0;
  virtual void do_round_coefficients(const ring_tables&, std::span<const round_job>, const memory::access& at,
                                     stream_view) = 0;
  virtual void do_lift(const ring_tables&, std::span<const lift_job>, const memory::access& at,
                       stream_view) = 0;
  virtual void do_copy(const ring_tables&, std::span<const unary_job>, const memory::access& at,
                       stream_view) = 0;
  virtual void do_set_zero(const ring_tables&, std::span<const limb_view>, const memory::access& at,
                           stream_view) = 0;
  virtual void do_upload(std::byte* dst, std::span<const std::byte> src, stream_view) = 0;
  virtual void do_download(std::span<std::byte> dst, const std::byte* src, stream_view) = 0;

 private:
  void require(op_kind op, const ring_tables& ring) const;
  std::shared_ptr<memory::runtime> runtime_;
  std::unique_ptr<profiler> profiler_;
};

}  // namespace halocline::backend
