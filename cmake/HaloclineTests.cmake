# SPDX-License-Identifier: Apache-2.0
# One executable per folder of cpp/tests, which takes the usual --gtest_filter. CTest starts it once for each half of its
# tests, so that two processors are busy: a process per test case would cost more than the tests.

find_package(GTest REQUIRED)

# halocline_add_tests(<folder>): cpp/tests/<folder>/**/test_*.cpp plus helper sources -> halocline_<folder>_tests.
function(halocline_add_tests folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cpp/tests/${folder}/*.cpp")
  if(HALOCLINE_TEST_FILTER)
    list(FILTER sources INCLUDE REGEX "${HALOCLINE_TEST_FILTER}|/[^/]*support[^/]*\\.cpp$")
  endif()
  if(NOT sources)
    message(STATUS "No C++ ${folder} tests to build")
    return()
  endif()
  set(target "halocline_${folder}_tests")
  add_executable(${target} ${sources})
  target_include_directories(${target} PRIVATE
    "${PROJECT_SOURCE_DIR}/cpp/src" "${PROJECT_SOURCE_DIR}/cpp/tests" "${PROJECT_SOURCE_DIR}/cpp/tests/${folder}")
  # The library is optimised; its tests need to compile quickly, all the more with sanitizers, which triple what an
  # optimiser has to do. The conformance suite compares with slow reference code and is worth optimising.
  if(HALOCLINE_SANITIZE AND NOT folder STREQUAL "conformance")
    target_compile_options(${target} PRIVATE -O0)
  else()
    target_compile_options(${target} PRIVATE -O1)
  endif()
  if(HALOCLINE_FUZZ)  # fuzzers do not run them, and counting what runs takes a quarter of the time to compile
    target_compile_options(${target} PRIVATE -fno-sanitize=fuzzer-no-link)
  endif()
  # A third of the time of a test goes into these headers, which are compiled once for each executable.
  target_precompile_headers(${target} PRIVATE <gmock/gmock.h> <gtest/gtest.h> <algorithm> <array> <cmath> <complex>
    <functional> <map> <memory> <random> <span> <string> <vector>)
  # Joined files are linked first: inline functions without an optimiser would take the place of those of the kernels below.
  if(NOT (HALOCLINE_SANITIZE AND folder STREQUAL "unit"))
    halocline_join_files(${target} "/test_cuda_")  # large ones
  endif()
  target_link_libraries(${target} PRIVATE halocline halocline_options halocline_operation_timing halocline_cli11 PkgConfig::sodium
    GTest::gmock GTest::gtest GTest::gtest_main)
  foreach(half 0 1)
    add_test(NAME ${folder}_${half} COMMAND ${target} WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
    set_tests_properties(${folder}_${half} PROPERTIES LABELS ${folder} TIMEOUT 1800
      ENVIRONMENT "GTEST_TOTAL_SHARDS=2;GTEST_SHARD_INDEX=${half}")
  endforeach()
endfunction()

# Their references round as the library does (see HaloclineLibrary.cmake).
set_source_files_properties(
  "${PROJECT_SOURCE_DIR}/cpp/tests/conformance/backend_ops/test_client_ops.cpp"
  "${PROJECT_SOURCE_DIR}/cpp/tests/unit/test_cuda_slot_tile.cpp"
  PROPERTIES COMPILE_OPTIONS -ffp-contract=off SKIP_PRECOMPILE_HEADERS ON)

# Kernels that run thread by thread here. With sanitizers these take longer unoptimised than their compilation does with
# an optimiser; for the others it is the other way round.
if(HALOCLINE_SANITIZE)
  set(optimised kernels retrieval_fused row_select_mma row_select_warpgroup)
  list(TRANSFORM optimised REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/cpp/tests/unit/test_cuda_\\1.cpp")
  set_property(SOURCE ${optimised} APPEND PROPERTY COMPILE_OPTIONS -O1)
  set_source_files_properties(${optimised} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endif()

foreach(folder unit conformance property sycl)  # sycl: skipped, test by test, where no runtime is named
  halocline_add_tests(${folder})
endforeach()
if(HALOCLINE_SEAL)
  halocline_add_tests(compat_seal)
  if(TARGET halocline_compat_seal_tests)
    target_link_libraries(halocline_compat_seal_tests PRIVATE HaloclineSeal)
    target_include_directories(halocline_compat_seal_tests PRIVATE "${PROJECT_SOURCE_DIR}/cpp/compat/seal/src")
    if(Python_EXECUTABLE)  # tests that ask another implementation of SEAL; they skip without it
      set_property(TEST compat_seal_0 compat_seal_1 APPEND PROPERTY ENVIRONMENT "HALOCLINE_PYTHON=${Python_EXECUTABLE}")
    endif()
  endif()
endif()
if(HALOCLINE_CUDA)
  halocline_add_tests(gpu)  # skipped, test by test, on machines without a device
endif()

# Numbered examples run as tests as well: an example that does not run is worse than none.
file(GLOB examples CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/[0-9]*.cpp")
foreach(source IN LISTS examples)
  get_filename_component(stem "${source}" NAME_WE)
  add_executable(example_${stem} "${source}")
  target_link_libraries(example_${stem} PRIVATE halocline halocline_options)
  add_test(NAME example_${stem} COMMAND example_${stem} WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
  set_tests_properties(example_${stem} PROPERTIES LABELS examples TIMEOUT 300)
endforeach()

# Another project can use what is installed. With sanitizers it would have to be built with them too.
if(NOT HALOCLINE_SANITIZE)
  add_test(NAME installed_package COMMAND "${CMAKE_COMMAND}" "-DBUILD=${CMAKE_BINARY_DIR}" "-DSOURCE=${PROJECT_SOURCE_DIR}"
    "-DWORK=${CMAKE_BINARY_DIR}/installed_package" "-DCXX=${CMAKE_CXX_COMPILER}" "-DLIBDIR=${CMAKE_INSTALL_LIBDIR}"
    "-DSEAL=${HALOCLINE_SEAL}"
    -P "${PROJECT_SOURCE_DIR}/cpp/tests/package/run.cmake")
  set_tests_properties(installed_package PROPERTIES LABELS package TIMEOUT 600)
endif()
