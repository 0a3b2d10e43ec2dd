# SPDX-License-Identifier: Apache-2.0
# libFuzzer targets: each cpp/tests/fuzz/fuzz_X.cpp becomes the executable fuzz_X. tools/run_fuzzers.sh runs
# them on the committed corpus cpp/tests/fuzz/corpus/X.

file(GLOB fuzz_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cpp/tests/fuzz/fuzz_*.cpp")
add_custom_target(halocline_fuzzers)
if(NOT HALOCLINE_SEAL)
  list(FILTER fuzz_sources EXCLUDE REGEX "/fuzz_compat_")
endif()
foreach(source IN LISTS fuzz_sources)
  get_filename_component(stem "${source}" NAME_WE)
  add_executable(${stem} "${source}")
  target_include_directories(${stem} PRIVATE "${PROJECT_SOURCE_DIR}/cpp/src" "${PROJECT_SOURCE_DIR}/cpp/tests")
  target_link_libraries(${stem} PRIVATE halocline halocline_options PkgConfig::sodium)
  target_link_options(${stem} PRIVATE -fsanitize=fuzzer)
  if(stem STREQUAL "fuzz_compat_seal")
    target_link_libraries(${stem} PRIVATE HaloclineSeal)
  endif()
  add_dependencies(halocline_fuzzers ${stem})
  set_target_properties(${stem} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/fuzz")
endforeach()
