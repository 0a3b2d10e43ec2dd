# SPDX-License-Identifier: Apache-2.0
# Headers `seal/seal.h` over this library, for programs written for Microsoft SEAL 4.x: target HaloclineSeal.
# They are installed in a folder of their own, because SEAL's have the same names.

file(GLOB_RECURSE halocline_seal_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cpp/compat/seal/src/*.cpp")
add_library(HaloclineSeal STATIC ${halocline_seal_sources})
add_library(HaloclineSeal::seal ALIAS HaloclineSeal)
# Programs of SEAL may be C++17: the headers are, and do not show the library behind them.
target_compile_features(HaloclineSeal PUBLIC cxx_std_17 PRIVATE cxx_std_20)
target_include_directories(HaloclineSeal
  PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/cpp/compat/seal/include>" "$<INSTALL_INTERFACE:include/halocline_seal>"
  PRIVATE "${PROJECT_SOURCE_DIR}/cpp/compat/seal/src" "${PROJECT_SOURCE_DIR}/cpp/src")
target_link_libraries(HaloclineSeal PRIVATE halocline::halocline PkgConfig::sodium "$<BUILD_INTERFACE:halocline_options>")
halocline_join_files(HaloclineSeal)
# What SEAL's headers say about compressions is a property of the library, so it is written into a header.
foreach(packer ZLIB ZSTD)
  string(TOLOWER "${packer}" lower)
  set(SEAL_USE_${packer} "${${lower}_FOUND}")
endforeach()
set(halocline_seal_generated "${PROJECT_BINARY_DIR}/halocline_seal")
configure_file("${PROJECT_SOURCE_DIR}/cmake/seal_config.h.in" "${halocline_seal_generated}/seal/util/config.h")
target_include_directories(HaloclineSeal PUBLIC "$<BUILD_INTERFACE:${halocline_seal_generated}>")
