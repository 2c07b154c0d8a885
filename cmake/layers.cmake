# Half of the time of a sanitizer build goes into reading the same headers of the libraries again. The release build
# has no precompiled header: there a file that does not include what it uses fails to compile.
set(PRECOMPILED_HEADERS <algorithm> <array> <charconv> <cmath> <cstdint> <cstring> <filesystem> <functional> <map>
    <memory> <optional> <set> <span> <string> <string_view> <unordered_map> <utility> <vector> <fmt/format.h>
    <tl/expected.hpp>)

# memstrata_precompile(TARGET OWNER HEADERS): OWNER makes the precompiled header, the other targets of its kind use it.
function(memstrata_precompile TARGET OWNER HEADERS)
  if(NOT MEMSTRATA_PRECOMPILE)
    return()
  endif()
  if("${TARGET}" STREQUAL "${OWNER}")
    target_precompile_headers(${TARGET} PRIVATE ${HEADERS})
  else()
    target_precompile_headers(${TARGET} REUSE_FROM ${OWNER})
  endif()
endfunction()

# memstrata_layer(NAME DEPENDS other layers... LIBRARIES external targets...)
#
# One static library per layer (a folder under src/) that links exactly the layers it may use, so that a forbidden
# include does not link. Sources are every *.cpp of the folder except *_test.cpp; those become one test binary NAME_test.
function(memstrata_layer NAME)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LIBRARIES;TEST_DEPENDS" ${ARGN})
  file(GLOB_RECURSE SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${NAME}/*.cpp)
  set(TEST_SOURCES ${SOURCES})
  list(FILTER SOURCES EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER TEST_SOURCES INCLUDE REGEX "_test\\.cpp$")
  add_library(memstrata_${NAME} STATIC ${SOURCES})
  target_include_directories(memstrata_${NAME} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  memstrata_precompile(memstrata_${NAME} memstrata_base "${PRECOMPILED_HEADERS}")
  list(TRANSFORM ARG_DEPENDS PREPEND memstrata_)
  target_link_libraries(memstrata_${NAME} PUBLIC ${ARG_DEPENDS} ${ARG_LIBRARIES})
  if(MEMSTRATA_BUILD_TESTS AND TEST_SOURCES)
    find_package(GTest REQUIRED)
    add_executable(${NAME}_test ${TEST_SOURCES})
    list(TRANSFORM ARG_TEST_DEPENDS PREPEND memstrata_)
    target_link_libraries(${NAME}_test PRIVATE memstrata_${NAME} ${ARG_TEST_DEPENDS} GTest::gtest_main)
    target_compile_definitions(${NAME}_test PRIVATE MEMSTRATA_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    memstrata_precompile(${NAME}_test base_test "${PRECOMPILED_HEADERS};<gtest/gtest.h>")
    include(GoogleTest)
    gtest_discover_tests(${NAME}_test TEST_PREFIX unit. DISCOVERY_TIMEOUT 60)
  endif()
endfunction()
