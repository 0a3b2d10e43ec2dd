# SPDX-License-Identifier: Apache-2.0
# Third-party libraries, all from the distribution's packages; tools/bootstrap.sh has their names.

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy>=1.0.3)
pkg_check_modules(sodium REQUIRED IMPORTED_TARGET libsodium>=1.0.18)

# Checksums of files (XXH64) and of the file tier (XXH3).
pkg_check_modules(xxhash IMPORTED_TARGET libxxhash>=0.8)
if(NOT xxhash_FOUND)
  message(FATAL_ERROR "xxHash 0.8 or later not found by pkg-config (libxxhash.pc). Run 'make setup', or install "
    "libxxhash-dev (Debian, Ubuntu), xxhash-devel (Fedora), xxhash (Arch, Homebrew).")
endif()

# io_uring of the file tier. liburing is taken under its MIT licence. Without it the tier uses threads.
pkg_check_modules(uring IMPORTED_TARGET liburing>=2.0)

# Key stores on networks (HTTP, S3). Without it there are those in folders.
pkg_check_modules(curl IMPORTED_TARGET libcurl>=7.85)

# Compressed files of SEAL. Without them uncompressed ones are read and written, and the others refused.
pkg_check_modules(zlib IMPORTED_TARGET zlib)
pkg_check_modules(zstd IMPORTED_TARGET libzstd)

# Command lines of the programs in cpp/bench. Headers only; looked up as Boost is.
if(HALOCLINE_TESTS OR HALOCLINE_BENCH)
  find_path(HALOCLINE_CLI11_INCLUDE CLI/CLI.hpp DOC "Folder with CLI11's headers")
  mark_as_advanced(HALOCLINE_CLI11_INCLUDE)
  if(NOT HALOCLINE_CLI11_INCLUDE)
    message(FATAL_ERROR "CLI11 2.1 or later not found (CLI/CLI.hpp). Run 'tools/bootstrap.sh test', or install libcli11-dev "
      "(Debian, Ubuntu), cli11-devel (Fedora), cli11 (Arch, Homebrew).")
  endif()
  add_library(halocline_cli11 INTERFACE)
  target_include_directories(halocline_cli11 SYSTEM INTERFACE
    "$<$<NOT:$<STREQUAL:${HALOCLINE_CLI11_INCLUDE},/usr/include>>:${HALOCLINE_CLI11_INCLUDE}>")
endif()

# Headers only (Boost.Multiprecision): looked up by header, because the CMake package differs between releases.
find_path(HALOCLINE_BOOST_INCLUDE boost/multiprecision/cpp_int.hpp REQUIRED DOC "Folder with the Boost headers")
mark_as_advanced(HALOCLINE_BOOST_INCLUDE)
