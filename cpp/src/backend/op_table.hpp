// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "halocline/backend/job_batch.hpp"

namespace halocline::backend {

/// A line of an `op_table`: an operation and the function that runs its batches.
template <op_kind Kind, typename JobT, auto Run>
struct op_row {};

/// `row<run_ntt>(ops::ntt)`, with `void run_ntt(const SiteT& on, std::span<const unary_job> jobs)`.
template <auto Run, op_kind Kind, typename JobT>
[[nodiscard]] constexpr op_row<Kind, JobT, Run> row(operation<Kind, JobT>) noexcept {
  return {};
}

/// What a backend has: one function per operation. `SiteT` is what kernels need besides the jobs.
template <typename SiteT>
class op_table {
 public:
  /// @param parts rows, and tables of families of operations
  template <typename... PartT>
  constexpr explicit op_table(const PartT&... parts) noexcept {
    (add(parts), ...);
  }

  /// The operations that have a row, and the two copies, which every backend has.
  [[nodiscard]] constexpr op_set operations() const noexcept { return operations_; }
  /// Runs a batch of an operation that has a row.
  void run(const SiteT& on, const job_batch& batch) const {
    functions_[static_cast<std::size_t>(batch.op())](on, batch);
  }

 private:
  using function = void (*)(const SiteT&, const job_batch&);

  template <op_kind Kind, typename JobT, auto Run>
  constexpr void add(const op_row<Kind, JobT, Run>&) noexcept {
    set(Kind, [](const SiteT& on, const job_batch& batch) { Run(on, batch.of(operation<Kind, JobT>{})); });
  }
  constexpr void add(const op_table& family) noexcept {
    for (std::size_t op = 0; op < op_kind_count; ++op) {
      if (family.functions_[op] != nullptr) set(static_cast<op_kind>(op), family.functions_[op]);
    }
  }
  constexpr void set(op_kind op, function run) noexcept {
    functions_[static_cast<std::size_t>(op)] = run;
    operations_.insert(op);
  }

  std::array<function, op_kind_count> functions_{};
  op_set operations_{op_kind::upload, op_kind::download};
};

}  // namespace halocline::backend
