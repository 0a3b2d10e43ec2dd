// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/trace.hpp"

#include <array>
#include <charconv>
#include <istream>
#include <ostream>
#include <string>

#include "halocline/core/expects.hpp"
#include "memory/trace_limits.hpp"

namespace halocline::memory {
namespace {

constexpr std::string_view header = "step,op,action,object,class,bytes,offset,stream,time_ns,tag";
constexpr std::array<std::string_view, 5> action_names{"allocate", "free", "read", "write", "exists"};
constexpr std::array<std::string_view, 3> recovery_names{"-", "expand", "encode"};
constexpr std::size_t column_count = 10;
/// Largest step and time. Differences and sums of what a trace says are taken in 64 bits with a sign.
constexpr std::uint64_t max_count = std::uint64_t{1} << 62;

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> fields;
  std::size_t begin = 0;
  while (fields.size() + 1 < column_count) {
    const std::size_t comma = line.find(',', begin);
    if (comma == std::string_view::npos) break;
    fields.push_back(line.substr(begin, comma - begin));
    begin = comma + 1;
  }
  fields.push_back(line.substr(begin));
  return fields;
}

std::uint64_t parse_number(std::string_view field, std::size_t line) {
  std::uint64_t value = 0;
  const auto [end, status] = std::from_chars(field.data(), field.data() + field.size(), value);
  HALOCLINE_EXPECTS(status == std::errc{} && end == field.data() + field.size(), corrupt_data, "trace line ",
                    line, ": '", field, "' is not a non-negative integer");
  return value;
}

std::uint64_t parse_count(std::string_view field, std::size_t line, std::string_view what) {
  const std::uint64_t value = parse_number(field, line);
  HALOCLINE_EXPECTS(value <= max_count, corrupt_data, "trace line ", line, ": ", what, " ", value,
                    " is above 2^62");
  return value;
}

std::uint32_t parse_stream(std::string_view field, std::size_t line) {
  const std::uint64_t value = parse_number(field, line);
  HALOCLINE_EXPECTS(value <= 0xFFFFFFFFU, corrupt_data, "trace line ", line, ": stream ", value,
                    " is above 2^32 - 1");
  return static_cast<std::uint32_t>(value);
}

trace_action parse_action(std::string_view field, std::size_t line) {
  for (std::size_t i = 0; i < action_names.size(); ++i) {
    if (action_names[i] == field) return static_cast<trace_action>(i);
  }
  throw corrupt_data(text("trace line ", line, ": unknown action '", field,
                          "'; expected allocate, free, read, write or exists"));
}

object_class parse_class(std::string_view field, std::size_t line) {
  for (std::size_t i = 0; i < object_class_count; ++i) {
    if (to_string(static_cast<object_class>(i)) == field) return static_cast<object_class>(i);
  }
  throw corrupt_data(text("trace line ", line, ": unknown object class '", field, "'"));
}

}  // namespace

std::string_view to_string(trace_action action) noexcept {
  return action_names[static_cast<std::size_t>(action)];
}

std::string_view to_string(recovery kind) noexcept { return recovery_names[static_cast<std::size_t>(kind)]; }

std::uint32_t trace::intern(std::string_view text) {
  if (const auto found = numbers_.find(text); found != numbers_.end()) return found->second;
  const auto number = static_cast<std::uint32_t>(names.size());
  names.emplace_back(text);
  numbers_.emplace(text, number);
  return number;
}

void trace::write_csv(std::ostream& out) const {
  out << header << '\n';
  for (const trace_event& e : events) {
    out << e.step << ',' << op(e) << ',' << to_string(e.action) << ',' << e.object << ',' << to_string(e.cls)
        << ',' << e.bytes << ',' << e.offset << ',' << e.stream << ',' << e.time_ns << ',' << tag(e) << '\n';
  }
}

trace trace::read_csv(std::istream& in, std::size_t rows) {
  std::string line;
  HALOCLINE_EXPECTS(static_cast<bool>(std::getline(in, line)) && line == header, corrupt_data,
                    "not a Halocline trace: the first line must be '", header, "'");
  trace result;
  result.events.reserve(rows);
  trace_limits limits;
  for (std::size_t number = 2; std::getline(in, line); ++number) {
    const std::vector<std::string_view> f = split(line);
    HALOCLINE_EXPECTS(f.size() == column_count, corrupt_data, "trace line ", number, ": ", f.size(),
                      " columns, expected ", column_count);
    trace_event e;
    e.step = parse_count(f[0], number, "step");
    e.op = result.intern(f[1]);
    e.action = parse_action(f[2], number);
    e.object = parse_number(f[3], number);
    e.cls = parse_class(f[4], number);
    e.bytes = parse_number(f[5], number);
    e.offset = parse_number(f[6], number);
    limits.add("trace", number, e.offset, e.bytes);
    e.stream = parse_stream(f[7], number);
    e.time_ns = parse_count(f[8], number, "time");
    e.tag = result.intern(f[9]);
    HALOCLINE_EXPECTS(result.names.size() <= max_names, corrupt_data, "trace line ", number, ": more than ",
                      max_names, " different texts in columns op and tag");
    result.events.push_back(e);
  }
  return result;
}

}  // namespace halocline::memory
