// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "bindings.hpp"
#include "halocline/io/atomic_file.hpp"
#include "halocline/io/file_map.hpp"

namespace halocline::python {
namespace {

/// The first `count` bytes of a regular file of at most `limit` bytes, or all of them. The bytes object is
/// made for exactly that many, after the checks.
nb::bytes read_file(const std::string& path, std::uint64_t limit, std::optional<std::uint64_t> count) {
  io::file_map file;
  {
    const released meanwhile;
    file = io::file_map(path, limit);
  }
  const std::size_t size = file.bytes().size();
  const std::size_t wanted = std::min<std::uint64_t>(size, count.value_or(size));
  PyObject* const made = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(wanted));
  if (made == nullptr) throw nb::python_error();
  const auto owner = nb::steal<nb::bytes>(made);
  const std::span<char> room(PyBytes_AS_STRING(made), wanted);
  {
    const released meanwhile;
    file.read(0, std::as_writable_bytes(room));
  }
  return owner;
}

void write_file(const std::string& path, const nb::bytes& content, io::file_privacy privacy) {
  const std::span<const char> bytes(content.c_str(), content.size());
  const released meanwhile;
  io::atomic_file file(path, privacy);
  file.append(std::as_bytes(bytes));
  file.commit();
}

}  // namespace

void bind_files(nb::module_& module) {
  nb::enum_<io::file_privacy>(module, "FilePrivacy")
      .value("SHARED", io::file_privacy::shared)
      .value("OWNER", io::file_privacy::owner)
      .value("SECRET", io::file_privacy::secret);
  module.def("read_file", read_file, nb::arg("path"), nb::arg("limit"), nb::arg("count").none());
  module.def("write_file", write_file, nb::arg("path"), nb::arg("content"), nb::arg("privacy"));
}

}  // namespace halocline::python
