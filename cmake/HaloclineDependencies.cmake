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

# Headers only (Boost.Multiprecision): looked up by header, because the CMake package differs between releases.
find_path(HALOCLINE_BOOST_INCLUDE boost/multiprecision/cpp_int.hpp REQUIRED DOC "Folder with the Boost headers")
mark_as_advanced(HALOCLINE_BOOST_INCLUDE)
