# The web page, built by npm where that is possible and embedded into the program (src/page/).
set(MEMSTRATA_UI_DIR ${CMAKE_SOURCE_DIR}/ui CACHE PATH "Source of the web page")
find_program(NPM_PROGRAM npm)
find_program(NODE_PROGRAM node)
set(PAGE_NPM "")
if(NPM_PROGRAM AND NODE_PROGRAM AND EXISTS ${MEMSTRATA_UI_DIR}/package-lock.json)
  execute_process(COMMAND ${NODE_PROGRAM} --version OUTPUT_VARIABLE NODE_VERSION OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REGEX REPLACE "^v" "" NODE_VERSION "${NODE_VERSION}")
  if(NODE_VERSION VERSION_GREATER_EQUAL 20.19)
    set(PAGE_NPM ${NPM_PROGRAM})
  endif()
endif()
if(NOT PAGE_NPM)
  message(STATUS "Without the web page: it needs Node.js 20.19 or newer with npm.")
endif()

file(GLOB_RECURSE PAGE_SOURCES CONFIGURE_DEPENDS ${MEMSTRATA_UI_DIR}/src/*)
list(APPEND PAGE_SOURCES ${MEMSTRATA_UI_DIR}/index.html ${MEMSTRATA_UI_DIR}/package-lock.json ${MEMSTRATA_UI_DIR}/vite.config.ts
     ${CMAKE_SOURCE_DIR}/docs/explanation/marks.md)
if(NOT PAGE_NPM)
  set(PAGE_SOURCES "")
endif()
set(PAGE_OUTPUT ${CMAKE_BINARY_DIR}/page_files.gen.cpp)
add_custom_command(
  OUTPUT ${PAGE_OUTPUT}
  COMMAND ${CMAKE_COMMAND} -D UI_DIR=${MEMSTRATA_UI_DIR} -D OUTPUT=${PAGE_OUTPUT} -D WORK_DIR=${CMAKE_BINARY_DIR} -D NPM=${PAGE_NPM} -P ${CMAKE_SOURCE_DIR}/cmake/build_page.cmake
  DEPENDS ${PAGE_SOURCES} ${CMAKE_SOURCE_DIR}/cmake/build_page.cmake
  COMMENT "Building the web page"
  VERBATIM)
