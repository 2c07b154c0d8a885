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
