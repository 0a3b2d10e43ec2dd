// SPDX-License-Identifier: Apache-2.0
// halocline_ntt_bench: transforms of the XeHE family and shapes of the production kernel on one card.
#include "bench_ntt_family.hpp"

#include <algorithm>
#include <exception>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <sstream>

#include "bench_ntt_family_variants.hpp"
#include "cuda/arguments.hpp"

namespace halocline::bench {
namespace {

/// Primes of a batch: enough for tables of a realistic size.
constexpr std::uint32_t most_primes = 16;

struct family_point {
  unsigned word_bits;
  unsigned log_n;
  std::uint32_t batch;
  ntt_variant variant;
  double seconds;
};

void write_row(const family_point& at, const peaks& ceiling, std::ostream& out) {
  const double words = static_cast<double>(std::uint64_t{at.batch} << at.log_n);
  const double butterflies = words / 2 * at.log_n;
  const double data = words * at.word_bits / 8, moved = 2 * data * ntt_passes(at.variant, at.log_n);
  out << R"({"kind":"family","variant":")" << to_string(at.variant) << R"(","word_bits":)" << at.word_bits
      << ",\"log_n\":" << at.log_n << ",\"batch\":" << at.batch << ",\"microseconds\":" << at.seconds * 1e6
      << ",\"butterflies\":" << butterflies << ",\"bytes_moved\":" << moved
      << ",\"percent_of_butterfly_peak\":"
      << 100 * butterflies / at.seconds / ceiling.butterflies[at.word_bits / 64]
      << ",\"percent_of_copy_bandwidth\":" << 100 * moved / at.seconds / ceiling.copy_bytes << "}\n"
      << std::flush;  // what reads the file while this runs sees whole rows
}

/// One line of the printed table: microseconds of all variants.
template <typename WordT>
bool run_batch(cuda::device_context& device, void* pool, const ntt_bench_tables<WordT>& tables,
               std::uint32_t batch, const peaks& ceiling, std::ostream& out) {
  const std::uint32_t primes = std::min(batch, most_primes);
  const std::size_t words = std::size_t{batch} << tables.log_n, bytes = words * sizeof(WordT);
  const std::size_t buffers = std::max<std::size_t>(1, std::min<std::size_t>(rotated_bytes / bytes, 1024));
  const std::size_t mask = (std::size_t{primes} << tables.log_n) - 1;
  auto* const data = static_cast<WordT*>(pool);
  bool correct = true;
  std::cout << std::setw(4) << 8 * sizeof(WordT) << std::setw(4) << tables.log_n << std::setw(6) << batch;
  for (const ntt_variant variant : ntt_variants) {
    const cuda::launcher launch(device, "ntt");
    ntt_family_batch<WordT> each{tables.moduli.template as<arith::modulus<WordT>>(),
                                 tables.roots.template as<WordT>(),
                                 data,
                                 tables.log_n,
                                 batch,
                                 primes};
    repeat_words(device, data, tables.values.template as<WordT>(), mask, words * buffers);
    run_ntt_variant(launch, variant, each);
    const std::uint64_t wrong =
        count_wrong(device, data, tables.transformed.template as<WordT>(), mask, words);
    if (wrong != 0) std::cout << " WRONG(" << wrong << ")";
    correct = correct && wrong == 0;
    const double seconds = median_seconds(device, [&](std::size_t i) {
      each.data = data + words * (i % buffers);
      run_ntt_variant(launch, variant, each);
    });
    std::cout << std::setw(11) << std::fixed << std::setprecision(2) << seconds * 1e6 << std::flush;
    write_row({8 * sizeof(WordT), tables.log_n, batch, variant, seconds}, ceiling, out);
  }
  std::cout << "\n";
  return correct;
}

template <typename WordT>
bool run_word(cuda::device_context& device, void* pool, const peaks& ceiling, bool quick, std::ostream& out) {
  bool correct = true;
  for (unsigned log_n = 12; log_n <= 17; ++log_n) {
    const ntt_bench_tables<WordT> tables(log_n, most_primes);
    for (std::uint32_t batch = 1; batch <= 1024; batch *= quick ? 32 : 2)
      correct = run_batch(device, pool, tables, batch, ceiling, out) && correct;
  }
  return correct;
}

int run(const family_arguments& wanted) {
  if (wanted.routine) {
    std::ofstream rows(wanted.out);
    return run_routine(wanted.device, wanted.quick, rows) ? 0 : 1;
  }
  const auto device = cuda::device_context::open(wanted.device);
  const device_bytes pool(pool_bytes);
  std::ofstream out(wanted.out);
  const peaks ceiling = measure_peaks(*device, pool.as<void>(), pool_bytes);
  std::cout << device->properties().name << ": copy " << ceiling.copy_bytes / 1e12 << " TB/s, butterflies "
            << ceiling.butterflies[0] / 1e12 << " (32 bits), " << ceiling.butterflies[1] / 1e12
            << " (64 bits), " << ceiling.lean_butterflies / 1e12 << " (64 bits, lean) T/s\n";
  out << R"({"kind":"card","name":")" << device->properties().name << R"(","copy_bytes_per_second":)"
      << ceiling.copy_bytes << ",\"butterflies_per_second_32\":" << ceiling.butterflies[0]
      << ",\"butterflies_per_second_64\":" << ceiling.butterflies[1]
      << ",\"lean_butterflies_per_second_64\":" << ceiling.lean_butterflies
      << ",\"rotated_bytes\":" << rotated_bytes << "}\n";
  bool correct = true;
  if (wanted.forms) {
    correct = run_forms(*device, pool.as<void>(), ceiling, wanted.quick, out);
    std::cout << (correct ? "all integers equal the scalar kernels\n" : "WRONG INTEGERS, see above\n");
    return correct ? 0 : 1;
  }
  if (!wanted.tune) correct = run_family(*device, pool.as<void>(), ceiling, wanted.quick, out) && correct;
  if (!wanted.family) {
    for (const unsigned limbs : {47U, 23U})
      correct = run_tuning(*device, pool.as<void>(), 32, limbs, out) && correct;
    if (!wanted.quick) correct = run_tuning(*device, pool.as<void>(), 64, 28, out) && correct;
  }
  std::cout << (correct ? "all integers equal the scalar kernels\n" : "WRONG INTEGERS, see above\n");
  return correct ? 0 : 1;
}

}  // namespace

bool run_family(cuda::device_context& device, void* pool, const peaks& ceiling, bool quick,
                std::ostream& out) {
  std::cout << "microseconds per batch of one-limb polynomials, forward, in place, rotating buffers\n"
            << "bits logN batch";
  for (const ntt_variant variant : ntt_variants) std::cout << std::setw(11) << to_string(variant);
  std::cout << "\n";
  const bool narrow = run_word<std::uint32_t>(device, pool, ceiling, quick, out);
  return run_word<std::uint64_t>(device, pool, ceiling, quick, out) && narrow;
}

}  // namespace halocline::bench

int main(int count, char** words) {
  halocline::bench::family_arguments given;
  CLI::App program;
  halocline::bench::declare(program, given);
  CLI11_PARSE(program, count, words);
  try {
    return halocline::bench::run(given);
  } catch (const std::exception& failure) {
    std::cerr << "halocline_ntt_bench: " << failure.what() << "\n";
    return 2;
  }
}
