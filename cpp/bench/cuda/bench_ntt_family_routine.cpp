// SPDX-License-Identifier: Apache-2.0
// MulLinRS of docs/papers/xehe.md with each form of the transforms: multiply, relinearize, rescale.
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <memory>

#include "backend/cuda/cuda_backend.hpp"
#include "backend/cuda/ntt/ntt_forms.hpp"
#include "bench_ntt_family.hpp"
#include "bench_ntt_family_forms.hpp"
#include "halocline/params/primes.hpp"
#include "halocline/seal/evaluator.hpp"

namespace halocline::bench {
namespace {

constexpr unsigned log_n = 15;
constexpr std::uint32_t levels = 8;
constexpr double scale = 1099511627776.0;  // 2^40

/// Operands and keys on one backend.
class routine_rig {
 public:
  routine_rig(std::shared_ptr<backend::backend> on, std::uint32_t count)
      : ctx_(parameters(), std::move(on), true), keys_(seal::uniform_keys(ctx_, {0}, 2021)) {
    for (std::uint32_t i = 0; i < count; ++i) {
      left_.push_back(seal::uniform_ciphertext(ctx_, 2, levels, scale, 3 * i));
      right_.push_back(seal::uniform_ciphertext(ctx_, 2, levels, scale, 3 * i + 1));
    }
  }
  [[nodiscard]] std::vector<seal::ciphertext> run() {
    seal::batch_evaluator all(ctx_);
    const auto products = all.multiply(list(left_), list(right_));
    const auto linear = all.relinearize(list(products), keys_);
    return all.rescale_to_next(list(linear));
  }
  [[nodiscard]] std::vector<std::uint64_t> words(const seal::ciphertext& of) {
    return seal::store(ctx_, of).data;
  }
  [[nodiscard]] backend::backend& device() const { return ctx_.device(); }

 private:
  [[nodiscard]] static seal_format::parameters parameters() {
    seal_format::parameters made{seal_format::scheme::ckks, std::uint64_t{1} << log_n, {}, 0};
    made.primes = params::primes_below(55, levels + 1, std::uint64_t{2} << log_n);
    return made;
  }
  [[nodiscard]] static std::vector<const seal::ciphertext*> list(const std::vector<seal::ciphertext>& of) {
    std::vector<const seal::ciphertext*> made;
    for (const seal::ciphertext& each : of) made.push_back(&each);
    return made;
  }

  seal::context ctx_;
  seal::switch_key_set keys_;
  std::vector<seal::ciphertext> left_, right_;
};

/// Microseconds of a ciphertext, the routine launched as one graph or kernel by kernel.
double routine_us(routine_rig& rig, const cuda::device_context& device, std::uint32_t count, bool graph) {
  static std::uint64_t key = 0;
  ++key;  // another form launches other kernels
  rig.device().use_graphs(graph);
  const double seconds = median_seconds(device, [&](std::size_t) {
    if (graph) rig.device().begin_program(key);
    (void)rig.run();
    if (graph) rig.device().end_program();
  });
  return 1e6 * seconds / count;
}

void print_kernels(routine_rig& rig, std::uint32_t count) {
  constexpr unsigned runs = 10;
  rig.device().use_graphs(false);
  rig.device().start_profile();
  for (unsigned i = 0; i < runs; ++i) (void)rig.run();
  const backend::profile seen = rig.device().stop_profile();
  for (const backend::profile_row& row : seen.rows) {
    const double mark = static_cast<double>(seen.timer_ns * row.calls);
    std::cout << "    " << std::setw(24) << std::left << row.op << std::setw(22) << row.kernel << std::right
              << std::setw(4) << row.calls / runs << " launches " << std::setw(8)
              << (static_cast<double>(row.total_ns) - mark) / runs / count / 1e3 << " us\n";
  }
}

}  // namespace

bool run_routine(int ordinal, bool quick, std::ostream& out) {
  bool correct = true;
  std::vector<std::uint64_t> wanted;
  {
    routine_rig host(make_backend("cpu"), 1);
    wanted = host.words(host.run().front());
  }
  const auto device = cuda::device_context::open(ordinal);
  out << R"({"kind":"card","name":")" << device->properties().name << "\"}\n";
  std::cout << "MulLinRS at N = 2^15, 8 primes of 55 bits: microseconds of a ciphertext\n"
            << std::fixed << std::setprecision(1);
  for (const std::uint32_t count : {1U, 16U}) {
    routine_rig rig(make_cuda_backend(device, {}), count);
    const auto time = [&](std::string_view name, const cuda::ntt_choice* choice) {
      cuda::override_ntt(choice);
      const bool equal = rig.words(rig.run().front()) == wanted;
      correct = correct && equal;
      if (quick) {
        std::cout << "  batch " << std::setw(2) << count << std::setw(16) << name
                  << (equal ? "  equal\n" : "  WRONG INTEGERS\n") << std::flush;
        return;
      }
      const double single = routine_us(rig, *device, count, false);
      const double graph = routine_us(rig, *device, count, true);
      std::cout << "  batch " << std::setw(2) << count << std::setw(16) << name << std::setw(8) << single
                << " in a graph " << std::setw(8) << graph << (equal ? "" : "  WRONG INTEGERS") << "\n"
                << std::flush;
      out << R"({"kind":"routine","routine":"MulLinRS","form":")" << name << R"(","batch":)" << count
          << ",\"microseconds\":" << single << ",\"graph_microseconds\":" << graph
          << ",\"equal\":" << (equal ? "true" : "false") << "}\n"
          << std::flush;
    };
    time("table", nullptr);
    if (!quick) print_kernels(rig, count);
    for (const named_form& form : named_forms) time(form.name, &form.choice);
    cuda::override_ntt(nullptr);
  }
  std::cout << (correct ? "all integers equal those of the CPU\n" : "WRONG INTEGERS, see above\n");
  return correct;
}

}  // namespace halocline::bench
