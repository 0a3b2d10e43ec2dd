// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cuda/kernel_rig.hpp"
#include "cuda/timing.hpp"
#include "halocline/backend/retrieval_jobs.hpp"

namespace halocline::bench {

/// A set of parameters of private retrieval, with the counts of a database of about 1 GiB.
struct retrieval_shape {
  const char* set;
  unsigned log_n;
  std::uint32_t primes;
  double bits;  ///< of a prime
  std::uint32_t rows, columns;
  backend::digit_split split;
  unsigned answer_bits[2];
  unsigned plain_bits;
};

/// One timing with its floors.
struct retrieval_row {
  std::string op, variant, set;
  std::uint32_t batch;  ///< clients
  timing time;
  double bytes, byte_floor_us, integer_floor_us;
};

/// Times the operations on arrays of one set for batches of clients. Each client has operands of its own;
/// residues are random.
class retrieval_bench {
 public:
  /// @param rates bytes per second of a large copy, wide multiply-adds and butterflies per second
  struct rates {
    double bytes, mads, butterflies;
  };
  retrieval_bench(const retrieval_shape& shape, const rates& peak);

  /// All operations for `batch` clients, appended to `rows`.
  void run(std::uint32_t batch, std::vector<retrieval_row>& rows);

 private:
  struct cost {
    double bytes, mads, butterflies = 0;
  };
  void measure(const char* op, const std::string& variant, const cost& of, const std::function<void()>& body);
  void transforms();
  void maps();
  void digits();
  void points();
  void answers();
  void select();
  /// Random residues: `count` entries of `polynomials`, of each client.
  [[nodiscard]] std::vector<backend::poly_array> arrays(std::uint32_t count, std::uint32_t polynomials);
  [[nodiscard]] backend::point_matrix matrix(std::uint32_t rows);
  [[nodiscard]] const memory::buffer& filled(std::size_t bytes);
  [[nodiscard]] std::vector<std::uint64_t> factors();
  [[nodiscard]] double polynomial_bytes() const;
  [[nodiscard]] double points_of_ring() const;

  retrieval_shape shape_;
  rates peak_;
  kernel_rig rig_;
  stopwatch watch_;
  std::vector<kernel_rig::word> pattern_;
  std::deque<memory::buffer> kept_;
  std::uint32_t batch_ = 1;
  std::vector<retrieval_row>* rows_ = nullptr;
};

/// The rows of sets `paper` and `pir-n4096` for batches of 1 and 64.
[[nodiscard]] std::vector<retrieval_row> time_retrieval(const retrieval_bench::rates& peak);

}  // namespace halocline::bench
