#include <fmt/format.h>

#include "base/json_writer.h"
#include "cli/verbs.h"

namespace memstrata::cli {
namespace {

int RunDoctor(const Arguments& arguments, Console& console) {
  (void)arguments;
  (void)console.out().Write("memstrata " MEMSTRATA_VERSION "\n");
  return console.Finish(kExitOk);
}

constexpr FlagSpec kFlags[] = {
    {"--json", "", "", "Print one JSON object instead of text"},
};
constexpr std::string_view kExamples[] = {"memstrata doctor"};

}  // namespace

const Subcommand kDoctor = {
    .name = "doctor",
    .summary = "What this build can read, and with what",
    .description = "Lists the formats that this build reads, its version and how it was built.",
    .positional = {},
    .flags = kFlags,
    .examples = kExamples,
    .run = RunDoctor,
};

}  // namespace memstrata::cli
