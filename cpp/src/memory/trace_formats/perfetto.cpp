// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/trace_formats/perfetto.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <ostream>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "halocline/core/expects.hpp"
#include "halocline/core/json.hpp"

namespace halocline::memory {
namespace {

/// For each event the time of the first later event with another time; the last time for the last ones.
std::vector<std::uint64_t> next_times(const std::vector<trace_event>& events) {
  std::vector<std::uint64_t> next(events.size());
  for (std::size_t i = events.size(); i-- > 0;) {
    const bool last = i + 1 == events.size();
    if (last) {
      next[i] = events[i].time_ns;
    } else {
      next[i] = events[i + 1].time_ns > events[i].time_ns ? events[i + 1].time_ns : next[i + 1];
    }
  }
  return next;
}

/// Collects the steps of a trace as spans.
class step_collector {
 public:
  explicit step_collector(timeline& out) : out_(out) {}

  void add(const trace_event& e, std::uint64_t end_ns) {
    const bool same_step = open_ && e.step == step_ && e.stream == stream_ && e.op == op_;
    if (!same_step) {
      step_ = e.step;
      stream_ = e.stream;
      op_ = e.op;
      open_ = true;
      out_.spans.push_back({track_of(e.stream), e.op, e.time_ns, std::max(end_ns, e.time_ns), 0});
    }
    timeline_span& span = out_.spans.back();
    span.bytes += e.bytes;
    span.end_ns = std::max(span.end_ns, end_ns);
  }

 private:
  std::uint32_t track_of(std::uint32_t stream) {
    const auto [found, fresh] = tracks_.try_emplace(stream, static_cast<std::uint32_t>(out_.tracks.size()));
    if (fresh) out_.tracks.push_back("stream " + std::to_string(stream));
    return found->second;
  }

  timeline& out_;
  std::map<std::uint32_t, std::uint32_t> tracks_;
  std::uint64_t step_ = 0;
  std::uint32_t stream_ = 0;
  std::uint32_t op_ = 0;
  bool open_ = false;
};

/// Follows the live bytes of every class; several changes at one time leave one sample.
class live_counter {
 public:
  explicit live_counter(timeline& out) : out_(out) {
    for (std::size_t i = 0; i < object_class_count; ++i) {
      out_.counters.push_back("live bytes: " + std::string(to_string(static_cast<object_class>(i))));
    }
  }

  void add(const trace_event& e) {
    if (e.action == trace_action::exists) return;  // counted before the first event
    if (e.action == trace_action::allocate) change(e, e.bytes, true);
    if (e.action == trace_action::free && known_.contains(e.object)) change(e, e.bytes, false);
  }

  void begin(const trace& source) {
    for (const trace_event& e : source.events) {
      if (e.action == trace_action::exists) count(e, e.bytes, true);
    }
    const std::uint64_t first = source.events.empty() ? 0 : source.events.front().time_ns;
    for (std::uint32_t cls = 0; cls < object_class_count; ++cls) {
      out_.samples.push_back({cls, first, live_[cls]});
      latest_[cls] = out_.samples.size() - 1;
    }
  }

 private:
  void count(const trace_event& e, std::uint64_t bytes, bool more) {
    std::uint64_t& live = live_[static_cast<std::size_t>(e.cls)];
    live = more ? live + bytes : live - std::min(live, bytes);
    if (more) {
      known_.insert(e.object);
    } else {
      known_.erase(e.object);
    }
  }

  void change(const trace_event& e, std::uint64_t bytes, bool more) {
    count(e, bytes, more);
    const auto cls = static_cast<std::size_t>(e.cls);
    if (out_.samples[latest_[cls]].time_ns == e.time_ns) {
      out_.samples[latest_[cls]].value = live_[cls];
      return;
    }
    out_.samples.push_back({static_cast<std::uint32_t>(cls), e.time_ns, live_[cls]});
    latest_[cls] = out_.samples.size() - 1;
  }

  timeline& out_;
  std::array<std::uint64_t, object_class_count> live_{};
  std::array<std::size_t, object_class_count> latest_{};
  std::unordered_set<std::uint64_t> known_;
};

/// Microseconds with three decimals, exactly.
std::string micros(std::uint64_t ns) {
  std::string text = std::to_string(ns / 1000);
  if (ns % 1000 != 0) {
    const std::string rest = std::to_string(1000 + ns % 1000);
    text += "." + rest.substr(1);
  }
  return text;
}

/// JSON texts of a table of names, so that each is escaped once. Tags may hold any byte, JSON must be UTF-8.
std::vector<std::string> quoted(const std::vector<std::string>& texts) {
  std::vector<std::string> result;
  result.reserve(texts.size());
  for (std::string each : texts) {
    std::replace_if(
        each.begin(), each.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80U; }, '?');
    result.push_back(json::write(json::value(std::move(each))));
  }
  return result;
}

void write_tracks(const timeline& source, std::ostream& out) {
  const std::vector<std::string> tracks = quoted(source.tracks);
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    const std::string begin = ",\n{\"ph\":\"M\",\"pid\":1,\"tid\":" + std::to_string(i);
    out << begin << R"(,"name":"thread_name","args":{"name":)" << tracks[i] << "}}";
    out << begin << R"(,"name":"thread_sort_index","args":{"sort_index":)" << i << "}}";
  }
}

void write_spans(const timeline& source, std::ostream& out) {
  const std::vector<std::string> names = quoted(source.names);
  for (const timeline_span& each : source.spans) {
    HALOCLINE_EXPECTS(each.track < source.tracks.size() && each.name < names.size(), invalid_argument,
                      "write_perfetto: a span names track ", each.track, " of ", source.tracks.size(),
                      " and name ", each.name, " of ", names.size());
    HALOCLINE_EXPECTS(each.end_ns >= each.begin_ns, invalid_argument, "write_perfetto: a span ends at ",
                      each.end_ns, " ns, before its begin at ", each.begin_ns, " ns");
    out << ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":" << each.track << ",\"ts\":" << micros(each.begin_ns)
        << ",\"dur\":" << micros(each.end_ns - each.begin_ns) << ",\"name\":" << names[each.name];
    if (each.bytes != 0) out << ",\"args\":{\"bytes\":" << each.bytes << "}";
    out << "}";
  }
}

void write_samples(const timeline& source, std::ostream& out) {
  const std::vector<std::string> counters = quoted(source.counters);
  for (const timeline_sample& each : source.samples) {
    HALOCLINE_EXPECTS(each.counter < counters.size(), invalid_argument,
                      "write_perfetto: a sample names counter ", each.counter, " of ", counters.size());
    out << ",\n{\"ph\":\"C\",\"pid\":1,\"ts\":" << micros(each.time_ns)
        << ",\"name\":" << counters[each.counter] << ",\"args\":{\"bytes\":" << each.value << "}}";
  }
}

}  // namespace

timeline make_timeline(const trace& source) {
  timeline result;
  result.names = source.names;
  const std::vector<std::uint64_t> ends = next_times(source.events);
  step_collector steps(result);
  live_counter live(result);
  live.begin(source);
  for (std::size_t i = 0; i < source.events.size(); ++i) {
    const trace_event& e = source.events[i];
    live.add(e);
    if (e.action == trace_action::read || e.action == trace_action::write) steps.add(e, ends[i]);
  }
  return result;
}

void write_perfetto(const timeline& source, std::ostream& out) {
  out << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
      << R"({"ph":"M","pid":1,"name":"process_name","args":{"name":"halocline"}})";
  write_tracks(source, out);
  write_spans(source, out);
  write_samples(source, out);
  out << "\n]}\n";
}

}  // namespace halocline::memory
