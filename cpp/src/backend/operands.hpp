// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/operand_list.hpp"
#include "halocline/backend/client_jobs.hpp"
#include "halocline/backend/key_jobs.hpp"
#include "halocline/backend/matrix_jobs.hpp"
#include "halocline/backend/reduce_jobs.hpp"
#include "halocline/backend/retrieval_jobs.hpp"

/// What a job of each operation reads and writes, and what is checked before: one function per line of
/// operations.inc, defined in `*_operands.cpp`. Traces have the operands in the order of these calls.
namespace halocline::backend::operands {

#define HALOCLINE_OPERATION(NAME, JOB) void NAME(operand_list& list, const JOB& job);
#include "halocline/backend/operations.inc"

}  // namespace halocline::backend::operands
