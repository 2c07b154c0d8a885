#include "plan/constants.h"

#include <map>

#include "plan/toml_table.h"

namespace memstrata::data {
extern const std::string_view kPlanConstants;
}

namespace memstrata::plan {
namespace {

std::map<std::string, Constant, std::less<>> ReadConstants() {
  std::map<std::string, Constant, std::less<>> constants;
  const Result<TomlTable> document = ParseToml(data::kPlanConstants);
  if (!document) return constants;
  for (const auto& [name, table] : document->tables) {
    constants[name] = {table.Number("low"), table.Number("best"), table.Number("high"), table.Text("how"),
                       table.Text("source")};
  }
  return constants;
}

}  // namespace

const Constant& GetConstant(std::string_view name) {
  static const std::map<std::string, Constant, std::less<>> kConstants = ReadConstants();
  static const Constant kNone;
  const auto found = kConstants.find(name);
  return found == kConstants.end() ? kNone : found->second;
}

}  // namespace memstrata::plan
