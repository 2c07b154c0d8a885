// runs: which programs ran on a heap in a range, and what the allocator showed against their static plans.

#include "query/answer_parts.h"
#include "query/program_use.h"
#include "query/questions/questions.h"
#include "query/selection.h"

namespace memstrata {
namespace {

constexpr uint64_t kMostRuns = 2000;

Result<Answer> AnswerRuns(SessionIndex& session, const Parameters& parameters) {
  MEMSTRATA_ASSIGN_OR_RETURN(HeapEntry* const heap, HeapOf(session, parameters));
  MEMSTRATA_ASSIGN_OR_RETURN(const SeqRange range, RangeOf(*heap, parameters));
  MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t limit, parameters.Number("limit", kMostRuns, kMostRuns));
  if (!session.store().HasXPlaneDetails(heap->heap))
    return Fail(ErrorCode::kInvalidArgument, "This heap is of no XLA profile.");
  const std::vector<ProgramRun>& runs = session.RunsOf(*heap);
  return JsonAnswer([&](JsonWriter& json) {
    uint64_t total = 0;
    json.Key("rows");
    json.StartArray();
    for (const ProgramRun& run : runs) {
      const uint32_t end_seq = std::max(run.end_seq, run.high_seq + 1);
      if (run.begin_seq >= range.end || end_seq <= range.begin || total++ >= limit) continue;
      json.StartObject();
      WriteRunFields(json, run);
      json.EndObject();
    }
    json.EndArray();
    json.Field("total", total);
  });
}

constexpr std::string_view kParameters[] = {"heap", "begin", "end", "limit"};

}  // namespace

const QuestionInfo kRunsQuestion = {"runs", kParameters, AnswerRuns};

}  // namespace memstrata
