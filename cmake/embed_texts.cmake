# Run by memstrata_embed_files: writes the files INPUTS (separated by ;) as a list NAME of file names and texts into
# OUTPUT.
set(ENTRIES "")
set(COUNT 0)
foreach(INPUT ${INPUTS})
  file(READ ${INPUT} TEXT)
  cmake_path(GET INPUT FILENAME FILE)
  string(APPEND ENTRIES "    {\"${FILE}\", R\"EMBEDDED(${TEXT})EMBEDDED\"},\n")
  math(EXPR COUNT "${COUNT} + 1")
endforeach()
file(WRITE ${OUTPUT} "#include <array>\n#include <span>\n#include <string_view>\n#include <utility>\nnamespace memstrata::data {\nusing NamedText = std::pair<std::string_view, std::string_view>;\nextern const std::span<const NamedText> k${NAME};\nstatic constexpr std::array<NamedText, ${COUNT}> kFiles = {{\n${ENTRIES}}};\nconst std::span<const NamedText> k${NAME} = kFiles;\n}  // namespace memstrata::data\n")
