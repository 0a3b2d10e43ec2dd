// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/cpu/worker_pool.hpp"
#include "halocline/arith/coefficient_math.hpp"
#include "halocline/backend/client_jobs.hpp"
#include "halocline/memory/runtime.hpp"

/// Kernels and batches of the client's operations. Except for lifts they do not depend on the word.
namespace halocline::backend::cpu {

/// Where a batch of client operations runs.
struct client_site {
  worker_pool& pool;
  const ring_tables& ring;
  const memory::access& at;
  bool scalar;  ///< the definitions, coefficient by coefficient
};

void run_sample_small(const client_site& on, std::span<const small_job> jobs);
void run_slot_transform(const client_site& on, std::span<const slot_job> jobs);
void run_round_coefficients(const client_site& on, std::span<const round_job> jobs);
template <typename WordT>
void run_lift(const client_site& on, std::span<const lift_job> jobs);

/// Passes of the slot transform in place, on 2^log_slots points.
void slots_forward(double* re, double* im, const arith::fft_factors* factors, unsigned log_slots);
void slots_inverse(double* re, double* im, const arith::fft_factors* factors, unsigned log_slots);

}  // namespace halocline::backend::cpu
