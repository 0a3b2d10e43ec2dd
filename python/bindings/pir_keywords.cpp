// SPDX-License-Identifier: Apache-2.0
// Tables that are looked up by key.
#include <functional>
#include <memory>
#include <utility>

#include "halocline/pir/keyword_builder.hpp"
#include "halocline/pir/keyword_choice.hpp"
#include "halocline/pir/keyword_table.hpp"
#include "pir.hpp"

namespace halocline::python {
namespace {

using pir::keyword_layout;

keyword_layout choose(const pir::parameters& scheme, std::uint64_t keys, std::uint64_t max_value_bytes,
                      double spare, bool movable, const std::string& device, unsigned threads,
                      std::uint32_t batch, unsigned hashes) {
  pir::keyword_request request;
  request.keys = keys;
  request.max_value_bytes = max_value_bytes;
  request.spare = spare;
  request.movable = movable;
  request.retrieval.batch = batch;
  request.retrieval.rates = pir::rates_of(device, threads);
  request.hashes = unless_zero(hashes);
  return pir::choose_keyword_layout(scheme, request).table;
}

nb::dict about_layout(const keyword_layout& at) {
  nb::dict out;
  out["hashes"] = at.hashes;
  out["slots"] = at.slots;
  out["tag_bytes"] = at.tag_bytes;
  out["max_value_bytes"] = at.max_value_bytes;
  out["buckets"] = at.buckets;
  out["bucket_bytes"] = at.bucket_bytes();
  out["log2_false_positive"] = at.log2_false_positive();
  return out;
}

std::optional<nb::bytes> find(const keyword_layout& at, const std::vector<nb::bytes>& buckets,
                              const nb::bytes& key) {
  std::vector<std::vector<std::byte>> copies;
  for (const nb::bytes& each : buckets) {
    const auto from = span_of(each);
    copies.emplace_back(from.begin(), from.end());
  }
  const auto found = pir::find_entry(at, copies, span_of(key));
  if (!found) return std::nullopt;
  return to_bytes(*found);
}

struct bound_builder {
  std::unique_ptr<pir::keyword_builder> value;
  /// What a call of `place` tells its progress, which lives no longer.
  std::shared_ptr<std::function<void(std::uint64_t, std::uint64_t)>> tell;
};

bound_builder make_builder(const keyword_layout& at) {
  bound_builder made;
  made.tell = std::make_shared<std::function<void(std::uint64_t, std::uint64_t)>>();
  pir::keyword_build_options options;
  options.progress = [tell = made.tell](std::uint64_t done, std::uint64_t total) {
    if (*tell) (*tell)(done, total);
  };
  made.value = std::make_unique<pir::keyword_builder>(at, std::move(options));
  return made;
}

keyword_layout place(bound_builder& self, const nb::object& progress) {
  const released meanwhile;
  *self.tell = progress_of(progress);
  try {
    keyword_layout found = self.value->place();
    *self.tell = nullptr;
    return found;
  } catch (...) {
    *self.tell = nullptr;
    throw;
  }
}

/// Passes the table on in pieces of about 4 MiB.
void write_table(bound_builder& self, const nb::object& sink) {
  const released meanwhile;
  self.value->write([&sink](std::uint64_t /*first*/, std::span<const std::byte> bytes) {
    call_python([&] {
      const nb::gil_scoped_acquire inside;
      sink(to_bytes(bytes));
    });
  });
}

/// Buckets that Python reads and writes.
pir::bucket_access access_of(const nb::object& read, const nb::object& write) {
  return {
      [&read](std::uint64_t bucket) {
        const auto got = nb::cast<nb::bytes>(read(bucket));
        const auto from = span_of(got);
        return std::vector<std::byte>(from.begin(), from.end());
      },
      [&write](std::uint64_t bucket, std::span<const std::byte> bytes) { write(bucket, to_bytes(bytes)); }};
}

void bind_updates(nb::module_& module) {
  module.def(
      "keyword_insert",
      [](const keyword_layout& at, const nb::object& read, const nb::object& write, const nb::bytes& key,
         const nb::bytes& value) { pir::insert(at, access_of(read, write), span_of(key), span_of(value)); },
      nb::arg("layout"), nb::arg("read"), nb::arg("write"), nb::arg("key"), nb::arg("value"));
  module.def(
      "keyword_replace",
      [](const keyword_layout& at, const nb::object& read, const nb::object& write, const nb::bytes& key,
         const nb::bytes& value) {
        return pir::replace(at, access_of(read, write), span_of(key), span_of(value));
      },
      nb::arg("layout"), nb::arg("read"), nb::arg("write"), nb::arg("key"), nb::arg("value"));
  module.def(
      "keyword_erase",
      [](const keyword_layout& at, const nb::object& read, const nb::object& write, const nb::bytes& key) {
        return pir::erase(at, access_of(read, write), span_of(key));
      },
      nb::arg("layout"), nb::arg("read"), nb::arg("write"), nb::arg("key"));
}

}  // namespace

void bind_keyword_tables(nb::module_& module) {
  nb::class_<keyword_layout>(module, "KeywordLayout")
      .def_static("choose", choose, nb::arg("params"), nb::arg("keys"), nb::arg("max_value_bytes"),
                  nb::arg("spare"), nb::arg("movable"), nb::arg("device"), nb::arg("threads"),
                  nb::arg("batch"), nb::arg("hashes"), nb::call_guard<released>())
      .def_static(
          "from_json", [](const std::string& text) { return pir::keyword_layout_from_json(text); },
          nb::arg("text"))
      .def("to_json", [](const keyword_layout& at) { return pir::to_json(at); })
      .def("about", about_layout)
      .def(
          "candidates",
          [](const keyword_layout& at, const nb::bytes& key) {
            return pir::candidate_buckets(at, span_of(key));
          },
          nb::arg("key"))
      .def("find", find, nb::arg("buckets"), nb::arg("key"))
      .def("__eq__", [](const keyword_layout& a, const keyword_layout& b) { return a == b; });
  nb::class_<bound_builder>(module, "KeywordBuilder")
      .def_static("make", make_builder, nb::arg("layout"))
      .def(
          "add",
          [](bound_builder& self, const nb::bytes& key, const nb::bytes& value) {
            self.value->add(span_of(key), span_of(value));
          },
          nb::arg("key"), nb::arg("value"))
      .def("place", place, nb::arg("progress").none())
      .def("write", write_table, nb::arg("sink"));
  bind_updates(module);
}

}  // namespace halocline::python
