# Run by memstrata_embed: writes INPUT as a raw string literal named NAME into OUTPUT.
file(READ ${INPUT} TEXT)
file(WRITE ${OUTPUT} "#include <string_view>\nnamespace memstrata::data {\nextern const std::string_view k${NAME};\nconst std::string_view k${NAME} = R\"EMBEDDED(${TEXT})EMBEDDED\";\n}  // namespace memstrata::data\n")
