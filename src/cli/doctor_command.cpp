#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include "base/json_writer.h"
#include "base/units.h"
#include "cli/common_flags.h"
#include "cli/verbs.h"
#include "report/json/machine_json.h"
#include "report/text/machine_text.h"

namespace memstrata::cli {
namespace {

struct Library {
  std::string_view name;
  std::string version;
};

std::vector<Library> Libraries() {
  return {{"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
          {"zlib", zlibVersion()},
          {"zstd", ZSTD_versionString()}};
}

std::string Compiler() {
#if defined(__clang__)
  return fmt::format("Clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("GCC {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

constexpr std::string_view kContainers[] = {"gzip", "zstd", "zip (stored, deflate)", "base64 in an HTML page"};

std::string WriteJson(const measure::Machine& machine) {
  JsonWriter json;
  json.StartObject();
  json.Field("schema", "memstrata.doctor/1");
  json.Field("version", MEMSTRATA_VERSION);
  json.Field("build", MEMSTRATA_BUILD_TYPE);
  json.Field("compiler", std::string_view(Compiler()));
  json.Key("formats");
  json.StartArray();
  for (const ReaderInfo* reader : AllReaders()) {
    json.StartObject();
    json.Field("id", reader->id);
    json.Field("title", reader->title);
    json.Key("suffixes");
    json.StartArray();
    for (const std::string_view suffix : reader->suffixes) json.Value(suffix);
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  json.Key("containers");
  json.StartArray();
  for (const std::string_view container : kContainers) json.Value(container);
  json.EndArray();
  json.Key("libraries");
  json.StartObject();
  for (const Library& library : Libraries()) json.Field(library.name, std::string_view(library.version));
  json.EndObject();
  json.Field("memory_limit_bytes", DefaultReadLimits().memory_bytes);
  WriteMachine(json, machine);
  json.EndObject();
  return json.Finish();
}

std::string WriteText(const measure::Machine& machine) {
  std::string out =
      fmt::format("memstrata {} ({} build, {})\n\nFormats\n", MEMSTRATA_VERSION, MEMSTRATA_BUILD_TYPE, Compiler());
  for (const ReaderInfo* reader : AllReaders())
    out += fmt::format("  {:<23}{} ({})\n", reader->id, reader->title, fmt::join(reader->suffixes, ", "));
  out += "\nUnpacked on the way, at most four layers deep\n";
  for (const std::string_view container : kContainers) out += fmt::format("  {}\n", container);
  out += "\nLibraries\n";
  for (const Library& library : Libraries()) out += fmt::format("  {:<23}{}\n", library.name, library.version);
  out += fmt::format("\nA capture may take up to {} of this machine's memory.\n",
                     FormatBytes(DefaultReadLimits().memory_bytes));
  return out + MachineText(machine);
}

int RunDoctor(const Arguments& arguments, Console& console) {
  const bool json = arguments.Has("--json");
  const Result<measure::Machine> machine = measure::LookAtMachine(arguments.Get("--python").value_or(""));
  if (!machine) return console.ReportError(machine.error(), json);
  const Status status = console.out().Write(json ? WriteJson(*machine) : WriteText(*machine));
  return status ? console.Finish(kExitOk) : console.ReportError(status.error(), false);
}

constexpr FlagSpec kFlags[] = {
    kJsonFlag,
    {"--python", "", "PATH", "Also ask the frameworks of this interpreter; it opens a context on each device"},
};
constexpr std::string_view kExamples[] = {"memstrata doctor", "memstrata doctor --json",
                                          "memstrata doctor --python python3"};

}  // namespace

const Subcommand kDoctor = {
    .name = "doctor",
    .summary = "What this build can read, and what a recording on this machine would see",
    .description =
        "Lists the formats that this build reads, its version, how it was built, and its memory limit; then the "
        "devices "
        "of this\n"
        "machine with their memory, driver, links and users, the host, and what a recording here would see.",
    .positional = {},
    .flags = kFlags,
    .examples = kExamples,
    .run = RunDoctor,
};

}  // namespace memstrata::cli
