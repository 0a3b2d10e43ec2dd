// SPDX-License-Identifier: Apache-2.0
#include "operations/operation_timing.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "halocline/backend/program_scope.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/recipes.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/memory/device_memory.hpp"

namespace halocline::bench {
namespace {

using namespace ckks;

using memory::lane;
using clock = std::chrono::steady_clock;

constexpr unsigned batch = 8;
constexpr unsigned most_per_sample = 4096;
constexpr unsigned warm_up_samples = 3;  // graphs are made at the second run of a program and used from the
                                         // third one on

/// What an operation works on: set i of `sets`, or polynomials.
class operands {
 public:
  operands(engine& on, unsigned level, unsigned sets) : on_(on), primes_(on.parameters().level(level).q) {
    for (unsigned i = 0; i < sets; ++i) {
      left.push_back(make_ciphertext(level));
      right.push_back(make_ciphertext(level));
      plain.push_back(
          {make_poly(), level, on.parameters().level(level).scale, std::uint32_t(on.parameters().slots())});
    }
    for (unsigned i = 0; i < batch * sets; ++i) {
      from.push_back(make_poly());
      to.push_back(make_poly());
    }
  }

  std::vector<ciphertext> left, right;
  std::vector<plaintext> plain;
  std::vector<ring::poly> from, to;

 private:
  /// Uniform residues: a device may take less power, and so run faster, on zeros.
  [[nodiscard]] ring::poly make_poly() {
    context& ctx = on_.context();
    ring::poly made = ring::make_poly(ctx.ring(), primes_, memory::object_class::ciphertext, "timing");
    const backend::uniform_job job{made.chain(), {{}, next_stream_++}};
    ctx.device().sample_uniform(ctx.tables(), {&job, 1});
    return made;
  }
  [[nodiscard]] ciphertext make_ciphertext(unsigned level) {
    ciphertext made;
    made.level = level;
    made.scale = on_.parameters().level(level).scale;
    made.slots = static_cast<std::uint32_t>(on_.parameters().slots());
    for (int i = 0; i < 2; ++i) made.parts.push_back(make_poly());
    return made;
  }

  engine& on_;
  arith::window primes_;
  std::uint32_t next_stream_ = 0;
};

using body = std::function<void(engine&, operands&, unsigned set)>;

void transform(engine& on, operands& with, unsigned set, unsigned count, bool inverse) {
  std::vector<backend::unary_job> jobs;
  for (unsigned i = batch * set; i < batch * set + count; ++i) {
    jobs.push_back({with.to[i].chain(), with.from[i].chain()});
  }
  context& ctx = on.context();
  inverse ? ctx.device().intt(ctx.tables(), jobs) : ctx.device().ntt(ctx.tables(), jobs);
}

struct operation {
  body run;
  unsigned lowest_level = 0;
  unsigned count = 1;  ///< operations in one call
};

const std::map<std::string, operation, std::less<>>& operations() {
  // Never destroyed: threads may be at work while the program ends.
  static const auto& all = *new std::map<std::string, operation, std::less<>>{
      {"multiply",
       {[](engine& on, operands& with, unsigned i) {
          (void)on.evaluator().multiply(with.left[i], with.right[i]);
        },
        1}},
      {"rotate",
       {[](engine& on, operands& with, unsigned i) { (void)on.evaluator().rotate(with.left[i], 1); }}},
      {"rescale",
       {[](engine& on, operands& with, unsigned i) { (void)on.evaluator().rescale(with.left[i]); }, 1}},
      {"multiply_plain", {[](engine& on, operands& with, unsigned i) {
         (void)on.evaluator().multiply_plain(with.left[i], with.plain[i]);
       }}},
      {"add", {[](engine& on, operands& with, unsigned i) {
         (void)on.evaluator().add(with.left[i], with.right[i]);
       }}},
      {"ntt", {[](engine& on, operands& with, unsigned i) { transform(on, with, i, 1, false); }}},
      {"intt", {[](engine& on, operands& with, unsigned i) { transform(on, with, i, 1, true); }}},
      {"ntt_batch",
       {[](engine& on, operands& with, unsigned i) { transform(on, with, i, batch, false); }, 0, batch}},
  };
  return all;
}

/// Runs one request.
class session {
 public:
  session(engine& on, const timing_request& request, const operation& what)
      : on_(on), request_(request), what_(what), with_(on, request.level, request.operand_sets) {}

  [[nodiscard]] timing_result run() {
    calls_ = calls_per_sample();
    for (unsigned i = 0; i < warm_up_samples; ++i) sample();
    wait();
    timing_result result{{}, calls_ * what_.count};
    const std::uint64_t replays = on_.context().device().graphs().replays;
    result.seconds = device() == nullptr ? host_samples() : device_samples();
    result.replays = on_.context().device().graphs().replays - replays;
    for (double& each : result.seconds) each /= result.per_sample;
    return result;
  }

 private:
  [[nodiscard]] memory::device_memory* device() const {
    return on_.context().runtime().options().device.get();
  }

  void wait() const {
    if (auto* const there = device()) there->wait(lane::compute, there->mark(lane::compute));
  }

  void sample() {
    std::optional<backend::program_scope> program;
    if (request_.graph)
      program.emplace(on_.context().device(), identity_of("timing", request_.level, calls_));
    for (unsigned i = 0; i < calls_; ++i) what_.run(on_, with_, i % request_.operand_sets);
    if (program) program->finish();
  }

  /// A multiple of the number of operand sets, so that samples are alike.
  [[nodiscard]] unsigned calls_per_sample() {
    const unsigned sets = request_.operand_sets;
    calls_ = request_.per_sample != 0 ? (request_.per_sample + what_.count - 1) / what_.count : 1;
    while (request_.per_sample == 0 && calls_ < most_per_sample) {
      const auto begin = clock::now();
      sample();
      wait();
      if (std::chrono::duration<double>(clock::now() - begin).count() >= request_.sample_seconds) break;
      calls_ *= 2;
    }
    return (calls_ + sets - 1) / sets * sets;
  }

  [[nodiscard]] std::vector<double> host_samples() {
    std::vector<double> seconds;
    for (unsigned i = 0; i < request_.samples; ++i) {
      const auto begin = clock::now();
      sample();
      seconds.push_back(std::chrono::duration<double>(clock::now() - begin).count());
    }
    return seconds;
  }

  /// The host does not wait between samples: a pause would leave the device idle.
  [[nodiscard]] std::vector<double> device_samples() {
    memory::device_memory& there = *device();
    std::vector<std::pair<memory::stamp, memory::stamp>> stamps;
    for (unsigned i = 0; i < request_.samples; ++i) {
      const memory::stamp begin = there.take_time(lane::compute);
      sample();
      stamps.emplace_back(begin, there.take_time(lane::compute));
    }
    wait();
    std::vector<double> seconds;
    for (const auto& [begin, end] : stamps) {
      const std::optional<std::uint64_t> taken = there.nanoseconds(begin, end);
      HALOCLINE_EXPECTS(taken.has_value(), device_error, "time ", request_.operation,
                        ": the device has finished but gives no times; the driver lost an event");
      seconds.push_back(1e-9 * static_cast<double>(*taken));
    }
    return seconds;
  }

  engine& on_;
  const timing_request& request_;
  const operation& what_;
  operands with_;
  unsigned calls_ = 1;
};

}  // namespace

const std::vector<std::string>& timed_operations() {
  static const auto& names = *new std::vector<std::string>([] {
    std::vector<std::string> all;
    for (const auto& [name, what] : operations()) all.push_back(name);
    return all;
  }());
  return names;
}

timing_result time_operation(engine& on, const timing_request& request) {
  const auto found = operations().find(request.operation);
  if (found == operations().end()) {
    std::string known;
    for (const std::string& each : timed_operations()) known += (known.empty() ? "" : ", ") + each;
    throw invalid_argument(
        text("time operation: unknown operation '", request.operation, "'; expected one of ", known));
  }
  HALOCLINE_EXPECTS(request.level >= found->second.lowest_level, invalid_argument, "time ", request.operation,
                    ": level ", request.level, " is too low; expected at least ", found->second.lowest_level);
  HALOCLINE_EXPECTS(request.samples > 0 && request.operand_sets > 0, invalid_argument, "time ",
                    request.operation, ": ", request.samples, " samples on ", request.operand_sets,
                    " sets of operands; expected at least 1 of each");
  return session(on, request, found->second).run();
}

}  // namespace halocline::bench
