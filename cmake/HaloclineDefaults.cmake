# SPDX-License-Identifier: Apache-2.0
# Language level, build type, compiler launcher, and the interface target that carries warnings and sanitizers.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # the static library ends up inside the Python module
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)    # clang-tidy and editors

# No -march=native anywhere: vector code is chosen at run time by Highway.
if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(HALOCLINE_CCACHE ccache DOC "Compiler cache, used when present")
  mark_as_advanced(HALOCLINE_CCACHE)
  if(HALOCLINE_CCACHE)
    # Paths below the sources count as relative, so that build folders share what they compile.
    set(CMAKE_CXX_COMPILER_LAUNCHER env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" "${HALOCLINE_CCACHE}")
  endif()
endif()

add_library(halocline_options INTERFACE)
target_compile_options(halocline_options INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra>"
  "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${HALOCLINE_WERROR}>>:-Werror>")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 and 13 warn about their own std::string (https://gcc.gnu.org/PR105651) and std::vector::insert.
  target_compile_options(halocline_options INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict;-Wno-stringop-overflow>")
endif()

if(HALOCLINE_SANITIZE OR HALOCLINE_FUZZ)
  set(halocline_sanitizers address,undefined)
  if(HALOCLINE_FUZZ)
    if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      message(FATAL_ERROR "HALOCLINE_FUZZ needs clang (libFuzzer); the compiler is ${CMAKE_CXX_COMPILER_ID}. "
                          "Use: cmake --preset asan")
    endif()
    string(APPEND halocline_sanitizers ",fuzzer-no-link")
  endif()
  target_compile_options(halocline_options INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${halocline_sanitizers};-fno-sanitize-recover=all;-fno-omit-frame-pointer>")
  target_link_options(halocline_options INTERFACE -fsanitize=address,undefined)
endif()

# halocline_join_files(<target> [<regular expression>]): up to eight neighbours of a folder are compiled as one file, which
# parses their headers once and takes less than half of the time. So the names in the unnamed namespaces of a folder differ.
# Files that match the expression, or have compile options of their own, stay alone.
option(HALOCLINE_UNITY "Compile neighbouring files of a folder together" ON)
function(halocline_join_files target)
  if(NOT HALOCLINE_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # warns of members with such types, as if the files were headers
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>")
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  if(ARGC GREATER 1)
    list(FILTER sources EXCLUDE REGEX "${ARGV1}")
  endif()
  foreach(source IN LISTS sources)
    get_filename_component(folder "${source}" DIRECTORY)
    if(NOT folder STREQUAL last_folder)
      set(last_folder "${folder}")
      set(count 0)
    endif()
    math(EXPR part "${count} / 8")
    math(EXPR count "${count} + 1")
    file(RELATIVE_PATH group "${PROJECT_SOURCE_DIR}" "${folder}")
    string(REPLACE "/" "_" group "${group}_${part}")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${group}")
  endforeach()
endfunction()
