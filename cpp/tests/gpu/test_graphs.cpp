// SPDX-License-Identifier: Apache-2.0
// Programs that run as graphs give the same integers as their kernels launched one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "halocline/backend/program_scope.hpp"
#include "halocline/backend/registry.hpp"
#include "halocline/ckks/client.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/engine.hpp"
#include "halocline/params/presets.hpp"

namespace halocline::ckks {
namespace {

using backend::driver_counters;
using backend::graph_statistics;
using backend::program_scope;
using complex_vector = std::vector<std::complex<double>>;

class Graphs : public testing::Test {
 protected:
  void SetUp() override {
    const std::vector<std::string> devices = backend::available_devices();
    if (std::find(devices.begin(), devices.end(), "cuda:0") == devices.end()) GTEST_SKIP() << "no GPU";
    engine_options options;
    options.device = "cuda:0";
    server = std::make_unique<engine>(parameters, options);
    key_selection selection;
    selection.rotations = {1, 4};
    server->add_keys(owner.make_keys(selection));
    gpu().use_graphs(true);  // whatever the environment says
  }

  [[nodiscard]] backend::backend& gpu() const { return server->context().device(); }
  [[nodiscard]] graph_statistics stats() const { return gpu().graphs(); }

  [[nodiscard]] ciphertext random_input() {
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    complex_vector values(parameters.slots());
    for (auto& value : values) value = {uniform(random), uniform(random)};
    return server->load(owner.encrypt(values));
  }
  /// All residues of a ciphertext.
  [[nodiscard]] std::vector<std::byte> bytes_of(const ciphertext& value) const {
    std::vector<std::byte> bytes;
    for (const ring::poly& part : value.parts) {
      std::vector<std::byte> each(part.data().size());
      gpu().download(each, part.data(), 0);
      bytes.insert(bytes.end(), each.begin(), each.end());
    }
    return bytes;
  }
  /// A program of operations that `shape` chooses, with constants that `constant` scales.
  [[nodiscard]] ciphertext run(std::uint32_t shape, const ciphertext& x, double constant = 1.0) {
    evaluator& eval = server->evaluator();
    std::mt19937 choose(shape);
    ciphertext y = eval.add(x, x);
    for (int i = 0; i < 12; ++i) {
      const unsigned what = choose() % (y.level > 0 ? 7U : 4U);
      if (what == 0) y = eval.add(y, eval.drop_level(x, y.level));
      if (what == 1) y = eval.rotate(y, choose() % 2 == 0 ? 1 : 4);
      if (what == 2) y = eval.sub(eval.negate(y), eval.drop_level(x, y.level));
      if (what == 3) y = eval.add_constant(y, 0.25 * constant);
      if (what == 4) y = eval.multiply(y, eval.drop_level(x, y.level));
      if (what == 5) y = eval.multiply_constant(y, 0.375 * constant);
      if (what == 6) y = eval.square(y);
    }
    return y;
  }
  [[nodiscard]] std::vector<std::byte> eager(std::uint32_t shape, const ciphertext& x,
                                             double constant = 1.0) {
    return bytes_of(run(shape, x, constant));
  }
  [[nodiscard]] std::vector<std::byte> scoped(std::uint32_t shape, const ciphertext& x,
                                              double constant = 1.0) {
    program_scope scope(gpu(), shape);
    const ciphertext y = run(shape, x, constant);
    scope.finish();
    return bytes_of(y);
  }

  const std::uint32_t seed = std::random_device{}();
  testing::ScopedTrace trace{__FILE__, __LINE__, "seed " + std::to_string(seed)};
  std::mt19937 random{seed};
  const params::parameters parameters = params::preset("test-n10-d3");
  client owner{parameters};
  std::unique_ptr<engine> server;
};

TEST_F(Graphs, RandomProgramsGiveTheSameIntegers) {
  for (int i = 0; i < 8; ++i) {
    const std::uint32_t shape = random();
    SCOPED_TRACE("shape " + std::to_string(shape));
    for (int repetition = 0; repetition < 4; ++repetition) {
      const ciphertext x = random_input();
      EXPECT_EQ(scoped(shape, x), eager(shape, x)) << "repetition " << repetition;
    }
  }
  EXPECT_GT(stats().replays, 0U);
  EXPECT_EQ(stats().failed_builds, 0U);
}

TEST_F(Graphs, ASecondRunWithOtherInputsUsesTheGraph) {
  const ciphertext x = random_input(), y = random_input();
  (void)scoped(1, x);  // makes tables, whose uploads cut the program into other segments
  (void)scoped(1, x);
  (void)scoped(1, x);
  const graph_statistics before = stats();
  EXPECT_GT(before.graphs_built, 0U);
  const std::vector<std::byte> got = scoped(1, y);
  const graph_statistics after = stats();
  EXPECT_EQ(got, eager(1, y));
  EXPECT_EQ(after.graphs_built, before.graphs_built);
  EXPECT_LE(after.eager_launches - before.eager_launches, 3U);  // a last segment too short for a graph
  EXPECT_GT(after.replayed_nodes, before.replayed_nodes);
  EXPECT_GT(after.patched_nodes, before.patched_nodes);
}

TEST_F(Graphs, ChangedConstantsAreHonoured) {
  const ciphertext x = random_input();
  evaluator& eval = server->evaluator();
  const auto program = [&](double c) {
    return eval.multiply_constant(eval.rotate(eval.multiply_constant(x, 0.3 * c), 1), 0.7 + c);
  };
  for (const double c : {1.0, 1.0, 2.0, -0.5, 1.0}) {
    program_scope scope(gpu(), 5);
    const ciphertext y = program(c);
    scope.finish();
    EXPECT_EQ(bytes_of(y), bytes_of(program(c))) << c;
  }
  EXPECT_GT(stats().patched_nodes, 0U);
}

TEST_F(Graphs, DownloadsAndExceptionsInTheMiddleSeeWhatCameBefore) {
  const ciphertext x = random_input();
  evaluator& eval = server->evaluator();
  const std::vector<std::byte> square = bytes_of(eval.square(x));
  for (int i = 0; i < 3; ++i) {
    ciphertext kept;
    try {
      const program_scope scope(gpu(), 6);
      kept = eval.square(x);
      EXPECT_EQ(bytes_of(kept), square);
      kept = eval.rotate(kept, 1);
      throw std::runtime_error("stop");
    } catch (const std::runtime_error&) {
    }
    EXPECT_EQ(bytes_of(kept), bytes_of(eval.rotate(eval.square(x), 1)));
  }
}

TEST_F(Graphs, SteadyStateNeitherWaitsNorAllocates) {
  const ciphertext x = random_input();
  for (int i = 0; i < 4; ++i) (void)scoped(3, x);
  const driver_counters before = gpu().driver_calls();
  ciphertext y;
  {
    program_scope scope(gpu(), 3);
    y = run(3, x);
    scope.finish();
  }
  const driver_counters calls = gpu().driver_calls() - before;
  EXPECT_EQ(calls.device_waits, 0U);
  EXPECT_EQ(calls.stream_waits, 0U);
  EXPECT_EQ(calls.event_waits, 0U);
  EXPECT_EQ(calls.allocations, 0U);
  EXPECT_EQ(calls.frees, 0U);
  EXPECT_EQ(bytes_of(y), eager(3, x));
}

TEST_F(Graphs, CanBeSwitchedOff) {
  const ciphertext x = random_input();
  gpu().use_graphs(false);
  EXPECT_FALSE(gpu().makes_graphs());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(scoped(2, x), eager(2, x));
  EXPECT_EQ(stats().programs, 0U);
}

TEST_F(Graphs, ProfilesTimeKernelsOneByOne) {
  const ciphertext x = random_input();
  (void)scoped(4, x);
  const std::vector<std::byte> expected = eager(4, x);
  gpu().start_profile();
  const std::vector<std::byte> got = scoped(4, x);
  const backend::profile p = gpu().stop_profile();
  EXPECT_EQ(got, expected);
  EXPECT_TRUE(p.kernels);
  EXPECT_GT(p.ntt_ns(), 0U);
  EXPECT_EQ(p.driver.device_waits, 0U);
  for (const backend::profile_row& row : p.rows) EXPECT_FALSE(row.kernel.empty()) << row.op;
  EXPECT_EQ(scoped(4, x), expected);  // and graphs are back
}

}  // namespace
}  // namespace halocline::ckks
