// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/policy/decision_file.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <unordered_map>

#include "halocline/core/expects.hpp"
#include "memory/policy/peak_tree.hpp"

namespace halocline::memory {
namespace {

constexpr std::string_view signature = "halocline decisions 1,";
constexpr std::string_view columns = "ordinal,decision";
constexpr std::size_t shortest_row = 4;  // "0,1" and its newline

/// Reads lines and numbers of a text that it does not trust.
class line_reader {
 public:
  explicit line_reader(std::string_view source) : rest_(source) {}

  [[nodiscard]] std::string_view next() {
    ++number_;
    const std::size_t end = rest_.find('\n');
    HALOCLINE_EXPECTS(end != std::string_view::npos, corrupt_data, "decision file, line ", number_,
                      ": the file ends within a line");
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return line;
  }

  [[nodiscard]] std::uint64_t number(std::string_view field) const {
    std::uint64_t value = 0;
    const auto [end, status] = std::from_chars(field.data(), field.data() + field.size(), value);
    HALOCLINE_EXPECTS(status == std::errc{} && end == field.data() + field.size(), corrupt_data,
                      "decision file, line ", number_, ": '", field, "' is not a non-negative integer");
    return value;
  }

  [[nodiscard]] std::size_t rest() const noexcept { return rest_.size(); }
  [[nodiscard]] std::size_t line() const noexcept { return number_; }

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
};

std::uint8_t read_row(line_reader& in, std::uint64_t ordinal) {
  const std::string_view line = in.next();
  const std::size_t comma = line.find(',');
  HALOCLINE_EXPECTS(comma != std::string_view::npos, corrupt_data, "decision file, line ", in.line(), ": '",
                    line, "' is not 'ordinal,decision'");
  const std::uint64_t found = in.number(line.substr(0, comma));
  const std::uint64_t value = in.number(line.substr(comma + 1));
  HALOCLINE_EXPECTS(found == ordinal, corrupt_data, "decision file, line ", in.line(), ": ordinal ", found,
                    ", expected ", ordinal);
  HALOCLINE_EXPECTS(value <= 1, corrupt_data, "decision file, line ", in.line(), ": decision ", value,
                    ", expected 0 (managed) or 1 (pool)");
  return static_cast<std::uint8_t>(value);
}

/// Ordinals of the allocations that may go to the pool, by ascending lifetime.
std::vector<std::uint32_t> candidates(const std::vector<lifetime>& lives, double limit_s) {
  std::vector<std::uint32_t> result(lives.size());
  std::iota(result.begin(), result.end(), 0U);
  std::erase_if(result, [&](std::uint32_t i) { return !lives[i].freed || !(lives[i].seconds() < limit_s); });
  std::stable_sort(result.begin(), result.end(), [&](std::uint32_t a, std::uint32_t b) {
    return lives[a].end_ns - lives[a].begin_ns < lives[b].end_ns - lives[b].begin_ns;
  });
  return result;
}

}  // namespace

std::vector<lifetime> lifetimes_of(const trace& recorded) {
  constexpr std::uint64_t older = ~std::uint64_t{0};
  std::vector<lifetime> result;
  std::unordered_map<std::uint64_t, std::uint64_t> live;  // id -> ordinal, or `older`
  std::uint64_t now = 0;
  for (const trace_event& event : recorded.events) {
    HALOCLINE_EXPECTS(event.time_ns >= now, corrupt_data, "trace: time goes back from ", now, " to ",
                      event.time_ns, " ns at step ", event.step);
    now = event.time_ns;
    if (event.action == trace_action::allocate || event.action == trace_action::exists) {
      const bool fresh = event.action == trace_action::allocate;
      HALOCLINE_EXPECTS(live.emplace(event.object, fresh ? result.size() : older).second, corrupt_data,
                        "trace: object ", event.object, " is allocated twice");
      if (fresh) result.push_back({now, now, event.bytes, 0, event.cls, false});
    } else if (event.action == trace_action::free) {
      const auto found = live.find(event.object);
      HALOCLINE_EXPECTS(found != live.end(), corrupt_data, "trace: object ", event.object,
                        " is freed but was never allocated");
      if (found->second != older) {
        lifetime& ended = result[found->second];
        ended.end_ns = now;
        ended.end_ordinal = result.size();
        ended.freed = true;
      }
      live.erase(found);
    }
  }
  for (lifetime& each : result) {
    if (each.freed) continue;
    each.end_ns = now;
    each.end_ordinal = result.size();
  }
  return result;
}

std::vector<std::uint8_t> make_decisions(const trace& recorded, const profile_options& options) {
  HALOCLINE_EXPECTS(options.lifetime_limit_s >= 0, invalid_argument, "lifetime limit is ",
                    options.lifetime_limit_s, " s; expected a number of seconds that is not negative");
  const std::vector<lifetime> lives = lifetimes_of(recorded);
  std::vector<std::uint8_t> result(lives.size(), 0);
  peak_tree held(lives.size());  // bytes of the pool right after each allocation: it grows nowhere else
  for (const std::uint32_t i : candidates(lives, options.lifetime_limit_s)) {
    const lifetime& each = lives[i];
    if (each.bytes > options.pool_peak_bytes) continue;
    if (held.peak(i, each.end_ordinal) > options.pool_peak_bytes - each.bytes) continue;
    held.add(i, each.end_ordinal, each.bytes);
    result[i] = 1;
  }
  return result;
}

std::string decisions_to_text(std::span<const std::uint8_t> decisions) {
  std::string result(signature);
  result += std::to_string(decisions.size()) + "\n" + std::string(columns) + "\n";
  result.reserve(result.size() + decisions.size() * 10);
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    result += std::to_string(i);
    result += decisions[i] == 0 ? ",0\n" : ",1\n";
  }
  return result;
}

std::vector<std::uint8_t> decisions_from_text(std::string_view source, std::uint64_t allocations) {
  line_reader in(source);
  HALOCLINE_EXPECTS(source.starts_with(signature), corrupt_data,
                    "not a decision file of this version: the first line must begin with '", signature, "'");
  const std::uint64_t count = in.number(in.next().substr(signature.size()));
  HALOCLINE_EXPECTS(count <= in.rest() / shortest_row, corrupt_data, "decision file: ", count,
                    " allocations are announced, but only ", in.rest(), " bytes follow");
  HALOCLINE_EXPECTS(allocations == any_allocation_count || allocations == count, invalid_argument,
                    "decision file was made from a run with ", count, " allocations, this one has ",
                    allocations, "; record the program again and make new decisions");
  HALOCLINE_EXPECTS(in.next() == columns, corrupt_data, "decision file, line 2: expected '", columns, "'");
  std::vector<std::uint8_t> result(count);
  for (std::uint64_t i = 0; i < count; ++i) result[i] = read_row(in, i);
  HALOCLINE_EXPECTS(in.rest() == 0, corrupt_data, "decision file: ", in.rest(), " bytes follow the last of ",
                    count, " rows");
  return result;
}

}  // namespace halocline::memory
