# SPDX-License-Identifier: Apache-2.0
# Extension module halocline._core. scikit-build-core drives this through pyproject.toml: it builds the target
# halocline_python and installs the component "python" into the package. The type stub is generated here and kept in
# python/halocline/_core.pyi (`make stubs`), where it ships with the package; a test compares it with the module.

add_custom_target(halocline_python)
file(GLOB binding_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/python/bindings/*.cpp")
if(NOT binding_sources)
  message(STATUS "No Python bindings to build")
  return()
endif()

find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
  OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE nanobind_result)
if(NOT nanobind_result EQUAL 0)
  message(FATAL_ERROR "nanobind is not installed for ${Python_EXECUTABLE}; run: make build")
endif()
find_package(nanobind CONFIG REQUIRED)

nanobind_add_module(_core NB_STATIC NOMINSIZE ${binding_sources})
target_include_directories(_core PRIVATE "${PROJECT_SOURCE_DIR}/python/bindings")
target_link_libraries(_core PRIVATE halocline halocline_operation_timing halocline_options)
halocline_join_files(_core)
set_target_properties(_core PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/python")
# The module exports its initialisation and nothing else. Without the list it would export what it links
# statically, libstdc++ among it where a compiler finds only libstdc++.a: the dynamic linker then mixes two copies
# of libstdc++ in one process, and streams of this module, of numpy or of torch crash.
set(halocline_export_list "${PROJECT_SOURCE_DIR}/cmake/python_exports.map")
function(halocline_limit_exports target)
  target_link_options(${target} PRIVATE "-Wl,--version-script=${halocline_export_list}")
  set_target_properties(${target} PROPERTIES LINK_DEPENDS "${halocline_export_list}")
endfunction()
halocline_limit_exports(_core)

# The same objects with static runtime libraries, for python/tests/test_module.py.
if(HALOCLINE_TESTS)
  add_library(halocline_static_runtime MODULE "$<TARGET_OBJECTS:_core>")
  target_link_libraries(halocline_static_runtime PRIVATE nanobind-static halocline halocline_operation_timing)
  target_link_options(halocline_static_runtime PRIVATE -static-libstdc++ -static-libgcc)
  halocline_limit_exports(halocline_static_runtime)
  set_target_properties(halocline_static_runtime PROPERTIES
    PREFIX "" OUTPUT_NAME _core SUFFIX ".${Python_SOABI}.so"
    LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/python_static")
endif()

nanobind_add_stub(_core_stub
  MODULE _core
  PYTHON_PATH "${CMAKE_BINARY_DIR}/python"
  OUTPUT "${CMAKE_BINARY_DIR}/python/_core.pyi"
  EXCLUDE_VALUES
  DEPENDS _core)
add_dependencies(halocline_python _core _core_stub)

install(TARGETS _core LIBRARY DESTINATION halocline COMPONENT python)
