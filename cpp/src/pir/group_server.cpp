// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/group_server.hpp"

#include <algorithm>
#include <bit>
#include <exception>
#include <future>
#include <utility>

#include "halocline/core/expects.hpp"
#include "pir/batch_check.hpp"
#include "pir/batch_steps.hpp"
#include "pir/shared_work.hpp"

namespace halocline::pir {
namespace {

/// Parts of each device's share of a batch: while one is on its way, the next one is expanded.
constexpr std::size_t parts_of_share = 2;

/// The columns that device `number` of `devices` keeps.
database_options shard_of(const database_options& all, spread how, std::size_t number, std::size_t devices) {
  database_options made = all;
  if (how == spread::replicas) return made;
  made.first_column = static_cast<std::uint32_t>(number);
  made.column_step = static_cast<std::uint32_t>(devices);
  return made;
}

void check_devices(const geometry& of, std::size_t devices, spread how, const server_options& options) {
  HALOCLINE_EXPECTS(devices > 0 && devices <= 8 && std::has_single_bit(devices), invalid_argument,
                    "retrieval group: ", devices, " devices; expected 1, 2, 4 or 8");
  HALOCLINE_EXPECTS(how == spread::replicas || devices <= of.at.columns, invalid_argument,
                    "retrieval group: ", devices, " devices for ", of.at.columns,
                    " columns; expected no more devices than columns. Use replicas");
  const database_options& kept = options.database;
  HALOCLINE_EXPECTS(
      how == spread::replicas || (kept.first_column == 0 && kept.columns == 0 && kept.column_step == 1),
      invalid_argument, "retrieval group: a choice of columns beside spread columns; give none");
}

}  // namespace

std::size_t group_keys::loaded_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const auto& each : loaded_) bytes += each == nullptr ? 0 : each->rows.size();
  return bytes;
}

struct group_server::member {
  member(const geometry& of, const std::shared_ptr<record_store>& records,
         std::shared_ptr<backend::backend> device, const database_options& kept)
      : ctx(of, std::move(device)), columns(ctx, records, kept) {}

  context ctx;
  database columns;
  std::vector<expanded_query> queries;  ///< of the whole batch, where columns are spread
};

/// A batch that has been checked.
struct group_server::batch {
  std::vector<query_message> messages;
  std::vector<client_query> queries;  ///< with keys on the device that expands each
  std::size_t devices = 1;

  /// Device `number` expands the queries from here on up to those of the next one.
  [[nodiscard]] std::size_t first(std::size_t number) const noexcept {
    return number * queries.size() / devices;
  }
  [[nodiscard]] std::size_t count(std::size_t number) const noexcept {
    return first(number + 1) - first(number);
  }
  [[nodiscard]] std::span<const client_query> share(std::size_t number) const noexcept {
    return std::span(queries).subspan(first(number), count(number));
  }
};

group_server::group_server(geometry of, const std::shared_ptr<record_store>& records,
                           std::vector<std::shared_ptr<backend::backend>> devices, spread how,
                           server_options options)
    : shape_(std::move(of)), how_(how), options_(std::move(options)) {
  check_devices(shape_, devices.size(), how, options_);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    members_.push_back(std::make_unique<member>(shape_, records, devices[i],
                                                shard_of(options_.database, how, i, devices.size())));
  }
  if (how == spread::replicas) return;
  for (const auto& each : members_) {  // expanded queries of one are read by the others
    HALOCLINE_EXPECTS(each->ctx.point_block() == members_.front()->ctx.point_block(), invalid_argument,
                      "retrieval group: ", devices.front()->describe().device, " and ",
                      each->ctx.device().describe().device,
                      " keep points in different orders; expected cards of one kind. Use replicas");
  }
  peers_ = backend::make_peers(std::move(devices));
}

group_server::~group_server() = default;

std::string_view group_server::link() const noexcept { return peers_ == nullptr ? "none" : peers_->link(); }

std::shared_ptr<group_keys> group_server::load_keys(std::span<const std::byte> message) const {
  const server_keys_message checked = read_server_keys(shape_, message);
  return std::make_shared<group_keys>(std::vector(message.begin(), message.end()), checked.client,
                                      checked.stamp, members_.size());
}

group_server::batch group_server::check(const asked& of, std::size_t first_member,
                                        std::size_t devices) const {
  batch made;
  made.devices = devices;
  made.messages.resize(of.queries.size());
  share_work(of.queries.size(), threads_for(of.queries), [&](std::size_t i) {
    made.messages[i] = detail::of_query(of.first + i, [&] {
      HALOCLINE_EXPECTS(of.keys[i] != nullptr && of.keys[i]->loaded_.size() == members_.size(),
                        invalid_argument, "no keys of its client for this group; send them with `load_keys`");
      return detail::read_query_of(shape_, of.keys[i]->client(), of.queries[i]);
    });
  });
  made.queries.resize(of.queries.size());
  for (std::size_t m = 0; m < devices; ++m) {
    for (std::size_t i = made.first(m); i < made.first(m + 1); ++i) {
      std::shared_ptr<const server_keys>& loaded = of.keys[i]->loaded_[first_member + m];
      if (loaded == nullptr) {
        loaded = std::make_shared<const server_keys>(
            pir::load_keys(members_[first_member + m]->ctx, read_server_keys(shape_, of.keys[i]->message_)));
      }
      detail::of_query(of.first + i, [&] { detail::check_depth(shape_, *loaded); });
      made.queries[i] = {loaded.get(), &made.messages[i]};
    }
  }
  return made;
}

group_server::messages group_server::write(const asked& of, const batch& checked,
                                           const answers& words) const {
  messages result(of.queries.size());
  share_work(of.queries.size(), threads_for(of.queries), [&](std::size_t i) {
    const query_message& query = checked.messages[i];
    result[i] = write_answer(
        shape_, {query.database, query.client, tag_of(of.queries[i]), of.keys[i]->stamp(), words[i]});
  });
  return result;
}

std::vector<std::vector<std::byte>> group_server::answer(
    std::span<const std::shared_ptr<group_keys>> keys, std::span<const std::span<const std::byte>> queries) {
  HALOCLINE_EXPECTS(keys.size() == queries.size(), invalid_argument, "retrieval group: keys of ", keys.size(),
                    " clients for ", queries.size(), " queries; expected keys for each query");
  const asked all{keys, queries, 0};
  if (how_ == spread::replicas) return run_replicas(all);
  batch checked = check(all, 0, members_.size());
  return write(all, checked, run_columns(checked));
}

std::size_t group_server::threads_for(std::span<const std::span<const std::byte>> queries) const {
  return work_threads(queries.size(), queries.empty() ? 0 : queries.front().size(),
                      members_.front()->ctx.device().describe().threads);
}

batch_steps group_server::steps(const member& on, std::size_t queries) const {
  const std::size_t limit =
      options_.scratch_bytes != 0 ? options_.scratch_bytes : scratch_limit(on.ctx, on.columns);
  return choose_steps(on.ctx, on.columns, queries, limit);
}

fusion_choice group_server::fused(const member& on, std::size_t queries) const {
  return options_.fused.value_or(choose_fusion(on.ctx, queries));
}

std::vector<expanded_query> group_server::expand(member& on, std::span<const client_query> queries) const {
  const std::size_t at_once = steps(on, queries.size()).queries;
  std::vector<expanded_query> made;
  for (std::size_t begin = 0; begin < queries.size(); begin += at_once) {
    const auto part = queries.subspan(begin, std::min(at_once, queries.size() - begin));
    std::vector<query_leaves> leaves = pir::expand(on.ctx, part, fused(on, part.size()));
    for (expanded_query& each : complete(on.ctx, part, leaves)) made.push_back(std::move(each));
  }
  return made;
}

group_server::messages group_server::run_replica(const asked& of, std::size_t number) const {
  if (of.queries.empty()) return {};
  member& on = *members_[number];
  const batch checked = check(of, number, 1);
  const fusion_choice how = fused(on, of.queries.size());
  const std::vector<expanded_query> expanded = expand(on, checked.queries);
  return write(of, checked,
               round_answers(on.ctx, select_in_parts(on.ctx, on.columns, expanded, 0,
                                                     steps(on, of.queries.size()).columns, how)));
}

group_server::messages group_server::run_replicas(const asked& of) const {
  // Each device has a thread, which reads its queries and writes its answers too.
  const auto run = [&](std::size_t m) {
    const std::size_t count = of.queries.size(), devices = members_.size();
    const std::size_t first = m * count / devices, part = (m + 1) * count / devices - first;
    return run_replica({of.keys.subspan(first, part), of.queries.subspan(first, part), first}, m);
  };
  std::vector<std::future<messages>> others;
  for (std::size_t m = 1; m < members_.size(); ++m) {
    others.push_back(std::async(std::launch::async, run, m));
  }
  // The threads use the batch: all of them end before an error leaves this function.
  std::exception_ptr failed;
  messages all;
  const auto collect = [&](auto&& get) {
    try {
      for (auto& each : get()) all.push_back(std::move(each));
    } catch (...) {
      if (failed == nullptr) failed = std::current_exception();
    }
  };
  collect([&] { return run(0); });
  for (auto& each : others) collect([&] { return each.get(); });
  if (failed != nullptr) std::rethrow_exception(failed);
  return all;
}

void group_server::share(std::size_t owner, std::size_t first, std::size_t count) {
  std::vector<backend::peer_copy> copies;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    if (m == owner) continue;
    for (std::size_t i = first; i < first + count; ++i) {
      const expanded_query& from = members_[owner]->queries[i];
      expanded_query& to = members_[m]->queries[i];
      const auto send = [&](const memory::buffer& src, memory::buffer& dst) {
        if (!src) return;
        dst = members_[m]->ctx.runtime().allocate(src.size(), src.cls(), "pir.expanded");
        copies.push_back(
            {static_cast<std::uint32_t>(owner), static_cast<std::uint32_t>(m), &src, 0, &dst, 0, src.size()});
      };
      send(from.selectors, to.selectors);
      send(from.bits, to.bits);
    }
  }
  peers_->begin(copies);
}

void group_server::expand_and_share(batch& of) {
  for (const auto& each : members_) {
    each->queries.clear();
    each->queries.resize(of.queries.size());
  }
  for (std::size_t part = 0; part < parts_of_share; ++part) {
    for (std::size_t m = 0; m < members_.size(); ++m) {
      const std::size_t begin = of.count(m) * part / parts_of_share;
      const std::size_t end = of.count(m) * (part + 1) / parts_of_share;
      if (begin == end) continue;
      member& on = *members_[m];
      const std::span<const client_query> queries = of.share(m).subspan(begin, end - begin);
      std::vector<expanded_query> made = expand(on, queries);
      std::move(made.begin(), made.end(),
                on.queries.begin() + static_cast<std::ptrdiff_t>(of.first(m) + begin));
      share(m, of.first(m) + begin, end - begin);
    }
  }
  peers_->finish();
}

group_server::answers group_server::run_columns(batch& of) {
  if (of.queries.empty()) return {};
  expand_and_share(of);
  return gather(of);
}

selected_columns group_server::collect(const batch& of, std::uint32_t owner,
                                       std::span<const selected_columns> columns,
                                       std::vector<backend::peer_copy>& copies) {
  const auto devices = static_cast<std::uint32_t>(members_.size());
  const std::uint32_t planes = shape_.planes();
  context& ctx = members_[owner]->ctx;
  const std::uint32_t limbs = ctx.limbs();
  const std::size_t pair = 2 * ctx.polynomial_bytes();
  selected_columns result{{}, devices};
  result.data.reserve(of.count(owner));  // copies name the buffers, which stay where they are when moved
  std::vector<backend::unary_job> own;
  for (std::size_t i = of.first(owner); i < of.first(owner + 1); ++i) {
    const memory::buffer& made = result.data.emplace_back(
        ctx.make_ciphertexts(std::size_t{planes} * devices, memory::object_class::scratch, "pir.gathered"));
    for (std::uint32_t each = 0; each < devices * planes; ++each) {
      const std::uint32_t from = each / planes, plane = each % planes;
      const std::uint32_t src = plane * columns[from].stride, dst = plane * devices + from;
      const memory::buffer& there = columns[from].data[i];
      if (from != owner) {
        copies.push_back({from, owner, &there, src * pair, &made, dst * pair, pair});
        continue;
      }
      for (std::uint32_t c = 0; c < 2; ++c) {
        own.push_back(
            {{&made, (2 * dst + c) * limbs, {0, limbs}}, {&there, (2 * src + c) * limbs, {0, limbs}}});
      }
    }
  }
  ctx.device().copy(ctx.tables(), own);
  return result;
}

group_server::answers group_server::gather(batch& of) {
  const auto devices = static_cast<std::uint32_t>(members_.size());
  const auto low_bits = static_cast<unsigned>(std::bit_width(devices - 1));
  std::vector<selected_columns> columns;  // of each device: its result for each query
  for (const auto& on : members_) {
    columns.push_back(select_in_parts(on->ctx, on->columns, on->queries, low_bits,
                                      steps(*on, of.queries.size()).columns, fused(*on, of.queries.size())));
  }
  std::vector<selected_columns> results;
  std::vector<backend::peer_copy> copies;
  for (std::uint32_t m = 0; m < devices; ++m) results.push_back(collect(of, m, columns, copies));
  peers_->begin(copies);
  peers_->finish();
  for (std::uint32_t m = 0; m < devices; ++m) {
    const auto mine = std::span<const expanded_query>(members_[m]->queries).subspan(of.first(m), of.count(m));
    if (!mine.empty()) {
      select_columns(members_[m]->ctx, mine, results[m].data, {devices, 0}, fused(*members_[m], mine.size()));
    }
  }
  answers all;
  for (std::uint32_t m = 0; m < devices; ++m) {
    for (auto& each : round_answers(members_[m]->ctx, results[m])) all.push_back(std::move(each));
  }
  return all;
}

void group_server::replace(std::uint64_t record, std::span<const std::byte> bytes) {
  for (const auto& each : members_) {
    if (!each->columns.has(record)) continue;
    each->columns.replace(record, bytes);  // which writes it to the store that all of them read
    break;
  }
  refresh(record);
}

void group_server::refresh(std::uint64_t record) {
  std::exception_ptr failed;
  for (const auto& each : members_) {
    try {
      if (each->columns.has(record)) each->columns.refresh(record);
    } catch (...) {
      if (failed == nullptr) failed = std::current_exception();
    }
  }
  if (failed != nullptr) std::rethrow_exception(failed);
}

}  // namespace halocline::pir
