#pragma once
// One declaration per question; each is defined in a file of this folder and listed in query/registry.cpp.

#include "query/question.h"

namespace memstrata {

extern const QuestionInfo kSessionQuestion;
extern const QuestionInfo kSummaryQuestion;
extern const QuestionInfo kExplainQuestion;
extern const QuestionInfo kOomQuestion;
extern const QuestionInfo kRanksQuestion;
extern const QuestionInfo kLedgerQuestion;
extern const QuestionInfo kAcceptanceQuestion;
extern const QuestionInfo kTileQuestion;
extern const QuestionInfo kCursorQuestion;
extern const QuestionInfo kSeekQuestion;
extern const QuestionInfo kStateQuestion;
extern const QuestionInfo kAllocationQuestion;
extern const QuestionInfo kPickQuestion;
extern const QuestionInfo kFlameQuestion;
extern const QuestionInfo kHoldersQuestion;
extern const QuestionInfo kRangeQuestion;
extern const QuestionInfo kSearchQuestion;
extern const QuestionInfo kEventsQuestion;
extern const QuestionInfo kSpansQuestion;
extern const QuestionInfo kProgramQuestion;
extern const QuestionInfo kCompareQuestion;
extern const QuestionInfo kRunsQuestion;
extern const QuestionInfo kProfileHoldersQuestion;

}  // namespace memstrata
