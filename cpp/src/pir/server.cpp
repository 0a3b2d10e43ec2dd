// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/server.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "halocline/core/expects.hpp"
#include "pir/batch_check.hpp"
#include "pir/batch_plans.hpp"
#include "pir/batch_steps.hpp"
#include "pir/shared_work.hpp"

namespace halocline::pir {
namespace {

void check_keys(const context& ctx, const server_keys* keys) {
  HALOCLINE_EXPECTS(keys != nullptr, invalid_argument, "no keys of its client; send them with `load_keys`");
  HALOCLINE_EXPECTS(keys->rows && keys->rows.owner() == &ctx.runtime(), invalid_argument,
                    "keys that another server has; expected those that `load_keys` of this one returned");
  detail::check_depth(ctx.shape(), *keys);
}

/// Seconds since it was made or asked last.
class stage_clock {
 public:
  stage_clock(backend::backend& device, bool waits) : device_(device), waits_(waits) {}
  [[nodiscard]] double lap() {
    if (waits_) device_.wait();
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  backend::backend& device_;
  bool waits_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace

server::server(geometry of, std::shared_ptr<record_store> records, std::shared_ptr<backend::backend> device,
               server_options options)
    : ctx_(std::move(of), std::move(device)),
      database_(ctx_, std::move(records), options.database),
      options_(std::move(options)),
      chooses_scratch_(options_.scratch_bytes == 0) {
  // Plans are made with groups of the same sizes, whatever the budget is later.
  options_.database.group_bytes = database_.group_bytes();
  plans_ = batch_plans::of(ctx_.shape(), options_, ctx_.device());
}

server::~server() = default;

plan_report server::last_plan() const { return plans_ == nullptr ? plan_report{} : plans_->last(); }

std::shared_ptr<const server_keys> server::load_keys(std::span<const std::byte> message) {
  return std::make_shared<const server_keys>(pir::load_keys(ctx_, read_server_keys(ctx_.shape(), message)));
}

std::vector<std::vector<std::byte>> server::answer(std::span<const std::shared_ptr<const server_keys>> keys,
                                                   std::span<const std::span<const std::byte>> queries) {
  HALOCLINE_EXPECTS(keys.size() == queries.size(), invalid_argument, "retrieval server: keys of ",
                    keys.size(), " clients for ", queries.size(), " queries; expected keys for each query");
  std::vector<query_message> messages(queries.size());
  const std::size_t threads = work_threads(queries.size(), queries.empty() ? 0 : queries.front().size(),
                                           ctx_.device().describe().threads);
  share_work(queries.size(), threads, [&](std::size_t i) {
    messages[i] = detail::of_query(i, [&] {
      check_keys(ctx_, keys[i].get());
      return detail::read_query_of(ctx_.shape(), keys[i]->client, queries[i]);
    });
  });
  std::vector<client_query> batch;
  for (std::size_t i = 0; i < queries.size(); ++i) batch.push_back({keys[i].get(), &messages[i]});
  if (batch.empty()) return {};
  const std::vector<std::vector<std::uint64_t>> words = run_planned(batch);
  std::vector<std::vector<std::byte>> answers(queries.size());
  share_work(queries.size(), threads, [&](std::size_t i) {
    answers[i] = write_answer(ctx_.shape(), {messages[i].database, messages[i].client, tag_of(queries[i]),
                                             keys[i]->stamp, words[i]});
  });
  return answers;
}

std::vector<std::vector<std::uint64_t>> server::run_planned(std::span<const client_query> batch) {
  if (chooses_scratch_) options_.scratch_bytes = scratch_limit(ctx_, database_);
  const fusion_choice how = options_.fused.value_or(choose_fusion(ctx_, batch.size()));
  if (plans_ == nullptr) return run(batch, how);
  plans_->begin(batch, options_.scratch_bytes, how);
  try {
    std::vector<std::vector<std::uint64_t>> words = run(batch, how);
    plans_->end();
    return words;
  } catch (...) {
    plans_->end();
    throw;
  }
}

std::vector<std::vector<std::uint64_t>> server::run(std::span<const client_query> batch,
                                                    const fusion_choice& how) {
  times_ = {};
  const std::size_t pass = choose_pass(ctx_, database_, batch.size(), options_.scratch_bytes);
  std::vector<std::vector<std::uint64_t>> words;
  for (std::size_t begin = 0; begin < batch.size(); begin += pass) {
    for (auto& each : run_pass(batch.subspan(begin, std::min(pass, batch.size() - begin)), how)) {
      words.push_back(std::move(each));
    }
  }
  return words;
}

std::vector<std::vector<std::uint64_t>> server::run_pass(std::span<const client_query> batch,
                                                         const fusion_choice& how) {
  const batch_steps steps = choose_steps(ctx_, database_, batch.size(), options_.scratch_bytes);
  stage_clock clock(ctx_.device(), timed_);
  std::vector<expanded_query> expanded;
  for (std::size_t begin = 0; begin < batch.size(); begin += steps.queries) {
    const auto part = batch.subspan(begin, std::min(steps.queries, batch.size() - begin));
    std::vector<query_leaves> leaves = expand(ctx_, part, how);
    times_.expansion += clock.lap();
    for (expanded_query& each : complete(ctx_, part, leaves)) expanded.push_back(std::move(each));
    times_.completion += clock.lap();
  }
  const auto after = [&](selection_stage stage) {
    (stage == selection_stage::rows ? times_.rows : times_.columns) += clock.lap();
  };
  const selected_columns selected = select_in_parts(ctx_, database_, expanded, 0, steps.columns, how, after);
  std::vector<std::vector<std::uint64_t>> words = round_answers(ctx_, selected);
  times_.answers += clock.lap();
  return words;
}

}  // namespace halocline::pir
