# SPDX-License-Identifier: Apache-2.0
# The library: every cpp/src/**/*.cpp, except device backends, which have targets of their own.

file(GLOB_RECURSE halocline_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cpp/src/*.cpp")
list(FILTER halocline_sources EXCLUDE REGEX "/backend/(cuda|sycl/bridge|sycl/kernels)/")
file(GLOB_RECURSE halocline_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cpp/include/*.hpp")

add_library(halocline STATIC ${halocline_sources} ${halocline_headers})
add_library(halocline::halocline ALIAS halocline)
target_compile_features(halocline PUBLIC cxx_std_20)
target_include_directories(halocline
  PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/cpp/include>" "$<INSTALL_INTERFACE:include>"
  PRIVATE "${PROJECT_SOURCE_DIR}/cpp/src")
if(NOT HALOCLINE_BOOST_INCLUDE STREQUAL "/usr/include")
  target_include_directories(halocline SYSTEM PUBLIC "$<BUILD_INTERFACE:${HALOCLINE_BOOST_INCLUDE}>")
endif()
target_link_libraries(halocline
  PUBLIC Threads::Threads
  PRIVATE PkgConfig::hwy PkgConfig::sodium PkgConfig::xxhash "$<BUILD_INTERFACE:halocline_options>")
if(uring_FOUND)
  target_link_libraries(halocline PRIVATE PkgConfig::uring)
  set_source_files_properties("${PROJECT_SOURCE_DIR}/cpp/src/memory/tier/io_uring.cpp" PROPERTIES
    COMPILE_DEFINITIONS HALOCLINE_IO_URING)
else()
  message(STATUS "No liburing: the file tier uses threads")
endif()

if(curl_FOUND)
  target_link_libraries(halocline PRIVATE PkgConfig::curl)
  target_compile_definitions(halocline PRIVATE HALOCLINE_CURL)
else()
  message(STATUS "No libcurl 7.85: no key stores over HTTP and S3, only in folders")
endif()

foreach(packer zlib zstd)
  if(${packer}_FOUND)
    string(TOUPPER "${packer}" upper)
    target_link_libraries(halocline PRIVATE PkgConfig::${packer})
    set_property(SOURCE "${PROJECT_SOURCE_DIR}/cpp/src/seal_format/packing.cpp" APPEND PROPERTY
      COMPILE_DEFINITIONS "HALOCLINE_${upper}")
  else()
    message(STATUS "No ${packer}: files of SEAL that it compressed are refused")
  endif()
endforeach()

# Alone: kernels, which are compiled once for each target of Highway or take longest, and what is compiled otherwise for GPUs.
halocline_join_files(halocline "/backend/cpu/|/backend/(peers|registry)\\.cpp$")

# What pointers to vectors point to is the address sanitizer's to check. Checks of their arithmetic multiply the time to compile
# unrolled kernels by four.
if(HALOCLINE_SANITIZE)
  file(GLOB halocline_vector_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cpp/src/backend/cpu/simd_*.cpp")
  set_property(SOURCE ${halocline_vector_sources} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=pointer-overflow)
endif()

include(HaloclineSycl)  # texts that the SYCL backend compiles at run time

# Doubles that must be equal on every device: no fused multiply-add, which rounds differently.
file(GLOB halocline_exact_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cpp/src/backend/cpu/client_*.cpp")
set_source_files_properties(${halocline_exact_sources} PROPERTIES COMPILE_OPTIONS -ffp-contract=off)

# Version and commit reach exactly one source file, so that a commit recompiles one file. CMake runs again
# when the commit changes, because the reflog is a configure dependency.
set(halocline_commit "unknown")
find_package(Git QUIET)
if(Git_FOUND AND EXISTS "${PROJECT_SOURCE_DIR}/.git")
  execute_process(COMMAND "${GIT_EXECUTABLE}" rev-parse --short=12 HEAD
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    OUTPUT_VARIABLE git_output OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE git_result)
  if(git_result EQUAL 0)
    set(halocline_commit "${git_output}")
  endif()
  execute_process(COMMAND "${GIT_EXECUTABLE}" rev-parse --git-path logs/HEAD
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    OUTPUT_VARIABLE git_output OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE git_result)
  get_filename_component(git_output "${git_output}" ABSOLUTE BASE_DIR "${PROJECT_SOURCE_DIR}")
  if(git_result EQUAL 0 AND EXISTS "${git_output}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${git_output}")
  endif()
endif()
set_source_files_properties("${PROJECT_SOURCE_DIR}/cpp/src/core/version.cpp" PROPERTIES COMPILE_DEFINITIONS
  "HALOCLINE_VERSION_STRING=\"${PROJECT_VERSION}\";HALOCLINE_COMMIT_STRING=\"${halocline_commit}\"")
