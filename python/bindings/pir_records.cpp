// SPDX-License-Identifier: Apache-2.0
// Records of private retrieval: in memory and in files.
#include "halocline/core/expects.hpp"
#include "halocline/pir/record_file.hpp"
#include "pir.hpp"

namespace halocline::python {
namespace {

bound_records memory_records(const byte_array& bytes) {
  const released meanwhile;
  const std::span<const std::byte> from = span_of(bytes);
  return {pir::make_memory_records({from.begin(), from.end()})};
}

bound_records open_records(const std::string& path, bool allow_insecure) {
  const released meanwhile;
  return {pir::open_record_file(path, allow_insecure)};
}

const pir::record_file& file_of(const bound_records& self) {
  const auto* const found = dynamic_cast<const pir::record_file*>(self.value.get());
  HALOCLINE_EXPECTS(found != nullptr, invalid_argument, "records in memory have no file");
  return *found;
}

nb::bytes read(const bound_records& self, std::uint64_t offset, std::uint64_t count) {
  PyObject* const made = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(count));
  if (made == nullptr) throw nb::python_error();
  const auto owner = nb::steal<nb::bytes>(made);
  const std::span<char> room(PyBytes_AS_STRING(made), count);
  const released meanwhile;
  self.value->read(offset, std::as_writable_bytes(room));
  return owner;
}

void write(const bound_records& self, std::uint64_t offset, const nb::bytes& bytes) {
  const std::span<const std::byte> from = span_of(bytes);
  const released meanwhile;
  self.value->write(offset, from);
}

void verify(const bound_records& self, const nb::object& progress) {
  const pir::record_file& file = file_of(self);
  const auto tell = progress_of(progress);
  const released meanwhile;
  file.verify(tell);
}

/// Records of a file that other records are written to.
struct bound_writer {
  std::unique_ptr<pir::record_file_writer> value;
};

bound_writer make_writer(const std::string& path, const pir::geometry& of, const std::string& note) {
  const released meanwhile;
  return {std::make_unique<pir::record_file_writer>(path, of, pir::record_range{}, note)};
}

pir::record_file_writer& open(const bound_writer& self) {
  HALOCLINE_EXPECTS(self.value != nullptr, invalid_argument, "the record file is finished");
  return *self.value;
}

void append(bound_writer& self, const byte_array& bytes) {
  const std::span<const std::byte> from = span_of(bytes);
  pir::record_file_writer& to = open(self);
  const released meanwhile;
  to.append(from);
}

void finish(bound_writer& self) {
  pir::record_file_writer& to = open(self);
  const released meanwhile;
  to.finish();
}

}  // namespace

void bind_retrieval_records(nb::module_& module) {
  nb::class_<bound_records>(module, "RetrievalRecords")
      .def_static("in_memory", memory_records, nb::arg("data"))
      .def_static("open", open_records, nb::arg("path"), nb::arg("allow_insecure"))
      .def_prop_ro("geometry", [](const bound_records& self) { return file_of(self).shape(); })
      .def_prop_ro("note", [](const bound_records& self) { return file_of(self).note(); })
      .def_prop_ro("nbytes", [](const bound_records& self) { return self.value->bytes(); })
      .def("read", read, nb::arg("offset"), nb::arg("count"))
      .def("write", write, nb::arg("offset"), nb::arg("data"))
      .def("verify", verify, nb::arg("progress").none());
  nb::class_<bound_writer>(module, "RetrievalWriter")
      .def_static("make", make_writer, nb::arg("path"), nb::arg("geometry"), nb::arg("note"))
      .def("append", append, nb::arg("data"))
      .def("finish", finish)
      .def("discard", [](bound_writer& self) {
        const released meanwhile;
        self.value.reset();
      });
}

}  // namespace halocline::python
