#include "dryrun/xla_compile.h"

#include <fmt/format.h>

#include "base/tab_lines.h"
#include "dryrun/child.h"
#include "dryrun/wheel.h"

namespace memstrata::data {
extern const std::string_view kDryRunCompile;
}

namespace memstrata::dryrun {
namespace {

Result<uint64_t> Figure(const std::map<std::string, std::string>& values, const std::string& name) {
  const auto found = values.find(name);
  const std::optional<uint64_t> value = found == values.end() ? std::nullopt : ParseUnsigned(found->second);
  if (value) return *value;
  return Fail(ErrorCode::kInternal, fmt::format("The compiler's answer holds no {}.", name));
}

}  // namespace

std::optional<int64_t> JaxAnswer::MarginBytes() const {
  if (!card) return std::nullopt;
  const uint64_t taken = compilation.TotalBytes() + card->context_bytes;
  return static_cast<int64_t>(card->visible_bytes) - static_cast<int64_t>(taken);
}

std::optional<bool> JaxAnswer::Fits() const {
  const std::optional<int64_t> margin = MarginBytes();
  return margin ? std::optional<bool>(*margin >= 0) : std::nullopt;
}

Result<JaxCompilation> ParseCompilation(const std::string& output) {
  std::map<std::string, std::string> values = ParseProbe(output);
  JaxCompilation compilation;
  MEMSTRATA_ASSIGN_OR_RETURN(compilation.argument_bytes, Figure(values, "argument_bytes"));
  MEMSTRATA_ASSIGN_OR_RETURN(compilation.output_bytes, Figure(values, "output_bytes"));
  MEMSTRATA_ASSIGN_OR_RETURN(compilation.alias_bytes, Figure(values, "alias_bytes"));
  MEMSTRATA_ASSIGN_OR_RETURN(compilation.temp_bytes, Figure(values, "temp_bytes"));
  if (compilation.alias_bytes > compilation.output_bytes)
    return Fail(ErrorCode::kInternal, "The compiler's answer holds more outputs in donated arguments than outputs.");
  compilation.jax_version = values["jax"];
  compilation.target = values["target"];
  return compilation;
}

Result<JaxCompilation> CompileJax(const JaxRequest& request) {
  std::vector<std::string> command = {request.interpreter, "-c",           std::string(data::kDryRunCompile),
                                      request.function,    request.output, request.topology,
                                      request.platform};
  command.insert(command.end(), request.shapes.begin(), request.shapes.end());
  MEMSTRATA_ASSIGN_OR_RETURN(const ChildResult child, RunChild(command, OwnEnvironment(), ChildOutput::kCapture));
  if (child.exit_status != 0) {
    return Fail(ErrorCode::kUnsupportedFormat,
                fmt::format("{} could not be compiled; the reason is above.", request.function));
  }
  return ParseCompilation(child.output);
}

}  // namespace memstrata::dryrun
