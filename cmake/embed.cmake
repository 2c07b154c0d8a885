# memstrata_embed(TARGET NAME FILE): makes `extern const std::string_view kNAME` (namespace memstrata::data) from a file of
# text, so that the program needs nothing beside itself.
function(memstrata_embed TARGET NAME FILE)
  set(OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/embedded_${NAME}.cpp)
  add_custom_command(
    OUTPUT ${OUTPUT}
    COMMAND ${CMAKE_COMMAND} -DNAME=${NAME} -DINPUT=${FILE} -DOUTPUT=${OUTPUT} -P ${CMAKE_SOURCE_DIR}/cmake/embed_text.cmake
    DEPENDS ${FILE} ${CMAKE_SOURCE_DIR}/cmake/embed_text.cmake
    VERBATIM)
  target_sources(${TARGET} PRIVATE ${OUTPUT})
endfunction()

# memstrata_embed_files(TARGET NAME FILES...)
#
# Puts texts into the target as `memstrata::data::kNAME`, a span of pairs: file name without its folder, text.
function(memstrata_embed_files TARGET NAME)
  set(OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/embedded_${NAME}.cpp)
  add_custom_command(OUTPUT ${OUTPUT}
    COMMAND ${CMAKE_COMMAND} "-DINPUTS=${ARGN}" -DOUTPUT=${OUTPUT} -DNAME=${NAME} -P ${CMAKE_SOURCE_DIR}/cmake/embed_texts.cmake
    DEPENDS ${ARGN} ${CMAKE_SOURCE_DIR}/cmake/embed_texts.cmake VERBATIM)
  target_sources(${TARGET} PRIVATE ${OUTPUT})
endfunction()

# memstrata_embed_binary(TARGET NAME BUILT): the same for the bytes of a library that this project builds.
function(memstrata_embed_binary TARGET NAME BUILT)
  set(OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/embedded_${NAME}.cpp)
  set(FILE_OF_BUILT "$<TARGET_FILE:${BUILT}>")
  file(READ ${CMAKE_SOURCE_DIR}/cmake/embedded_binary.cpp.in TEMPLATE)
  string(CONFIGURE "${TEMPLATE}" TEMPLATE @ONLY)
  file(GENERATE OUTPUT ${OUTPUT} CONTENT "${TEMPLATE}")
  # The assembler reads the bytes, so the object file depends on them.
  set_source_files_properties(${OUTPUT} PROPERTIES OBJECT_DEPENDS "${CMAKE_BINARY_DIR}/dryrun/lib${BUILT}.so")
  add_dependencies(${TARGET} ${BUILT})
  target_sources(${TARGET} PRIVATE ${OUTPUT})
endfunction()
