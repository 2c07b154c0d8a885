#include "cli/session.h"

#include "accept/saved_acceptance.h"
#include "cli/common_flags.h"
#include "cli/output_file.h"
#include "cli/session_inputs.h"
#include "measure/gaps.h"
#include "query/oom.h"
#include "query/ranks.h"
#include "query/redact.h"
#include "readers/reader.h"
#include "report/json/explain_json.h"
#include "report/json/ledger_json.h"
#include "report/json/oom_json.h"
#include "report/json/ranks_json.h"
#include "report/json/summary_json.h"

namespace memstrata::cli {
namespace {

Result<std::string> SummaryText(SessionIndex& session) {
  MEMSTRATA_ASSIGN_OR_RETURN(const SummaryAnswer answer, Summarize(session.analyses(), {}));
  StringSink sink;
  MEMSTRATA_TRY(WriteSummaryJson(answer, sink));
  return sink.text();
}

Result<std::string> ExplainText(SessionIndex& session) {
  StringSink sink;
  MEMSTRATA_TRY(WriteExplainJson(session.Explained(), sink));
  return sink.text();
}

Result<std::string> OomText(SessionIndex& session) {
  MEMSTRATA_ASSIGN_OR_RETURN(const OomAnswer answer, ExplainOutOfMemory(session.analyses(), ""));
  StringSink sink;
  MEMSTRATA_TRY(WriteOomJson(answer, sink));
  return sink.text();
}

Result<std::string> RanksText(SessionIndex& session) {
  MEMSTRATA_ASSIGN_OR_RETURN(const RanksAnswer answer, CompareSources(session.analyses()));
  StringSink sink;
  MEMSTRATA_TRY(WriteRanksJson(answer, sink));
  return sink.text();
}

constexpr std::pair<std::string_view, Result<std::string> (*)(SessionIndex&)> kDocuments[] = {
    {"summary", SummaryText},
    {"explain", ExplainText},
    {"oom", OomText},
    {"ranks", RanksText},
};

constexpr const char* kPrivateAcceptance = "It names the command, folders and the system.";

// The recordings; where there is only a document to show, none, and what the run says is missing.
Result<Store> OpenInputs(const SessionInputs& inputs, const OpenOptions& options) {
  Result<Store> store = OpenSession(inputs.files, options);
  if (store || store.error().code != ErrorCode::kNotFound || !inputs.HasDocument()) return store;
  store = OpenSession({}, options);
  if (store && !inputs.measured_folder.empty()) {
    MEMSTRATA_ASSIGN_OR_RETURN(const measure::MeasuredSession session, measure::ReadSession(inputs.measured_folder));
    for (const measure::Gap& gap : measure::FindGaps(session))
      store->missing.push_back({gap.what, gap.why, gap.how_to_get});
  }
  return store;
}

Result<std::string> LedgerText(const std::string& folder, SessionIndex& recording) {
  MEMSTRATA_ASSIGN_OR_RETURN(const measure::MeasuredSession session, measure::ReadSession(folder));
  MEMSTRATA_ASSIGN_OR_RETURN(const ledger::Ledger answer, ledger::MakeLedger(session, &recording, "peak"));
  return LedgerJson(session, answer);
}

std::vector<Document> DocumentsOf(SessionInputs inputs) {
  std::vector<Document> documents;
  for (const auto& [name, write] : kDocuments) documents.push_back({name, write});
  if (!inputs.measured_folder.empty()) {
    documents.push_back({"ledger", [folder = inputs.measured_folder](SessionIndex& recording) {
                           return LedgerText(folder, recording);
                         }});
  }
  if (inputs.acceptance) {
    documents.push_back({"acceptance", [json = std::move(inputs.acceptance->json)](SessionIndex&) {
                           return Result<std::string>(json);
                         }});
  }
  return documents;
}

}  // namespace

Result<std::shared_ptr<SessionIndex>> LoadSession(const std::vector<std::string>& files, const Arguments& arguments,
                                                  const std::function<void(const ReadProgress&)>& progress) {
  const std::string format = arguments.Get("--format").value_or("");
  OpenOptions options;
  options.format = format;
  options.context.limits = DefaultReadLimits();
  options.context.progress = progress;
  MEMSTRATA_ASSIGN_OR_RETURN(SessionInputs inputs, FindInputs(files));
  MEMSTRATA_ASSIGN_OR_RETURN(Store store, OpenInputs(inputs, options));
  const bool is_redacted = arguments.Has("--redact");
  if (is_redacted) Redact(store);
  if (is_redacted && inputs.acceptance && !inputs.acceptance->is_redacted) {
    inputs.acceptance.reset();
    store.missing.push_back({"the acceptance", kPrivateAcceptance, "Write it with `memstrata accept --redact`."});
  }
  return std::make_shared<SessionIndex>(std::move(store), MEMSTRATA_VERSION, DocumentsOf(std::move(inputs)));
}

Status WriteReport(const WriterInfo& writer, const ReportOptions& options, const std::string& path,
                   const Arguments& arguments, Console& console) {
  const auto progress = [&console](const ReadProgress& now) { console.Progress(ProgressText(now)); };
  MEMSTRATA_ASSIGN_OR_RETURN(const std::shared_ptr<SessionIndex> session,
                             LoadSession(arguments.positionals, arguments, progress));
  console.ClearProgress();
  MEMSTRATA_ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> file, OutputFile::Create(path));
  MEMSTRATA_TRY(writer.write(*session, options, *file));
  return file->Commit();
}

}  // namespace memstrata::cli
