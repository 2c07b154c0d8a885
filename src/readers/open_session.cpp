#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "readers/counting_source.h"
#include "readers/heap_names.h"
#include "readers/reader.h"
#include "readers/session_files.h"

namespace memstrata {
namespace {

Result<const ReaderInfo*> Named(std::string_view id) {
  std::string known;
  for (const ReaderInfo* reader : AllReaders()) {
    if (reader->id == id) return reader;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", reader->id);
  }
  return Fail(ErrorCode::kInvalidArgument, fmt::format("There is no format \"{}\"; known are: {}.", id, known));
}

Result<const ReaderInfo*> Recognise(const ProbeInput& probe) {
  const ReaderInfo* best = nullptr;
  Match best_match = Match::kNo;
  bool tied = false;
  for (const ReaderInfo* reader : AllReaders()) {
    const Match match = reader->probe(probe);
    if (match == Match::kNo || match < best_match) continue;
    const bool by_suffix = std::any_of(reader->suffixes.begin(), reader->suffixes.end(),
                                       [&](std::string_view s) { return probe.file.ends_with(s); });
    tied = match == best_match && !by_suffix;
    if (match > best_match || by_suffix) {
      best = reader;
      best_match = match;
    }
  }
  if (best == nullptr && probe.file.ends_with(kRiegeliSuffix)) {
    return Fail(
        ErrorCode::kUnsupportedFormat,
        "Riegeli files (*.xplane.riegeli) cannot be read here; record with a profiler that writes *.xplane.pb.");
  }
  if (best == nullptr) {
    return Fail(ErrorCode::kUnsupportedFormat,
                "No reader knows this kind of file. `memstrata doctor` lists what can be read.");
  }
  if (tied)
    return Fail(ErrorCode::kUnsupportedFormat,
                fmt::format("The file could be of several formats, one of them {}; name one with --format.", best->id));
  return best;
}

// Only at its end a container tells whether it is whole, and a document may end before it. Looks at the next few MiB
// only: what follows may be endless.
void LookAtEnd(Input& input, StoreBuilder& builder) {
  constexpr size_t kLookedAtBytes = 8 << 20;
  Source& source = builder.store().sources[builder.current_source()];
  if (input.wrappers.empty() || source.truncated) return;
  std::vector<std::byte> buffer(size_t{64} * 1024);
  for (size_t seen = 0; seen < kLookedAtBytes;) {
    const Result<size_t> got = input.bytes->Read(buffer);
    if (!got) {
      source.truncated = true;
      builder.diagnostics().Note(
          Severity::kDataLoss, ErrorCodeName(got.error().code),
          fmt::format("{} What it holds was read to its own end, but cannot be checked.", got.error().message));
      return;
    }
    if (*got == 0) break;
    seen += *got;
  }
  if (!input.container_end->has_junk) return;
  source.truncated = true;
  builder.diagnostics().Note(Severity::kDataLoss, "trailing_bytes",
                             "Bytes follow the end of the gzip data that are no gzip; they are not read.");
}

Status ReadInto(StoreBuilder& builder, Input& input, const OpenOptions& options) {
  const ReaderInfo* reader = nullptr;
  if (!options.format.empty()) {
    MEMSTRATA_ASSIGN_OR_RETURN(reader, Named(options.format));
  } else {
    MEMSTRATA_ASSIGN_OR_RETURN(const std::string_view head, input.bytes->Peek(kProbeBytes));
    MEMSTRATA_ASSIGN_OR_RETURN(reader, Recognise({head, input.file}));
  }
  builder.AddSource({.file = input.file,
                     .format = std::string(reader->id),
                     .title = std::string(reader->title),
                     .size_bytes = input.file_size_bytes});
  if (input.other_member_count > 0) {
    builder.diagnostics().Note(Severity::kInfo, "other_zip_members",
                               "The zip archive has further members, which are not read.", kUnknownBytes,
                               input.other_member_count);
  }
  ReadContext context = options.context;
  const auto counter = std::make_shared<EventCounter>();
  const bool is_archive = std::any_of(input.wrappers.begin(), input.wrappers.end(),
                                      [](const std::string& wrapper) { return wrapper.starts_with("zip "); });
  const bool is_in_order = input.file_size_bytes > 0 && !is_archive;
  ReadProgress now{input.file, 0, is_in_order ? std::optional(input.file_size_bytes) : std::nullopt};
  if (context.progress) {
    context.event_counter = counter.get();
    input.bytes = std::make_unique<PeekableSource>(
        std::make_unique<CountingSource>(std::move(input.bytes), now, context.progress, counter,
                                         input.wrappers.empty() ? nullptr : input.file_read_bytes));
  }
  const uint32_t event_count = builder.store().events.size();
  MEMSTRATA_TRY(reader->read(input, builder, context));
  LookAtEnd(input, builder);
  if (context.progress && is_in_order) {
    now.read_bytes = input.file_size_bytes;
    now.event_count = builder.store().events.size() - event_count;
    context.progress(now);
  }
  return {};
}

// Two files of one host are either the same recording twice, or two processes that cannot be told apart.
void NoteDuplicateHosts(StoreBuilder& builder) {
  std::map<std::string, uint64_t> files_of_host;
  for (const XPlaneSource& source : builder.store().xplane.sources) {
    if (!source.host.empty()) ++files_of_host[source.host];
  }
  for (const auto& [host, count] : files_of_host) {
    if (count < 2) continue;
    builder.diagnostics().Note(
        Severity::kWarning, "duplicate_host",
        fmt::format("Several files name host {}. All are shown, told apart by #2, #3 …; if they are one recording "
                    "twice, name only one of them.",
                    host),
        kUnknownBytes, count);
  }
}

tl::unexpected<Error> InFile(Error error, const std::string& file) {
  if (error.file.empty()) error.file = file;
  return tl::unexpected(std::move(error));
}

}  // namespace

ReadLimits DefaultReadLimits() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  constexpr uint64_t kFallbackBytes = 4ULL << 30;
  if (pages <= 0 || page_bytes <= 0) return {kFallbackBytes};
  return {static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes) / 4 * 3};
}

Result<Store> OpenSession(std::span<const std::string> files, const OpenOptions& options) {
  MEMSTRATA_ASSIGN_OR_RETURN(const SessionFiles session, ExpandFolders({files.begin(), files.end()}));
  StoreBuilder builder;
  for (const std::string& file : session.files) {
    Result<Input> input = OpenInput(file);
    if (!input) return InFile(std::move(input).error(), file);
    if (Status status = ReadInto(builder, *input, options); !status) return InFile(std::move(status).error(), file);
  }
  if (session.other_run_count > 0) {
    builder.diagnostics().Note(
        Severity::kInfo, "other_runs",
        "The log directory holds earlier runs, which are not read; name the folder of a run to read it.", kUnknownBytes,
        session.other_run_count);
  }
  if (session.unreadable_count > 0) {
    builder.diagnostics().Note(Severity::kDataLoss, "riegeli",
                               "Riegeli files (*.xplane.riegeli) cannot be read and are left out.", kUnknownBytes,
                               session.unreadable_count);
  }
  if (session.unplanned_count > 0) {
    builder.diagnostics().Note(Severity::kInfo, "unplanned_programs",
                               "The dump holds programs as they were before their memory was planned; they are not "
                               "read.",
                               kUnknownBytes, session.unplanned_count);
  }
  NoteDuplicateHosts(builder);
  NameHeapsApart(builder.store());
  return std::move(builder).Finalize();
}

Result<Store> OpenBytes(std::string name, std::string bytes, const OpenOptions& options) {
  StoreBuilder builder;
  Result<Input> input = UnwrapBytes(name, std::move(bytes));
  if (!input) return InFile(std::move(input).error(), name);
  if (Status status = ReadInto(builder, *input, options); !status) return InFile(std::move(status).error(), name);
  return std::move(builder).Finalize();
}

}  // namespace memstrata
