// profile_holders: everything in use on an XLA allocator at one event, by operation, shape and type.

#include "query/answer_parts.h"
#include "query/common_json.h"
#include "query/questions/questions.h"

namespace memstrata {
namespace {

constexpr uint64_t kMostRows = 5000;

Result<Answer> AnswerProfileHolders(SessionIndex& session, const Parameters& parameters) {
  MEMSTRATA_ASSIGN_OR_RETURN(HeapEntry* const heap, HeapOf(session, parameters));
  MEMSTRATA_ASSIGN_OR_RETURN(const uint32_t seq, SeqOf(*heap, parameters, "seq"));
  MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t limit, parameters.Number("limit", kMostRows, kMostRows));
  const Store& store = session.store();
  if (!store.HasXPlaneDetails(heap->heap)) return Fail(ErrorCode::kInvalidArgument, "This heap is of no XLA profile.");
  const std::vector<ProfileHolder> holders =
      ProfileHolders(store, heap->heap, heap->heap_index.MomentAt(seq), static_cast<size_t>(limit));
  const uint32_t row = heap->heap.events.begin + seq;
  const uint64_t used_bytes = store.xplane.events.stack_bytes[row] + store.xplane.events.heap_bytes[row];
  return JsonAnswer([&](JsonWriter& json) {
    json.Field("seq", seq);
    json.Field("used_bytes", used_bytes);
    json.Key("rows");
    json.StartArray();
    WriteProfileHolders(json, holders, used_bytes);
    json.EndArray();
  });
}

constexpr std::string_view kParameters[] = {"heap", "seq", "limit"};

}  // namespace

const QuestionInfo kProfileHoldersQuestion = {"profile_holders", kParameters, AnswerProfileHolders};

}  // namespace memstrata
