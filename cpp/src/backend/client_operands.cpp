// SPDX-License-Identifier: Apache-2.0
// Operands of the operations that client_jobs.hpp describes.
#include <bit>

#include "backend/operands.hpp"
#include "halocline/arith/coefficient_math.hpp"

namespace halocline::backend::operands {

void sample_small(operand_list& list, const small_job& job) {
  const ring_tables& ring = list.ring();
  list.read_bytes(job.seed, 0, seed_bytes{}.size());
  if (job.table != nullptr) list.read_bytes(job.table, 0, job.table->size());
  list.write_bytes(job.dst, 0, ring.n() * sizeof(std::int64_t));
}

void slot_transform(operand_list& list, const slot_job& job) {
  const ring_tables& ring = list.ring();
  const std::size_t slots = std::size_t{1} << job.log_slots;
  HALOCLINE_EXPECTS(2 * slots <= ring.n() && job.count <= slots, invalid_argument,
                    "slot_transform: ", job.count, " of ", slots, " slots; expected at most ", ring.n() / 2);
  list.read_bytes(job.table, 0, arith::slot_table_bytes(job.log_slots));
  const std::size_t values = job.count * sizeof(arith::fft_point);
  const std::size_t coefficients = 2 * slots * sizeof(double);
  if (job.direction == slot_direction::to_coefficients) {
    if (job.count > 0) list.read_bytes(job.slots, 0, values);
  } else {
    HALOCLINE_EXPECTS(job.count == slots, invalid_argument, "slot_transform: room for ", job.count, " of ",
                      slots, " slots");
    list.read_bytes(job.coefficients, 0, coefficients);
    list.write_bytes(job.slots, 0, values);
  }
  list.write_bytes(job.coefficients, 0, coefficients);
}

void round_coefficients(operand_list& list, const round_job& job) {
  const ring_tables& ring = list.ring();
  HALOCLINE_EXPECTS(std::has_single_bit(job.count) && job.count <= ring.n(), invalid_argument,
                    "round_coefficients: ", job.count, " coefficients; expected a power of two up to ",
                    ring.n());
  HALOCLINE_EXPECTS(job.words == 1 || job.words == 2, invalid_argument, "round_coefficients: ", job.words,
                    " words per coefficient; expected 1 or 2");
  list.read_bytes(job.src, 0, job.count * sizeof(double));
  const std::size_t integers = job.dense ? job.count : ring.n();
  if (job.dst != nullptr) list.write_bytes(job.dst, 0, integers * job.words * sizeof(std::uint64_t));
  if (job.largest != nullptr) list.write_bytes(job.largest, 0, sizeof(double));
}

void lift(operand_list& list, const lift_job& job) {
  const ring_tables& ring = list.ring();
  HALOCLINE_EXPECTS(job.count > 0 && std::size_t{job.count} * job.stride <= ring.n(), invalid_argument,
                    "lift: ", job.count, " coefficients in steps of ", job.stride, " of a ring of degree ",
                    ring.n());
  const std::size_t entries = arith::elimination_offset(job.src.primes.count);
  HALOCLINE_EXPECTS((job.table != nullptr ? job.table->size() : 0) == 3 * entries * ring.word_bytes(),
                    invalid_argument, "lift: the table does not have ", entries, " entries for ",
                    job.src.primes.count, " primes");
  list.read_moduli(job.src.primes);
  list.read(job.src);
  if (job.table != nullptr) list.read_bytes(job.table, 0, job.table->size());
  list.write(job.src);
  list.write_bytes(job.dst, 0, job.count * sizeof(double));
  if (job.overflow != nullptr) list.write_bytes(job.overflow, 0, sizeof(std::uint64_t));
}

}  // namespace halocline::backend::operands
