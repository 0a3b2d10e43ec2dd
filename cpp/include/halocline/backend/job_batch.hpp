// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "halocline/backend/capability.hpp"
#include "halocline/backend/client_jobs.hpp"
#include "halocline/backend/descriptors.hpp"
#include "halocline/backend/key_jobs.hpp"
#include "halocline/backend/matrix_jobs.hpp"
#include "halocline/backend/reduce_jobs.hpp"
#include "halocline/backend/retrieval_jobs.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/core/stream_view.hpp"

namespace halocline::backend {

/// Names an operation together with the type of its jobs.
template <op_kind Kind, typename JobT>
struct operation {};

/// `ops::ntt` and all others of operations.inc.
namespace ops {
#define HALOCLINE_OPERATION(NAME, JOB) inline constexpr operation<op_kind::NAME, JOB> NAME{};
#include "halocline/backend/operations.inc"
}  // namespace ops

/// The jobs of one call of an operation, whatever their type: what a backend runs. Names them, so that it is
/// copied freely and costs no allocation.
class job_batch {
 public:
  template <op_kind Kind, typename JobT>
  job_batch(operation<Kind, JobT>, const ring_tables& ring, std::span<const JobT> jobs,
            stream_view stream) noexcept
      : ring_(&ring), jobs_(jobs.data()), count_(jobs.size()), stream_(stream), op_(Kind) {}

  [[nodiscard]] op_kind op() const noexcept { return op_; }
  [[nodiscard]] const ring_tables& ring() const noexcept { return *ring_; }
  [[nodiscard]] stream_view stream() const noexcept { return stream_; }
  /// The jobs of a batch of this operation.
  /// @throws invalid_argument for a batch of another one
  template <op_kind Kind, typename JobT>
  [[nodiscard]] std::span<const JobT> of(operation<Kind, JobT>) const {
    HALOCLINE_EXPECTS(op_ == Kind, invalid_argument, "a batch of ", to_string(op_), ", read as one of ",
                      to_string(Kind));
    return {static_cast<const JobT*>(jobs_), count_};
  }

 private:
  const ring_tables* ring_;
  const void* jobs_;
  std::size_t count_;
  stream_view stream_;
  op_kind op_;
};

}  // namespace halocline::backend
