#include "dryrun/text_file.h"

#include <fstream>

namespace memstrata::dryrun {

Status WriteTextFile(const std::string& path, std::string_view content) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  if (!file) return tl::unexpected(Error{ErrorCode::kIo, "It cannot be written.", path, {}});
  return {};
}

}  // namespace memstrata::dryrun
