// SPDX-License-Identifier: Apache-2.0
// Clients and servers of private retrieval.
#include <sodium.h>

#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>
#include <utility>

#include "halocline/backend/registry.hpp"
#include "halocline/io/atomic_file.hpp"
#include "halocline/io/file_map.hpp"
#include "halocline/pir/client.hpp"
#include "halocline/pir/group_server.hpp"
#include "halocline/pir/server.hpp"
#include "pir.hpp"

namespace halocline::python {
namespace {

struct bound_retriever {
  std::shared_ptr<retrieval_site> where;
  owned<pir::client> value;
};

/// A secret with its frame: two bits for each coefficient, of which there are at most 2^13.
constexpr std::uint64_t max_secret_bytes = 4096;

std::shared_ptr<retrieval_site> make_site(const std::string& device, unsigned threads,
                                          const memory::runtime_options& memory) {
  backend::backend_options options;
  options.threads = unless_zero(threads);
  options.memory = memory;
  return std::make_shared<retrieval_site>(backend::make_backend(device, options));
}

bound_retriever hold(const std::shared_ptr<retrieval_site>& where, pir::client made) {
  return {where, {new pir::client(std::move(made)), {where}}};
}

bound_retriever make_client(const pir::geometry& of, unsigned threads) {
  const released meanwhile;
  const auto where = make_site("cpu", threads, {});
  return hold(where, pir::client(of, where->device));
}

bound_retriever load_client(const pir::geometry& of, const std::string& path, unsigned threads) {
  const released meanwhile;
  const io::file_map file(path, max_secret_bytes);
  std::vector<std::byte> secret(file.bytes().size());
  file.read(0, secret);
  const auto wipe = [&secret] { sodium_memzero(secret.data(), secret.size()); };
  const auto where = make_site("cpu", threads, {});
  try {
    bound_retriever made = hold(where, pir::client::from_secret(of, secret, where->device));
    wipe();
    return made;
  } catch (...) {
    wipe();
    throw;
  }
}

void save_client(bound_retriever& self, const std::string& path) {
  locked(*self.where, [&] {
    std::vector<std::byte> secret = self.value->secret_bytes();
    const auto wipe = [&secret] { sodium_memzero(secret.data(), secret.size()); };
    try {
      io::atomic_file file(path, io::file_privacy::secret);
      file.append(secret);
      file.commit();
    } catch (...) {
      wipe();
      throw;
    }
    wipe();
  });
}

nb::bytes decode(bound_retriever& self, std::uint64_t record, const nb::bytes& query,
                 const nb::bytes& answer) {
  const auto asked = span_of(query), got = span_of(answer);
  return to_bytes(locked(*self.where, [&] { return self.value->decode(record, asked, got); }));
}

void bind_retriever(nb::module_& module) {
  nb::class_<bound_retriever>(module, "RetrievalClient")
      .def_static("make", make_client, nb::arg("geometry"), nb::arg("threads"))
      .def_static("load", load_client, nb::arg("geometry"), nb::arg("path"), nb::arg("threads"))
      .def("save", save_client, nb::arg("path"))
      .def_prop_ro("id", [](const bound_retriever& self) { return pir::to_string(self.value->id()); })
      .def("server_keys",
           [](bound_retriever& self) {
             return to_bytes(locked(*self.where, [&] { return self.value->server_keys(); }));
           })
      .def(
          "query",
          [](bound_retriever& self, std::uint64_t record) {
            return to_bytes(locked(*self.where, [&] { return self.value->query(record); }));
          },
          nb::arg("record"))
      .def("decode", decode, nb::arg("record"), nb::arg("query"), nb::arg("answer"));
}

struct bound_server {
  std::shared_ptr<retrieval_site> where;
  owned<pir::server> value;
};

struct loaded_keys {
  std::shared_ptr<retrieval_site> where;
  std::shared_ptr<const pir::server_keys> value;
};

pir::server_options options_of(bool raw, std::size_t scratch_bytes) {
  pir::server_options options;
  options.database.kept = raw ? pir::storage::raw : pir::storage::transformed;
  options.scratch_bytes = scratch_bytes;
  return options;
}

bound_server make_server(const pir::geometry& of, const bound_records& records, const std::string& device,
                         unsigned threads, std::size_t budget_bytes, const std::string& policy,
                         const memory::runtime_options& memory, bool raw, std::size_t scratch_bytes,
                         const nb::object& progress) {
  pir::server_options options = options_of(raw, scratch_bytes);
  options.database.progress = progress_of(progress);
  const memory::runtime_options chosen = with_budget(memory, budget_bytes, policy);
  const released meanwhile;
  const auto where = make_site(device, threads, chosen);
  return {where, {new pir::server(of, records.value, where->device, options), {where}}};
}

loaded_keys load_keys(bound_server& self, const nb::bytes& message) {
  const auto bytes = span_of(message);
  return {self.where, locked(*self.where, [&] { return self.value->load_keys(bytes); })};
}

nb::dict seconds_of(const pir::stage_times& times) {
  nb::dict out;
  out["expansion"] = times.expansion;
  out["completion"] = times.completion;
  out["rows"] = times.rows;
  out["columns"] = times.columns;
  out["answers"] = times.answers;
  return out;
}

/// What the plan of a batch did; None where there was none.
nb::object dict_of(const pir::plan_report& of) {
  if (of.expected == memory::plan::forecast{}) return nb::none();
  nb::dict out;
  out["followed"] = of.followed;
  out["reason"] = of.reason;
  out["seconds"] = of.expected.total_ns / 1e9;
  out["stall_seconds"] = of.expected.stall_ns / 1e9;
  out["loaded_bytes"] = of.expected.loaded_bytes;
  out["written_bytes"] = of.expected.written_bytes;
  out["encoded_bytes"] = of.expected.encoded_bytes;
  out["minimum_bytes"] = of.expected.minimum_bytes;
  return out;
}

/// Bytes that moved between two moments.
nb::dict moved_bytes(const memory::movement& before, const memory::movement& after) {
  nb::dict out;
  out["loaded"] = after.loaded_bytes - before.loaded_bytes;
  out["written"] = after.written_bytes - before.written_bytes;
  out["encoded"] = after.encoded_bytes - before.encoded_bytes;
  return out;
}

using answered = std::tuple<std::vector<nb::bytes>, nb::dict, nb::dict, nb::object>;

/// Answers, the seconds of the stages, the bytes that moved, and what a plan did.
answered answer(bound_server& self, const std::vector<const loaded_keys*>& keys,
                const std::vector<nb::bytes>& queries) {
  std::vector<std::shared_ptr<const pir::server_keys>> owners;
  for (const loaded_keys* each : keys) owners.push_back(each->value);
  std::vector<std::span<const std::byte>> asked;
  for (const nb::bytes& each : queries) asked.push_back(span_of(each));
  pir::stage_times times;
  pir::plan_report plan;
  memory::movement before, after;
  const auto made = locked(*self.where, [&] {
    const memory::runtime& runtime = self.where->device->runtime();
    before = runtime.statistics().moved;
    auto answers = self.value->answer(owners, asked);
    times = self.value->times();
    plan = self.value->last_plan();
    after = runtime.statistics().moved;
    return answers;
  });
  std::vector<nb::bytes> out;
  for (const std::vector<std::byte>& each : made) out.push_back(to_bytes(each));
  return {std::move(out), seconds_of(times), moved_bytes(before, after), dict_of(plan)};
}

void refresh(bound_server& self, std::uint64_t record) {
  locked(*self.where, [&] { self.value->records().refresh(record); });
}

nb::dict dict_of(const memory::stats& s) {
  nb::dict out;
  out["live_bytes"] = s.live_bytes;
  out["peak_bytes"] = s.peak_bytes;
  out["fast_bytes"] = s.fast_bytes;
  out["peak_fast_bytes"] = s.peak_fast_bytes;
  return out;
}

nb::dict memory_of(const bound_server& self) { return dict_of(self.where->device->runtime().statistics()); }

void bind_server(nb::module_& module) {
  nb::class_<loaded_keys>(module, "RetrievalServerKeys").def_prop_ro("nbytes", [](const loaded_keys& self) {
    return self.value->rows.size();
  });
  nb::class_<bound_server>(module, "RetrievalServer")
      .def_static("make", make_server, nb::arg("geometry"), nb::arg("records"), nb::arg("device"),
                  nb::arg("threads"), nb::arg("budget_bytes"), nb::arg("policy"), nb::arg("memory"),
                  nb::arg("raw"), nb::arg("scratch_bytes"), nb::arg("progress").none())
      .def("load_keys", load_keys, nb::arg("data"))
      .def("answer", answer, nb::arg("keys"), nb::arg("queries"))
      .def("refresh", refresh, nb::arg("record"))
      .def(
          "time_stages",
          [](bound_server& self, bool timed) {
            locked(*self.where, [&] { self.value->time_stages(timed); });
          },
          nb::arg("timed"))
      .def("memory", memory_of);
}

/// A server on several devices. The first site has its lock.
struct bound_group {
  std::vector<std::shared_ptr<retrieval_site>> where;
  owned<pir::group_server> value;
};

struct loaded_group_keys {
  std::vector<std::shared_ptr<retrieval_site>> where;
  std::shared_ptr<pir::group_keys> value;
};

bound_group make_group(const pir::geometry& of, const bound_records& records,
                       const std::vector<std::string>& devices, unsigned threads, std::size_t budget_bytes,
                       const std::string& policy, const memory::runtime_options& memory, bool raw,
                       std::size_t scratch_bytes, bool columns) {
  const pir::server_options options = options_of(raw, scratch_bytes);
  const memory::runtime_options chosen = with_budget(memory, budget_bytes, policy);
  const released meanwhile;
  bound_group made;
  std::vector<std::shared_ptr<backend::backend>> backends;
  for (const std::string& each : devices) {
    made.where.push_back(make_site(each, threads, chosen));
    backends.push_back(made.where.back()->device);
  }
  const pir::spread how = columns ? pir::spread::columns : pir::spread::replicas;
  auto server = std::make_unique<pir::group_server>(of, records.value, std::move(backends), how, options);
  made.value = {server.release(), {made.where.at(0)}};
  return made;
}

loaded_group_keys load_group_keys(bound_group& self, const nb::bytes& message) {
  const auto bytes = span_of(message);
  return {self.where, locked(*self.where[0], [&] { return self.value->load_keys(bytes); })};
}

/// Bytes that moved so far on all devices together.
memory::movement moved_in(const bound_group& self) {
  memory::movement sum;
  for (const auto& each : self.where) {
    const memory::movement moved = each->device->runtime().statistics().moved;
    sum.loaded_bytes += moved.loaded_bytes;
    sum.written_bytes += moved.written_bytes;
    sum.encoded_bytes += moved.encoded_bytes;
  }
  return sum;
}

/// Answers; stages are not timed, because those of several devices overlap. Groups follow no plans.
answered answer_in_group(bound_group& self, const std::vector<const loaded_group_keys*>& keys,
                         const std::vector<nb::bytes>& queries) {
  std::vector<std::shared_ptr<pir::group_keys>> owners;
  for (const loaded_group_keys* each : keys) owners.push_back(each->value);
  std::vector<std::span<const std::byte>> asked;
  for (const nb::bytes& each : queries) asked.push_back(span_of(each));
  memory::movement before, after;
  const auto made = locked(*self.where[0], [&] {
    before = moved_in(self);
    auto answers = self.value->answer(owners, asked);
    after = moved_in(self);
    return answers;
  });
  std::vector<nb::bytes> out;
  for (const std::vector<std::byte>& each : made) out.push_back(to_bytes(each));
  return {std::move(out), nb::dict(), moved_bytes(before, after), nb::none()};
}

/// Of all devices together.
nb::dict memory_of_group(const bound_group& self) {
  memory::stats sum;
  for (const auto& each : self.where) {
    const memory::stats s = each->device->runtime().statistics();
    sum.live_bytes += s.live_bytes;
    sum.peak_bytes += s.peak_bytes;
    sum.fast_bytes += s.fast_bytes;
    sum.peak_fast_bytes += s.peak_fast_bytes;
  }
  return dict_of(sum);
}

void bind_group(nb::module_& module) {
  nb::class_<loaded_group_keys>(module, "RetrievalGroupKeys")
      .def_prop_ro("nbytes", [](const loaded_group_keys& self) { return self.value->loaded_bytes(); });
  nb::class_<bound_group>(module, "RetrievalGroup")
      .def_static("make", make_group, nb::arg("geometry"), nb::arg("records"), nb::arg("devices"),
                  nb::arg("threads"), nb::arg("budget_bytes"), nb::arg("policy"), nb::arg("memory"),
                  nb::arg("raw"), nb::arg("scratch_bytes"), nb::arg("columns"))
      .def("load_keys", load_group_keys, nb::arg("data"))
      .def("answer", answer_in_group, nb::arg("keys"), nb::arg("queries"))
      .def(
          "refresh",
          [](bound_group& self, std::uint64_t record) {
            locked(*self.where[0], [&] { self.value->refresh(record); });
          },
          nb::arg("record"))
      .def("memory", memory_of_group)
      .def_prop_ro("link", [](const bound_group& self) { return std::string(self.value->link()); });
}

}  // namespace

void bind_retrieval_parties(nb::module_& module) {
  bind_retriever(module);
  bind_server(module);
  bind_group(module);
}

}  // namespace halocline::python
