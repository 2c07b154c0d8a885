#include <fmt/format.h>

#include "query/questions/questions.h"

namespace memstrata {

std::span<const QuestionInfo* const> AllQuestions() {
  static constexpr const QuestionInfo* kAll[] = {
      &kOomQuestion,     &kRanksQuestion,      &kProfileHoldersQuestion, &kSessionQuestion, &kSummaryQuestion,
      &kExplainQuestion, &kLedgerQuestion,     &kTileQuestion,           &kCursorQuestion,  &kSeekQuestion,
      &kStateQuestion,   &kAllocationQuestion, &kPickQuestion,           &kFlameQuestion,   &kHoldersQuestion,
      &kRangeQuestion,   &kSearchQuestion,     &kEventsQuestion,         &kSpansQuestion,   &kProgramQuestion,
      &kCompareQuestion, &kRunsQuestion,       &kAcceptanceQuestion,
  };
  return kAll;
}

Result<Answer> Ask(SessionIndex& session, std::string_view name, const Parameters& parameters) {
  for (const QuestionInfo* question : AllQuestions()) {
    if (question->name != name) continue;
    MEMSTRATA_TRY(parameters.CheckNames(question->parameters));
    return question->answer(session, parameters);
  }
  return Fail(ErrorCode::kNotFound, fmt::format("There is no question \"{}\".", name));
}

Result<HeapEntry*> HeapOf(SessionIndex& session, const Parameters& parameters) {
  MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t index, parameters.Number("heap", UINT32_MAX));
  if (index >= session.heaps().size())
    return Fail(ErrorCode::kNotFound,
                fmt::format("There is no heap {}; the session has {}.", index, session.heaps().size()));
  return session.heaps()[index].get();
}

Result<uint32_t> SeqOf(const HeapEntry& heap, const Parameters& parameters, std::string_view name,
                       std::optional<uint64_t> otherwise) {
  MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t seq, parameters.Number(name, heap.heap_index.range_end() - 1, otherwise));
  return static_cast<uint32_t>(seq);
}

}  // namespace memstrata
