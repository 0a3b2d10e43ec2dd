// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/trace_formats/rmm_log.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <istream>
#include <limits>
#include <ostream>
#include <string>
#include <unordered_map>

#include "halocline/core/expects.hpp"
#include "memory/trace_limits.hpp"

namespace halocline::memory {
namespace {

constexpr std::size_t column_count = 6;
constexpr std::uint64_t ns_per_second = 1'000'000'000;
constexpr std::uint64_t ns_per_day = 86'400 * ns_per_second;
constexpr std::uint64_t address_alignment = 256;
constexpr std::uint64_t first_address = std::uint64_t{1} << 40;
constexpr std::uint64_t last_address = std::numeric_limits<std::int64_t>::max();

using fields = std::array<std::string_view, column_count>;

/// A row as text becomes numbers; every function names the line when it refuses.
class row_parser {
 public:
  row_parser(std::string_view line, std::size_t number) : number_(number) {
    for (std::size_t i = 0; i < column_count; ++i) {
      const std::size_t comma = line.find(',');
      const bool last = i + 1 == column_count;
      HALOCLINE_EXPECTS((comma == std::string_view::npos) == last, corrupt_data, "RMM log line ", number,
                        ": expected ", column_count, " columns (", rmm_log_header, ")");
      values_[i] = line.substr(0, comma);
      if (!last) line.remove_prefix(comma + 1);
    }
  }

  [[nodiscard]] std::string_view thread() const { return word(0, "thread"); }
  [[nodiscard]] std::string_view action() const noexcept { return values_[2]; }
  [[nodiscard]] std::uint64_t size() const { return integer(values_[4], 10, "size"); }
  [[nodiscard]] std::string_view stream() const { return word(5, "stream"); }

  [[nodiscard]] std::uint64_t pointer() const {
    std::string_view digits = values_[3];
    if (digits == "(nil)") return 0;
    if (digits.starts_with("0x")) digits.remove_prefix(2);
    return integer(digits, 16, "pointer");
  }

  /// Nanoseconds of the day.
  [[nodiscard]] std::uint64_t time() const {
    const std::string_view t = values_[1];
    const bool shaped = t.size() == 15 && t[2] == ':' && t[5] == ':' && (t[8] == '.' || t[8] == ':');
    HALOCLINE_EXPECTS(shaped, corrupt_data, "RMM log line ", number_, ": time '", t,
                      "', expected HH:MM:SS.microseconds");
    const std::uint64_t hours = integer(t.substr(0, 2), 10, "hour");
    const std::uint64_t minutes = integer(t.substr(3, 2), 10, "minute");
    const std::uint64_t seconds = integer(t.substr(6, 2), 10, "second");
    HALOCLINE_EXPECTS(hours < 24 && minutes < 60 && seconds <= 60, corrupt_data, "RMM log line ", number_,
                      ": time '", t, "' is none of a day");
    const std::uint64_t whole = (hours * 60 + minutes) * 60 + seconds;
    return whole * ns_per_second + integer(t.substr(9), 10, "microsecond") * 1000;
  }

 private:
  [[nodiscard]] std::uint64_t integer(std::string_view digits, int base, const char* what) const {
    std::uint64_t value = 0;
    const char* const last = digits.data() + digits.size();
    const auto [end, status] = std::from_chars(digits.data(), last, value, base);
    HALOCLINE_EXPECTS(status == std::errc{} && end == last, corrupt_data, "RMM log line ", number_, ": ",
                      what, " '", digits, "' is not a number in base ", base, " below 2^64");
    return value;
  }

  /// A token that may become a tag: letters, digits and signs that the CSV of traces can hold.
  [[nodiscard]] std::string_view word(std::size_t column, const char* what) const {
    const std::string_view token = values_[column];
    constexpr std::string_view letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_()-";
    const bool fits = !token.empty() && token.size() <= 32;
    HALOCLINE_EXPECTS(fits && token.find_first_not_of(letters) == std::string_view::npos, corrupt_data,
                      "RMM log line ", number_, ": ", what,
                      " is not a word of at most 32 letters and digits");
    return token;
  }

  fields values_;
  std::size_t number_;
};

/// Turns rows into events.
class importer {
 public:
  explicit importer(object_class cls) : cls_(cls), none_(result_.intern("-")), op_(result_.intern("rmm")) {}

  void add(const row_parser& row, std::size_t line) {
    advance(row.time());
    const std::uint64_t pointer = row.pointer();
    const std::uint64_t bytes = row.size();
    limits_.add("RMM log", line, 0, bytes);
    const std::string_view stream_name = row.stream();
    tag_ = result_.intern("thread " + std::string(row.thread()));
    if (row.action() == "allocate") {
      if (bytes != 0) allocate(pointer, bytes, stream_of(stream_name), line);
    } else if (row.action() == "free") {
      free(pointer, bytes, stream_of(stream_name), line);
    } else {
      HALOCLINE_EXPECTS(row.action() == "allocate failure", corrupt_data, "RMM log line ", line,
                        ": unknown action '", row.action(), "'; expected allocate, free or allocate failure");
    }
  }

  [[nodiscard]] trace take() { return std::move(result_); }

 private:
  struct block {
    std::uint64_t object = 0;
    std::uint64_t bytes = 0;
    std::uint32_t tag = 0;
  };

  void advance(std::uint64_t time_of_day) {
    if (!started_) last_of_day_ = time_of_day;
    started_ = true;
    if (time_of_day < last_of_day_) {
      if (last_of_day_ - time_of_day <= ns_per_day / 2) return;
      now_ += ns_per_day;
    }
    now_ = now_ + time_of_day - last_of_day_;
    last_of_day_ = time_of_day;
  }

  std::uint32_t stream_of(std::string_view name) {
    const auto next = static_cast<std::uint32_t>(streams_.size());
    return streams_.try_emplace(std::string(name), next).first->second;
  }

  void push(trace_action action, const block& of, std::uint32_t op, std::uint32_t stream) {
    result_.events.push_back({step_, of.object, of.bytes, 0, now_, stream, op, of.tag, action, cls_});
  }

  void allocate(std::uint64_t pointer, std::uint64_t bytes, std::uint32_t stream, std::size_t line) {
    const block made{next_object_, bytes, tag_};
    HALOCLINE_EXPECTS(live_.try_emplace(pointer, made).second, corrupt_data, "RMM log line ", line,
                      ": address ", pointer, " is allocated while it is live; was a free lost?");
    ++next_object_;
    push(trace_action::allocate, made, none_, stream);
    push(trace_action::write, made, op_, stream);
    ++step_;
  }

  void free(std::uint64_t pointer, std::uint64_t bytes, std::uint32_t stream, std::size_t line) {
    const auto found = live_.find(pointer);
    if (found == live_.end() && bytes == 0) return;
    block gone{next_object_, bytes, tag_};
    if (found != live_.end()) {
      gone = found->second;
      // Old versions of RMM did not pass the size on.
      HALOCLINE_EXPECTS(bytes == 0 || bytes == gone.bytes, corrupt_data, "RMM log line ", line, ": frees ",
                        bytes, " bytes of an allocation of ", gone.bytes);
      live_.erase(found);
    } else {
      ++next_object_;
      push(trace_action::exists, gone, none_, stream);
    }
    push(trace_action::read, gone, op_, stream);
    ++step_;
    push(trace_action::free, gone, none_, stream);
  }

  trace result_;
  trace_limits limits_;
  object_class cls_;
  std::uint32_t none_;
  std::uint32_t op_;
  std::uint32_t tag_ = 0;
  std::unordered_map<std::uint64_t, block> live_;
  std::unordered_map<std::string, std::uint32_t> streams_;
  std::uint64_t next_object_ = 1;
  std::uint64_t step_ = 0;
  std::uint64_t now_ = 0;
  std::uint64_t last_of_day_ = 0;
  bool started_ = false;
};

/// Gives every object of a trace an address and writes rows.
class exporter {
 public:
  explicit exporter(std::ostream& out) : out_(out) { out_ << rmm_log_header << '\n'; }

  void allocate(const trace_event& e, std::uint64_t time_ns) {
    const std::uint64_t room = last_address - next_;
    HALOCLINE_EXPECTS(e.bytes < room - std::min(room, address_alignment), invalid_argument,
                      "write_rmm_log: the sizes of all allocations together exceed 2^63 bytes");
    addresses_[e.object] = {next_, e.bytes};
    row("allocate", next_, e.bytes, e.stream, time_ns);
    next_ += (e.bytes + address_alignment - 1) / address_alignment * address_alignment;
  }

  void free(const trace_event& e) {
    const auto found = addresses_.find(e.object);
    if (found == addresses_.end()) return;
    row("free", found->second.first, found->second.second, e.stream, e.time_ns);
    addresses_.erase(found);
  }

 private:
  void row(const char* action, std::uint64_t address, std::uint64_t bytes, std::uint32_t stream,
           std::uint64_t time_ns) {
    const auto micros = static_cast<unsigned>(time_ns % ns_per_second / 1000);
    const auto seconds = static_cast<unsigned>(time_ns % ns_per_day / ns_per_second);
    std::array<char, 128> line{};
    std::snprintf(line.data(), line.size(), "1,%02u:%02u:%02u.%06u,%s,0x%llx,%llu,0x%x\n", seconds / 3600,
                  seconds / 60 % 60, seconds % 60, micros, action, static_cast<unsigned long long>(address),
                  static_cast<unsigned long long>(bytes), stream);
    out_ << line.data();
  }

  std::ostream& out_;
  std::unordered_map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> addresses_;
  std::uint64_t next_ = first_address;
};

}  // namespace

trace read_rmm_log(std::istream& in, object_class cls) {
  std::string line;
  const auto next_line = [&] {
    if (!std::getline(in, line)) return false;
    if (line.ends_with('\r')) line.pop_back();
    return true;
  };
  HALOCLINE_EXPECTS(next_line() && line == rmm_log_header, corrupt_data,
                    "not a log of RMM: the first line must be '", rmm_log_header, "'");
  importer rows(cls);
  for (std::size_t number = 2; next_line(); ++number) {
    if (!line.empty()) rows.add(row_parser(line, number), number);
  }
  return rows.take();
}

void write_rmm_log(const trace& source, std::ostream& out) {
  exporter rows(out);
  for (const trace_event& e : source.events) {
    if (e.action == trace_action::exists) rows.allocate(e, 0);
  }
  for (const trace_event& e : source.events) {
    if (e.action == trace_action::allocate) rows.allocate(e, e.time_ns);
    if (e.action == trace_action::free) rows.free(e);
  }
}

}  // namespace halocline::memory
