// SPDX-License-Identifier: Apache-2.0
#include "halocline/backend/backend.hpp"

#include <algorithm>
#include <utility>

#include "backend/conversion_targets.hpp"
#include "backend/operand_list.hpp"
#include "backend/profiler.hpp"

namespace halocline::backend {
namespace {

void collect(operand_list& list, const unary_job& job) {
  list.same_primes(job.src, job.dst);
  list.read(job.src);
  list.write(job.dst);
}

void collect(operand_list& list, const binary_job& job) {
  list.same_primes(job.a, job.dst);
  list.same_primes(job.b, job.dst);
  list.read(job.a);
  list.read(job.b);
  list.write(job.dst);
}

void collect(operand_list& list, const scalar_job& job) {
  list.same_primes(job.src, job.dst);
  list.one_per_limb(job.scalars.size(), job.dst);
  list.read(job.src);
  list.write(job.dst);
}

void collect(operand_list& list, const linear_job& job) {
  list.same_primes(job.a, job.dst);
  list.one_per_limb(job.factor_a.size(), job.dst);
  list.one_per_limb(job.factor_b.size(), job.dst);
  list.read(job.a);
  list.write(job.dst);
  if (job.conversion != nullptr) return;
  list.same_primes(job.b, job.dst);
  list.read(job.b);
}

void refuse_conversion(const linear_job& job) {
  HALOCLINE_EXPECTS(job.conversion == nullptr, invalid_argument,
                    "linear_combine: a job with a conversion; only ntt_linear_combine takes one");
}

void collect(operand_list& list, const dot_job& job) {
  HALOCLINE_EXPECTS(!job.a.empty() && job.a.size() == job.b.size(), invalid_argument, "dot: ", job.a.size(),
                    " and ", job.b.size(), " factors; expected the same positive number");
  for (std::size_t i = 0; i < job.a.size(); ++i) {
    list.same_primes(job.a[i], job.dst);
    list.same_primes(job.b[i], job.dst);
    list.read(job.a[i]);
    list.read_repeated(job.b[i]);
  }
  if (job.accumulate) list.read(job.dst);
  list.write(job.dst);
}

void collect(operand_list& list, const tensor_job& job) {
  for (const limb_view* view : {&job.a0, &job.a1, &job.b0, &job.b1}) {
    list.same_primes(*view, job.d0);
    list.read(*view);
  }
  for (const limb_view* view : {&job.d0, &job.d1, &job.d2}) {
    list.same_primes(*view, job.d0);
    list.write(*view);
  }
}

/// Requires that the primes of `views`, concatenated, are `primes`.
void match_primes(const std::vector<limb_view>& views, const std::vector<std::uint32_t>& primes,
                  const char* side) {
  std::size_t position = 0;
  for (const limb_view& view : views) {
    for (std::uint32_t i = 0; i < view.primes.count; ++i, ++position) {
      HALOCLINE_EXPECTS(position < primes.size() && primes[position] == view.primes.first + i,
                        invalid_argument, "base_convert: ", side, " prime ", view.primes.first + i,
                        " is not entry ", position, " of the table");
    }
  }
  HALOCLINE_EXPECTS(position == primes.size(), invalid_argument, "base_convert: ", position, " ", side,
                    " limbs for a table of ", primes.size());
}

void collect(operand_list& list, const convert_job& job) {
  match_primes(job.src, job.table->sources, "source");
  match_primes(job.dst, job.table->targets, "target");
  list.read_bytes(&job.table->data, 0, job.table->data.size());
  for (const limb_view& view : job.src) {
    list.read_moduli(view.primes);
    list.read(view);
  }
  for (const limb_view& view : job.dst) {
    list.read_moduli(view.primes);
    list.write(view);
  }
}

/// What b is made of in a job with a conversion.
void collect_conversion(operand_list& list, const linear_job& job) {
  const conversion_table& table = *job.conversion;
  HALOCLINE_EXPECTS(table.sources.size() <= max_joined_sources, invalid_argument,
                    "ntt_linear_combine: ", table.sources.size(),
                    " sources of a conversion; expected at most ", max_joined_sources,
                    ", use base_convert first");
  match_primes(job.from, table.sources, "source");
  (void)first_target(table, job.dst.primes);
  const bool apart = job.a.data != job.dst.data || job.a.limb >= job.dst.limb + job.dst.primes.count ||
                     job.dst.limb >= job.a.limb + job.a.primes.count;
  HALOCLINE_EXPECTS(apart || std::count(job.factor_a.begin(), job.factor_a.end(), 0U) ==
                                 static_cast<std::ptrdiff_t>(job.factor_a.size()),
                    invalid_argument,
                    "ntt_linear_combine: with a conversion, dst is a; expected another one");
  list.read_bytes(&table.data, 0, table.data.size());
  for (const limb_view& view : job.from) {
    list.read_moduli(view.primes);
    list.read(view);
  }
}

}  // namespace

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

void backend::require(op_kind op, const ring_tables& ring) const {
  HALOCLINE_EXPECTS(supports(op, ring.word_bits), device_error, "backend '", name(), "' has no ",
                    to_string(op), " for ", ring.word_bits, "-bit words");
}

// Every elementwise operation checks, acquires and runs in the same way; they differ in the jobs and the
// tables.
#define HALOCLINE_LIMB_OPERATION(OPERATION, JOB, TABLES)                                            \
  void backend::OPERATION(const ring_tables& ring, std::span<const JOB> jobs, stream_view stream) { \
    if (jobs.empty()) return;                                                                       \
    require(op_kind::OPERATION, ring);                                                              \
    operand_list list(ring, to_string(op_kind::OPERATION));                                         \
    for (const JOB& job : jobs) {                                                                   \
      collect(list, job);                                                                           \
      TABLES;                                                                                       \
    }                                                                                               \
    const memory::access at = list.acquire(*runtime_, stream);                                      \
    const timed_step timed(profiler_.get(), op_kind::OPERATION);                                    \
    do_##OPERATION(ring, jobs, at, stream);                                                         \
  }

HALOCLINE_LIMB_OPERATION(ntt, unary_job, list.read_moduli(job.dst.primes); list.read_roots(job.dst.primes))
HALOCLINE_LIMB_OPERATION(intt, unary_job, list.read_moduli(job.dst.primes); list.read_roots(job.dst.primes))
HALOCLINE_LIMB_OPERATION(add, binary_job, list.read_moduli(job.dst.primes))
HALOCLINE_LIMB_OPERATION(sub, binary_job, list.read_moduli(job.dst.primes))
HALOCLINE_LIMB_OPERATION(negate, unary_job, list.read_moduli(job.dst.primes))
HALOCLINE_LIMB_OPERATION(multiply, binary_job, list.read_moduli(job.dst.primes))
HALOCLINE_LIMB_OPERATION(multiply_add, binary_job, list.read_moduli(job.dst.primes); list.read(job.dst))
HALOCLINE_LIMB_OPERATION(dot, dot_job, list.read_moduli(job.dst.primes))
HALOCLINE_LIMB_OPERATION(tensor, tensor_job, list.read_moduli(job.d0.primes))
HALOCLINE_LIMB_OPERATION(scalar_multiply, scalar_job, list.read_moduli(job.dst.primes))
HALOCLINE_LIMB_OPERATION(scalar_add, scalar_job, list.read_moduli(job.dst.primes))
HALOCLINE_LIMB_OPERATION(linear_combine, linear_job, list.read_moduli(job.dst.primes); refuse_conversion(job))
HALOCLINE_LIMB_OPERATION(ntt_linear_combine, linear_job, list.read_moduli(job.dst.primes);
                         list.read_roots(job.dst.primes);
                         job.conversion != nullptr ? collect_conversion(list, job) : list.write(job.b))
HALOCLINE_LIMB_OPERATION(base_convert, convert_job, (void)0)

#undef HALOCLINE_LIMB_OPERATION

void backend::automorphism(const ring_tables& ring, std::span<const automorphism_job> jobs,
                           stream_view stream) {
  if (jobs.empty()) return;
  require(op_kind::automorphism, ring);
  operand_list list(ring, to_string(op_kind::automorphism));
  for (const automorphism_job& job : jobs) {
    list.same_primes(job.src, job.dst);
    list.read(job.src);
    list.read_bytes(job.permutation, 0, ring.n() * sizeof(std::uint32_t));
    list.write(job.dst);
  }
  const memory::access at = list.acquire(*runtime_, stream);
  const timed_step timed(profiler_.get(), op_kind::automorphism);
  do_automorphism(ring, jobs, at, stream);
}

void backend::key_multiply_accumulate(const ring_tables& ring, std::span<const key_job> jobs,
                                      stream_view stream) {
  if (jobs.empty()) return;
  require(op_kind::key_multiply_accumulate, ring);
  operand_list list(ring, to_string(op_kind::key_multiply_accumulate));
  for (const key_job& job : jobs) {
    list.same_primes(job.dst1, job.dst0);
    list.read_moduli(job.dst0.primes);
    const std::size_t offset = job.dst0.primes.first * ring.limb_bytes();
    const std::size_t bytes = job.dst0.primes.count * ring.limb_bytes();
    for (const key_digit& digit : job.digits) {
      list.same_primes(digit.digit, job.dst0);
      list.read(digit.digit);
      list.read_bytes(digit.key_b, offset, bytes);
      if (digit.key_a != nullptr) list.read_bytes(digit.key_a, offset, bytes);
    }
    if (job.accumulate) {
      list.read(job.dst0);
      list.read(job.dst1);
    }
    if (!job.factors.empty()) {
      list.one_per_limb(job.factors.size(), job.dst0);
      for (const limb_view* plus : {&job.plus0, &job.plus1}) {
        if (plus->data == nullptr) continue;
        list.same_primes(*plus, job.dst0);
        list.read(*plus);
      }
    }
    if (job.permutation != nullptr) {
      list.read_bytes(job.permutation, 0, ring.n() * sizeof(std::uint32_t));
    }
    list.write(job.dst0);
    list.write(job.dst1);
  }
  const memory::access at = list.acquire(*runtime_, stream);
  const timed_step timed(profiler_.get(), op_kind::key_multiply_accumulate);
  do_key_multiply_accumulate(ring, jobs, at, stream);
}

void backend::encode_expand(const ring_tables& ring, std::span<const encode_job> jobs, stream_view stream) {
  if (jobs.empty()) return;
  require(op_kind::encode_expand, ring);
  operand_list list(ring, to_string(op_kind::encode_expand));
  for (const encode_job& job : jobs) {
    HALOCLINE_EXPECTS(job.words == 1 || job.words == 2, invalid_argument, "encode_expand: ", job.words,
                      " words per coefficient; expected 1 or 2");
    HALOCLINE_EXPECTS(job.log_stride < ring.log_n, invalid_argument, "encode_expand: stride 2^",
                      job.log_stride, " in a ring of degree ", ring.n());
    const std::size_t integers = ring.n() >> job.log_stride;
    list.read_bytes(job.coefficients, 0, integers * job.words * sizeof(std::uint64_t));
    list.read_moduli(job.dst.primes);
    list.write(job.dst);
  }
  const memory::access at = list.acquire(*runtime_, stream);
  const timed_step timed(profiler_.get(), op_kind::encode_expand);
  do_encode_expand(ring, jobs, at, stream);
}

void backend::sample_uniform(const ring_tables& ring, std::span<const uniform_job> jobs, stream_view stream) {
  if (jobs.empty()) return;
  require(op_kind::sample_uniform, ring);
  operand_list list(ring, to_string(op_kind::sample_uniform));
  for (const uniform_job& job : jobs) {
    list.read_moduli(job.dst.primes);
    list.write(job.dst);
  }
  const memory::access at = list.acquire(*runtime_, stream);
  const timed_step timed(profiler_.get(), op_kind::sample_uniform);
  do_sample_uniform(ring, jobs, at, stream);
}

void backend::copy(const ring_tables& ring, std::span<const unary_job> jobs, stream_view stream) {
  if (jobs.empty()) return;
  require(op_kind::copy, ring);
  operand_list list(ring, to_string(op_kind::copy));
  for (const unary_job& job : jobs) {
    list.same_primes(job.src, job.dst);
    list.read(job.src);
    list.write_repeated(job.dst);
  }
  const memory::access at = list.acquire(*runtime_, stream);
  const timed_step timed(profiler_.get(), op_kind::copy);
  do_copy(ring, jobs, at, stream);
}

void backend::set_zero(const ring_tables& ring, std::span<const limb_view> views, stream_view stream) {
  if (views.empty()) return;
  require(op_kind::set_zero, ring);
  operand_list list(ring, to_string(op_kind::set_zero));
  for (const limb_view& view : views) list.write(view);
  const memory::access at = list.acquire(*runtime_, stream);
  const timed_step timed(profiler_.get(), op_kind::set_zero);
  do_set_zero(ring, views, at, stream);
}

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
