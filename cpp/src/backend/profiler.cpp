// SPDX-License-Identifier: Apache-2.0
#include "backend/profiler.hpp"

#include <algorithm>
#include <utility>

#include "backend/operation_stack.hpp"
#include "halocline/core/clock.hpp"

namespace halocline::backend {
namespace {

constexpr std::uint32_t operation_track = 0;
constexpr std::uint32_t step_track = 1;
constexpr std::uint32_t kernel_track = 2;
constexpr std::size_t span_limit = 1'000'000;  // some 40 MB, and more than a viewer shows

class host_profiler final : public profiler {
 public:
  void begin_step(op_kind op) override {
    at_ = builder_.begin_step(op);
    step_begin_ = now_ns();
  }
  void end_step() noexcept override {
    const std::uint64_t end = now_ns();
    try {
      builder_.add(at_, step_begin_ - begin_, end - begin_);
    } catch (...) {
      ++lost_;
    }
  }
  [[nodiscard]] profile finish() override {
    profile result = builder_.finish();
    result.wall_ns = now_ns() - begin_;
    result.spans_left_out += lost_;
    return result;
  }

 private:
  profile_builder builder_{false};
  sample_place at_;
  std::uint64_t begin_ = now_ns();
  std::uint64_t step_begin_ = 0;
  std::uint64_t lost_ = 0;
};

bool is_transform(const profile_row& row) {
  if (!row.kernel.empty()) return row.kernel.find("ntt") != std::string::npos;
  return row.op.find("ntt") != std::string::npos;
}

}  // namespace

std::uint64_t profile::total_ns() const noexcept {
  std::uint64_t sum = 0;
  for (const profile_row& row : rows) sum += row.total_ns;
  return sum;
}

std::uint64_t profile::ntt_ns() const noexcept {
  std::uint64_t sum = 0;
  for (const profile_row& row : rows) sum += is_transform(row) ? row.total_ns : 0;
  return sum;
}

profile_builder::profile_builder(bool kernels) {
  result_.kernels = kernels;
  result_.timeline.tracks = {"operations", "ring operations"};
  if (kernels) result_.timeline.tracks.emplace_back("kernels");
}

sample_place profile_builder::begin_step(op_kind op) {
  const operation_stack& stack = this_thread_operations();
  path_.clear();
  for (std::size_t i = 0; i < stack.named(); ++i) {
    if (i != 0) path_ += '/';
    path_ += stack.names[i];
  }
  if (path_.empty()) path_ = "-";
  return {name_of(path_), stack.serial, steps_++, op, ""};
}

std::uint32_t profile_builder::name_of(const std::string& text) {
  const auto found = names_.find(text);
  if (found != names_.end()) return found->second;
  const auto number = static_cast<std::uint32_t>(result_.timeline.names.size());
  result_.timeline.names.push_back(text);
  names_.emplace(text, number);
  return number;
}

void profile_builder::extend(open_span& span, std::uint32_t track, std::uint64_t of, std::uint32_t name,
                             std::uint64_t begin_ns, std::uint64_t end_ns) {
  auto& spans = result_.timeline.spans;
  // Times of a device are rounded: what follows must not begin before what it follows has ended.
  begin_ns = std::max(begin_ns, track_end_[track]);
  end_ns = std::max(begin_ns, end_ns);
  track_end_[track] = end_ns;
  if (span.open && span.of == of && span.name == name) {
    spans[span.number].end_ns = std::max(spans[span.number].end_ns, end_ns);
    return;
  }
  if (spans.size() >= span_limit) {
    ++result_.spans_left_out;
    return;
  }
  span = {of, name, spans.size(), true};
  spans.push_back({track, name, begin_ns, end_ns, 0});
}

void profile_builder::add(const sample_place& at, std::uint64_t begin_ns, std::uint64_t end_ns) {
  end_ns = std::max(begin_ns, end_ns);
  const auto [found, fresh] = rows_.try_emplace({at.operation, at.op, at.kernel}, result_.rows.size());
  if (fresh) {
    result_.rows.push_back({result_.timeline.names[at.operation], std::string(to_string(at.op)), at.kernel, 0,
                            0, UINT64_MAX, 0});
  }
  profile_row& row = result_.rows[found->second];
  const std::uint64_t time = end_ns - begin_ns;
  ++row.calls;
  row.total_ns += time;
  row.shortest_ns = std::min(row.shortest_ns, time);
  row.longest_ns = std::max(row.longest_ns, time);
  extend(operation_, operation_track, at.serial, at.operation, begin_ns, end_ns);
  extend(step_, step_track, at.step, name_of(row.op), begin_ns, end_ns);
  if (!result_.kernels) return;
  open_span kernel;
  extend(kernel, kernel_track, 0, name_of(row.kernel), begin_ns, end_ns);
}

profile profile_builder::finish() {
  std::stable_sort(result_.rows.begin(), result_.rows.end(),
                   [](const profile_row& a, const profile_row& b) { return a.total_ns > b.total_ns; });
  rows_.clear();
  names_.clear();
  return std::exchange(result_, {});
}

std::unique_ptr<profiler> make_host_profiler() { return std::make_unique<host_profiler>(); }

}  // namespace halocline::backend
