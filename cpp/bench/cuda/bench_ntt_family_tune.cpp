// SPDX-License-Identifier: Apache-2.0
// Shapes of the production transform at N = 2^16, timed against each other: what ntt_tuning.hpp is filled
// from.
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

constexpr unsigned tuned_log_n = 16;

/// Lets only kernels through whose name contains a word.
class only_kernels final : public cuda::launch_observer {
 public:
  explicit only_kernels(std::string_view part) : part_(part) {}
  bool begin(const cuda::kernel_launch& each) override {
    return std::string_view(each.name).find(part_) != std::string_view::npos;
  }
  void end(const cuda::kernel_launch&) override {}

 private:
  std::string_view part_;
};

struct timed_choice {
  cuda::ntt_choice choice;
  double forward, rotating, apart, inverse;  ///< seconds of one polynomial
};

template <typename WordT>
class tuner {
 public:
  tuner(cuda::device_context& device, void* pool, unsigned limbs)
      : device_(device), data_(static_cast<WordT*>(pool)), tables_(tuned_log_n, limbs) {}

  /// Fills the pool with as many polynomials as it rotates through, each equal to the one of the tables.
  void fill() const {
    const std::size_t words = tables_.primes << tuned_log_n;
    for (std::size_t p = 0; p < polys(); ++p) {
      cuda::check(cudaMemcpyAsync(data_ + p * words, tables_.values.template as<WordT>(),
                                  words * sizeof(WordT), cudaMemcpyDeviceToDevice, device_.compute()),
                  "fill");
    }
  }
  /// Transforms polynomials first, ..., first + batch - 1; results `distance` polynomials on.
  void transform(const cuda::ntt_choice& choice, std::size_t first, unsigned batch, bool inverse,
                 std::size_t distance = 0) const {
    cuda::plain_ntt_params<WordT> params;
    params.moduli = tables_.moduli.template as<arith::modulus<WordT>>();
    params.roots = tables_.roots.template as<WordT>();
    params.log_n = tuned_log_n;
    const std::vector<window> windows(batch, window{0, tables_.primes});
    cuda::for_each_prime_group(windows, choice.polys, [&](window primes, auto members) {
      cuda::ntt_group<WordT> group;
      group.prime = primes.first;
      for (const std::uint32_t member : members) {
        WordT* const at = data_ + (((first + member) * tables_.primes + primes.first) << tuned_log_n);
        group.src[group.polys] = at;
        group.dst[group.polys++] = at + ((distance * tables_.primes) << tuned_log_n);
      }
      params.groups.add(group, primes.count);
    });
    const cuda::launcher launch(device_, inverse ? "intt" : "ntt");
    inverse ? launch_intt(launch, choice, params) : launch_ntt(launch, choice, params);
  }
  [[nodiscard]] bool correct(const cuda::ntt_choice& choice, unsigned batch) const {
    fill();
    const std::size_t words = tables_.primes << tuned_log_n;
    transform(choice, 0, batch, false);
    std::uint64_t wrong = 0;
    for (unsigned p = 0; p < batch; ++p)
      wrong += count_wrong(device_, data_ + p * words, tables_.transformed.template as<WordT>(),
                           ~std::size_t{0}, words);
    transform(choice, 0, batch, true);
    for (unsigned p = 0; p < batch; ++p)
      wrong += count_wrong(device_, data_ + p * words, tables_.values.template as<WordT>(), ~std::size_t{0},
                           words);
    return wrong == 0;
  }
  [[nodiscard]] double seconds(const cuda::ntt_choice& choice, unsigned batch, bool inverse,
                               bool rotate) const {
    const std::size_t sets = rotate ? polys() / batch : 1;
    return median_seconds(device_,
                          [&](std::size_t i) { transform(choice, i % sets * batch, batch, inverse); }) /
           batch;
  }
  /// Forward, from one buffer to another, always the same two, many calls in one graph: as programs do.
  [[nodiscard]] double apart_seconds(const cuda::ntt_choice& choice, unsigned batch) const {
    constexpr unsigned calls = 16;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t run = nullptr;
    cuda::check(cudaStreamBeginCapture(device_.compute(), cudaStreamCaptureModeRelaxed), "capture");
    for (unsigned i = 0; i < calls; ++i) transform(choice, 0, batch, false, batch);
    cuda::check(cudaStreamEndCapture(device_.compute(), &graph), "capture");
    cuda::check(cudaGraphInstantiate(&run, graph, 0), "make a graph");
    const double found = median_seconds(device_, [&](std::size_t) {
      cuda::check(cudaGraphLaunch(run, device_.compute()), "launch a graph");
    });
    cudaGraphExecDestroy(run);
    cudaGraphDestroy(graph);
    return found / calls / batch;
  }
  [[nodiscard]] std::size_t polys() const {
    return rotated_bytes / ((tables_.primes * sizeof(WordT)) << tuned_log_n);
  }
  /// The same with only the kernels of one phase.
  [[nodiscard]] double phase_seconds(const cuda::ntt_choice& choice, unsigned batch, bool inverse,
                                     std::string_view part) const {
    only_kernels filter(part);
    device_.observe(&filter);
    const double found = seconds(choice, batch, inverse, false);
    device_.observe(nullptr);
    return found;
  }

 private:
  cuda::device_context& device_;
  WordT* data_;
  ntt_bench_tables<WordT> tables_;
};

/// Shapes with two kernels, then those with one.
std::vector<cuda::ntt_choice> candidates(unsigned word_bits, unsigned batch) {
  const unsigned log_words = cuda::ntt_log_words(word_bits);
  std::vector<cuda::ntt_choice> all;
  const auto add = [&](unsigned log_columns, unsigned row_threads, unsigned polys, bool near, unsigned lead) {
    const cuda::ntt_choice wanted{static_cast<std::uint8_t>(log_columns),
                                  static_cast<std::uint16_t>(row_threads), static_cast<std::uint8_t>(polys),
                                  near, static_cast<std::uint8_t>(lead)};
    const cuda::ntt_choice choice = cuda::fitted(wanted, log_words, tuned_log_n);
    if (choice.polys == polys && choice.log_columns == log_columns && polys <= batch) all.push_back(choice);
  };
  for (const unsigned polys : {1U, 2U, 4U}) {
    for (const unsigned log_columns : {log_words, log_words + 1}) {
      for (const unsigned row_threads : {64U, 128U}) {
        for (const bool near : {false, true}) add(log_columns, row_threads, polys, near, 0);
      }
    }
    for (const unsigned lead : {6U, 8U, 10U, 12U})
      if (word_bits == 32) add(log_words, 64, polys, true, lead);
  }
  return all;
}

void print(const timed_choice& of) {
  const cuda::ntt_choice& c = of.choice;
  std::cout << "  columns " << std::setw(2) << (1U << c.log_columns) << " row threads " << std::setw(3)
            << c.row_threads << " polys " << unsigned{c.polys} << (c.near_twiddles ? " near" : "     ")
            << " lead " << std::setw(2) << unsigned{c.lead} << std::fixed << std::setprecision(2)
            << ": forward " << std::setw(6) << of.forward * 1e6 << " rotating " << std::setw(6)
            << of.rotating * 1e6 << " apart " << std::setw(6) << of.apart * 1e6 << " inverse " << std::setw(6)
            << of.inverse * 1e6 << "\n";
}

void write(const timed_choice& of, unsigned word_bits, unsigned limbs, unsigned batch, std::ostream& out) {
  const cuda::ntt_choice& c = of.choice;
  out << R"({"kind":"tune","word_bits":)" << word_bits << ",\"log_n\":" << tuned_log_n
      << ",\"limbs\":" << limbs << ",\"batch\":" << batch << ",\"log_columns\":" << unsigned{c.log_columns}
      << ",\"row_threads\":" << c.row_threads << ",\"polys\":" << unsigned{c.polys}
      << ",\"near_twiddles\":" << (c.near_twiddles ? "true" : "false") << ",\"lead\":" << unsigned{c.lead}
      << ",\"forward_microseconds\":" << of.forward * 1e6
      << ",\"forward_apart_microseconds\":" << of.apart * 1e6
      << ",\"forward_rotating_microseconds\":" << of.rotating * 1e6
      << ",\"inverse_microseconds\":" << of.inverse * 1e6 << "}\n";
}

template <typename WordT>
bool tune(cuda::device_context& device, void* pool, unsigned limbs, std::ostream& out) {
  constexpr unsigned word_bits = 8 * sizeof(WordT);
  const tuner<WordT> on(device, pool, limbs);
  bool correct = true;
  for (const unsigned batch : {1U, 2U, 4U, 8U}) {
    std::vector<timed_choice> timed;
    for (const cuda::ntt_choice& choice : candidates(word_bits, batch)) {
      if (!on.correct(choice, batch)) {
        correct = false;
        std::cout << "  WRONG INTEGERS:\n";
        print({choice, 0, 0, 0, 0});
      }
      timed.push_back({choice, on.seconds(choice, batch, false, false),
                       on.seconds(choice, batch, false, true), on.apart_seconds(choice, batch),
                       on.seconds(choice, batch, true, false)});
      write(timed.back(), word_bits, limbs, batch, out);
    }
    const auto better = [](const timed_choice& a, const timed_choice& b) {
      return a.forward + a.inverse < b.forward + b.inverse;
    };
    std::sort(timed.begin(), timed.end(), better);
    std::cout << word_bits << " bits, " << limbs << " limbs, batch " << batch
              << ": microseconds per polynomial, the best shapes\n";
    for (std::size_t i = 0; i < std::min<std::size_t>(5, timed.size()); ++i) print(timed[i]);
    // Phases have times of their own only in two kernels.
    const auto two =
        std::find_if(timed.begin(), timed.end(), [](const timed_choice& a) { return a.choice.lead == 0; });
    const cuda::ntt_choice& best = two->choice;
    std::cout << "  phases alone: columns " << on.phase_seconds(best, batch, false, "columns") * 1e6
              << " rows " << on.phase_seconds(best, batch, false, "rows") * 1e6 << ", inverse columns "
              << on.phase_seconds(best, batch, true, "columns") * 1e6 << " rows "
              << on.phase_seconds(best, batch, true, "rows") * 1e6 << "\n";
  }
  return correct;
}

}  // namespace

bool run_tuning(cuda::device_context& device, void* pool, unsigned word_bits, unsigned limbs,
                std::ostream& out) {
  return word_bits == 32 ? tune<std::uint32_t>(device, pool, limbs, out)
                         : tune<std::uint64_t>(device, pool, limbs, out);
}

}  // namespace halocline::bench
