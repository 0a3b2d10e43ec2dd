// SPDX-License-Identifier: Apache-2.0
// Forms of the transforms of 64-bit words, timed against each other in rings of 2^14 and 2^15.
#include "bench_ntt_family_forms.hpp"

#include <algorithm>
#include <iomanip>
#include <iostream>

#include <cuda_runtime_api.h>

#include "backend/cuda/device/cuda_api.hpp"
#include "backend/cuda/ntt/ntt_groups.hpp"
#include "backend/cuda/ntt/ntt_launch.hpp"
#include "bench_ntt_family.hpp"

namespace halocline::bench {
namespace {

using word = std::uint64_t;

constexpr unsigned form_primes = 8, form_bits = 55;

/// Polynomials of consecutive limbs: `limbs` in all, over as few polynomials as there are primes for, or one
/// limb each modulo one prime.
struct form_batch {
  std::uint32_t limbs;
  bool one_prime;
  [[nodiscard]] std::uint32_t primes() const { return one_prime ? 1 : std::min(limbs, form_primes); }
  [[nodiscard]] std::uint32_t polys() const { return limbs / primes(); }
};
constexpr form_batch batches[] = {{1, false},  {8, false},   {16, false},
                                  {64, false}, {128, false}, {128, true}};

class form_bench {
 public:
  form_bench(cuda::device_context& device, void* pool, unsigned log_n)
      : device_(device), data_(static_cast<word*>(pool)), tables_(log_n, form_primes, form_bits) {}

  /// Transforms a batch in place, `first` words into the pool; groups as the library makes them.
  void transform(const cuda::ntt_choice& wanted, const form_batch& batch, std::size_t first,
                 bool inverse) const {
    const cuda::ntt_choice choice = cuda::fitted(wanted, cuda::ntt_log_words(64), tables_.log_n);
    const std::vector<window> windows(batch.polys(), window{0, batch.primes()});
    const cuda::launcher launch(device_, inverse ? "intt" : "ntt");
    cuda::plain_ntt_params<word> params;
    const auto run = [&] {
      inverse ? launch_intt(launch, choice, params) : launch_ntt(launch, choice, params);
    };
    const auto begin = [&] {
      params.moduli = tables_.moduli.as<arith::modulus<word>>();
      params.roots = tables_.roots.as<word>();
      params.log_n = tables_.log_n;
      params.groups.jobs = params.groups.limbs = 0;
    };
    begin();
    cuda::for_each_prime_group(windows, choice.polys, [&](window primes, auto members) {
      cuda::ntt_group<word> group;
      group.prime = primes.first;
      for (const std::uint32_t member : members) {
        word* const at = data_ + first + (std::size_t{member} * batch.primes() << tables_.log_n);
        group.src[group.polys] = at;
        group.dst[group.polys++] = at;
      }
      if (params.groups.add(group, primes.count)) return;
      run();
      begin();
      params.groups.add(group, primes.count);
    });
    run();
  }
  [[nodiscard]] std::size_t words(const form_batch& batch) const {
    return std::size_t{batch.limbs} << tables_.log_n;
  }
  /// Words that differ from those of the scalar kernels, forward and back.
  [[nodiscard]] std::uint64_t wrong(const cuda::ntt_choice& choice, const form_batch& batch) const {
    const std::size_t mask = (std::size_t{batch.primes()} << tables_.log_n) - 1, count = words(batch);
    repeat_words(device_, data_, tables_.values.as<word>(), mask, count);
    transform(choice, batch, 0, false);
    std::uint64_t found = count_wrong(device_, data_, tables_.transformed.as<word>(), mask, count);
    transform(choice, batch, 0, true);
    return found + count_wrong(device_, data_, tables_.values.as<word>(), mask, count);
  }
  /// Nanoseconds of a limb: calls in a graph, as programs have them, always of the same words, or of words in
  /// turn that the second-level cache does not hold.
  [[nodiscard]] double limb_ns(const cuda::ntt_choice& choice, const form_batch& batch, bool inverse,
                               bool rotate) const {
    const unsigned calls = std::clamp(256U / batch.limbs, 4U, 16U);
    const std::size_t sets =
        rotate ? std::max<std::size_t>(1, rotated_bytes / sizeof(word) / words(batch)) : 1;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t run = nullptr;
    cuda::check(cudaStreamBeginCapture(device_.compute(), cudaStreamCaptureModeRelaxed), "capture");
    for (unsigned i = 0; i < calls; ++i) transform(choice, batch, i % sets * words(batch), inverse);
    cuda::check(cudaStreamEndCapture(device_.compute(), &graph), "capture");
    cuda::check(cudaGraphInstantiate(&run, graph, 0), "make a graph");
    const double seconds = median_seconds(device_, [&](std::size_t) {
      cuda::check(cudaGraphLaunch(run, device_.compute()), "launch a graph");
    });
    cudaGraphExecDestroy(run);
    cudaGraphDestroy(graph);
    return 1e9 * seconds / calls / batch.limbs;
  }

 private:
  cuda::device_context& device_;
  word* data_;
  ntt_bench_tables<word> tables_;
};

}  // namespace

bool run_forms(cuda::device_context& device, void* pool, const peaks& ceiling, bool quick,
               std::ostream& out) {
  bool correct = true;
  std::cout << "nanoseconds of a limb of 64-bit words, calls in a graph: forward / inverse, then forward / "
               "inverse with buffers in turn\n";
  for (const unsigned log_n : {14U, 15U}) {
    const form_bench on(device, pool, log_n);
    const double butterflies = static_cast<double>(log_n << (log_n - 1));
    std::cout << "N = 2^" << log_n << ", butterflies alone " << std::fixed << std::setprecision(0)
              << 1e9 * butterflies / ceiling.butterflies[1] << ", lean "
              << 1e9 * butterflies / ceiling.lean_butterflies << "\n"
              << std::setw(15) << "limbs";
    for (const form_batch& batch : batches)
      std::cout << std::setw(24) << batch.limbs << (batch.one_prime ? "*" : " ");
    std::cout << "  (*: one prime)\n";
    for (const named_form& form : named_forms) {
      std::cout << std::setw(15) << form.name;
      for (const form_batch& batch : batches) {
        const std::uint64_t wrong = on.wrong(form.choice, batch);
        correct = correct && wrong == 0;
        if (wrong != 0) {
          std::cout << " WRONG(" << wrong << ")" << std::flush;
          continue;
        }
        if (quick) {
          std::cout << std::setw(25) << "equal" << std::flush;
          continue;
        }
        double ns[4];
        for (unsigned i = 0; i < 4; ++i) ns[i] = on.limb_ns(form.choice, batch, i % 2 == 1, i >= 2);
        std::cout << std::setw(7) << ns[0] << "/" << std::setw(5) << ns[1] << std::setw(6) << ns[2] << "/"
                  << std::setw(5) << ns[3] << std::flush;
        out << R"({"kind":"form","form":")" << form.name << R"(","word_bits":64,"log_n":)" << log_n
            << ",\"limbs\":" << batch.limbs << ",\"primes\":" << batch.primes() << ",\"forward_ns\":" << ns[0]
            << ",\"inverse_ns\":" << ns[1] << ",\"forward_rotating_ns\":" << ns[2]
            << ",\"inverse_rotating_ns\":" << ns[3] << "}\n"
            << std::flush;
      }
      std::cout << "\n";
    }
  }
  return correct;
}

}  // namespace halocline::bench
