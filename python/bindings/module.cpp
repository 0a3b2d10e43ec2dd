// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "bindings.hpp"
#include "halocline/backend/registry.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/core/error.hpp"
#include "halocline/core/version.hpp"
#include "halocline/storage/key_store.hpp"

namespace halocline::python {
namespace {

void raise(const char* name, const char* message) {
  const nb::object type = nb::module_::import_("halocline.base.errors").attr(name);
  PyErr_SetString(type.ptr(), message);
}

/// Each C++ exception class has a Python class of its own, derived from halocline.Error.
void translate(const std::exception_ptr& thrown, void* /*unused*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const insecure_parameters& e) {
    raise("InsecureParameters", e.what());
  } catch (const key_mismatch& e) {
    raise("KeyMismatch", e.what());
  } catch (const invalid_argument& e) {
    raise("InvalidArgument", e.what());
  } catch (const level_exhausted& e) {
    raise("LevelExhausted", e.what());
  } catch (const scale_mismatch& e) {
    raise("ScaleMismatch", e.what());
  } catch (const missing_key& e) {
    raise("MissingKey", e.what());
  } catch (const out_of_memory& e) {
    raise("OutOfMemory", e.what());
  } catch (const corrupt_data& e) {
    raise("CorruptData", e.what());
  } catch (const storage::unknown_user& e) {
    raise("UnknownUser", e.what());
  } catch (const io_error& e) {
    raise("IoError", e.what());
  } catch (const device_error& e) {
    raise("DeviceError", e.what());
  } catch (const cancelled& e) {
    raise("Cancelled", e.what());
  } catch (const error& e) {
    raise("Error", e.what());
  } catch (const std::bad_alloc&) {
    raise("OutOfMemory",
          "the operating system gives no more memory; free objects or lower the budget (memory=)");
  }
}

}  // namespace

std::shared_ptr<domain> shared_domain(const params::parameters& parameters) {
  // Never destroyed: threads may be at work while the process ends.
  static fork_mutex& mutex = *new fork_mutex(fork_order::table);
  static auto& known = *new std::map<params::fingerprint_bytes, std::weak_ptr<domain>>;
  const std::scoped_lock lock(mutex);
  std::weak_ptr<domain>& entry = known[parameters.fingerprint()];
  std::shared_ptr<domain> found = entry.lock();
  if (!found || found->lost) {
    // Without NTT tables: a container that names large parameters costs little more than its own bytes.
    found = std::make_shared<domain>(
        ckks::make_context(parameters, backend::make_backend("cpu"), ring::transform_tables::later));
    entry = found;
  }
  return found;
}

}  // namespace halocline::python

NB_MODULE(_core, module) {
#ifdef NDEBUG
  // A report at exit is for developers: other packages' references (numpy keeps some after errors) cause it
  // too.
  nanobind::set_leak_warnings(false);
#endif
  namespace python = halocline::python;
  module.doc() = "Lower half of the package halocline; use the classes of halocline itself.";
  nanobind::register_exception_translator(python::translate);
  module.attr("version") = std::string(halocline::version());
  module.attr("commit") = std::string(halocline::commit());
  python::bind_params(module);
  python::bind_keys(module);
  python::bind_client(module);
  python::bind_memory_options(module);
  python::bind_engine(module);
  python::bind_plaintext(module);
  python::bind_trace(module);
  python::bind_sim(module);
  python::bind_plan(module);
  python::bind_memory(module);
  python::bind_bench(module);
  python::bind_device(module);
  python::bind_files(module);
  python::bind_io(module);
  python::bind_storage(module);
  python::bind_circuits(module);
  python::bind_bootstrap(module);
  python::bind_profile(module);
  python::bind_retrieval(module);
  python::bind_seal(module);
  python::expect_threads_at_exit();
}
