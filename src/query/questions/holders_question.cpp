// holders: bytes by stack, function, file, folder, shape or category, largest first.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "query/answer_parts.h"
#include "query/questions/questions.h"
#include "query/selection.h"

namespace memstrata {
namespace {

constexpr uint64_t kMostRows = 2000;
constexpr uint64_t kDefaultRows = 500;

struct HolderRow {
  std::string key;
  std::string label;
  std::string where;
  std::array<uint64_t, std::size(kCategoryNames)> category_bytes{};
  uint64_t bytes = 0;
  uint64_t block_count = 0;
  uint32_t largest_row = kNone;
  uint32_t shape_key = kNone;  // of all its blocks
  bool has_one_shape = true;
  bool is_remainder = false;  // stands for blocks that the source counts only in bytes

  /// Of most of its bytes.
  std::string_view Category() const {
    const auto most = std::max_element(category_bytes.begin(), category_bytes.end());
    return kCategoryNames[static_cast<size_t>(most - category_bytes.begin())];
  }
};

// An XLA profile tells what was there before it by its bytes alone.
bool IsRemainder(const HeapEntry& heap, uint32_t row) {
  return (heap.store.allocations.flags[row] & kPreexisting) != 0 && heap.store.HasXPlaneDetails(heap.heap);
}

// Blocks without a stack have nothing in common but that; their categories keep them apart.
bool IsSplitByCategory(GroupBy by, uint32_t key) { return by != GroupBy::kCategory && key <= kPreexistingKey; }

void NameRow(SessionIndex& session, GroupBy by, uint32_t key, HolderRow& row) {
  if (by == GroupBy::kCategory) {
    row.key = row.label = kCategoryNames[key];
    return;
  }
  row.key = row.label = session.Keys(by).labels[key];
  if (IsSplitByCategory(by, key)) {
    row.key += fmt::format(", {}", row.Category());
    return;
  }
  row.key = session.Keys(by).texts[key];
  const StackId stack = session.store().allocations.stack[row.largest_row];
  if (stack.value != 0) row.where = StackPlace(session.store(), session.Useful(), stack);
}

void Count(const HeapEntry& heap, uint32_t row, Category category, uint32_t shape_key, HolderRow& holder) {
  const uint64_t size_bytes = heap.store.allocations.size_bytes[row];
  holder.bytes += size_bytes;
  holder.category_bytes[static_cast<size_t>(category)] += size_bytes;
  holder.is_remainder = IsRemainder(heap, row);
  if (!holder.is_remainder) ++holder.block_count;
  if (holder.largest_row == kNone) holder.shape_key = shape_key;
  holder.has_one_shape = holder.has_one_shape && holder.shape_key == shape_key;
  if (holder.largest_row == kNone || size_bytes > heap.store.allocations.size_bytes[holder.largest_row])
    holder.largest_row = row;
}

std::vector<HolderRow> SumUp(SessionIndex& session, const HeapEntry& heap, const Selection& selection, GroupBy by) {
  const std::vector<Category>& categories = session.CategoryOfRow();
  const StackKeys& shapes = session.Keys(GroupBy::kShape);
  FlatMap<uint64_t, uint32_t> index_of_key;
  std::vector<HolderRow> rows;
  std::vector<uint32_t> keys;
  for (const uint32_t row : selection.rows) {
    const uint32_t key = KeyOfRow(session, by, row);
    const uint64_t part = IsSplitByCategory(by, key) ? static_cast<uint64_t>(categories[row]) + 1 : 0;
    const auto [entry, is_new] =
        index_of_key.try_emplace(part << 32 | uint64_t{key}, static_cast<uint32_t>(rows.size()));
    if (is_new) {
      rows.emplace_back();
      keys.push_back(key);
    }
    Count(heap, row, categories[row], shapes.key_of_row[row], rows[entry->second]);
  }
  for (size_t i = 0; i < rows.size(); ++i) NameRow(session, by, keys[i], rows[i]);
  std::sort(rows.begin(), rows.end(), [](const HolderRow& a, const HolderRow& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.key < b.key;
  });
  return rows;
}

// One line may allocate for several purposes: the workspace of a product beside its result.
void WriteCategories(JsonWriter& json, const HolderRow& row) {
  std::vector<size_t> present;
  for (size_t i = 0; i < row.category_bytes.size(); ++i) {
    if (row.category_bytes[i] > 0) present.push_back(i);
  }
  std::stable_sort(present.begin(), present.end(),
                   [&](size_t a, size_t b) { return row.category_bytes[a] > row.category_bytes[b]; });
  json.Key("categories");
  json.StartArray();
  for (const size_t i : present) {
    json.StartObject();
    json.Field("category", kCategoryNames[i]);
    json.Field("bytes", row.category_bytes[i]);
    json.EndObject();
  }
  json.EndArray();
}

bool ContainsIgnoringCase(std::string_view text, std::string_view part) {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

bool Matches(const HolderRow& row, std::string_view search) {
  if (search.empty()) return true;
  return ContainsIgnoringCase(row.key, search) || ContainsIgnoringCase(row.label, search) ||
         ContainsIgnoringCase(row.where, search) || ContainsIgnoringCase(row.Category(), search);
}

void WriteRow(JsonWriter& json, SessionIndex& session, HeapEntry& heap, const HolderRow& row) {
  const AllocationTable& table = session.store().allocations;
  const StackId stack = table.stack[row.largest_row];
  json.StartObject();
  json.Field("key", std::string_view(row.key));
  json.Field("label", std::string_view(row.label));
  json.Field("where", std::string_view(row.where));
  json.Field("category", row.Category());
  WriteCategories(json, row);
  json.Field("bytes", row.bytes);
  json.Field("block_count", row.is_remainder ? std::nullopt : std::optional(row.block_count));
  json.Field("largest_bytes", table.size_bytes[row.largest_row]);
  const std::string since = PlaceText(session, heap, table.alloc_seq[row.largest_row]);
  const bool is_shape_known = row.has_one_shape && row.shape_key > kPreexistingKey;
  json.Field("shape", is_shape_known
                          ? std::optional<std::string_view>(session.Keys(GroupBy::kShape).labels[row.shape_key])
                          : std::nullopt);
  json.Field("since", since.empty() ? std::nullopt : std::optional<std::string_view>(since));
  json.Field("stack_id", stack.value == 0 ? std::nullopt : std::optional(stack.value));
  json.Key("stack");
  WriteStack(json, session, stack);
  json.Field("example", row.largest_row);
  json.EndObject();
}

Result<Answer> AnswerHolders(SessionIndex& session, const Parameters& parameters) {
  MEMSTRATA_ASSIGN_OR_RETURN(HeapEntry* const heap, HeapOf(session, parameters));
  MEMSTRATA_ASSIGN_OR_RETURN(const Selection selection, SelectRows(*heap, parameters));
  MEMSTRATA_ASSIGN_OR_RETURN(const size_t by,
                             parameters.Choice("by", std::span(kGroupByNames).first(kHolderGroupByCount), "stack"));
  MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t limit, parameters.Number("limit", kMostRows, kDefaultRows));
  MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t offset, parameters.Number("offset", UINT32_MAX, 0));
  std::vector<HolderRow> rows = SumUp(session, *heap, selection, static_cast<GroupBy>(by));
  uint64_t total_bytes = 0;
  uint64_t total_block_count = 0;
  for (const HolderRow& row : rows) {
    total_bytes += row.bytes;
    total_block_count += row.block_count;
  }
  std::erase_if(rows, [&](const HolderRow& row) { return !Matches(row, parameters.Text("search")); });
  uint64_t matched_bytes = 0;
  for (const HolderRow& row : rows) matched_bytes += row.bytes;
  return JsonAnswer([&](JsonWriter& json) {
    json.Field("of", selection.of);
    json.Field("by", kGroupByNames[by]);
    json.Field("total_bytes", total_bytes);
    json.Field("total_block_count", total_block_count);
    json.Field("row_count", uint64_t{rows.size()});
    json.Field("matched_bytes", matched_bytes);
    json.Key("rows");
    json.StartArray();
    for (size_t i = offset; i < std::min<size_t>(rows.size(), offset + limit); ++i)
      WriteRow(json, session, *heap, rows[i]);
    json.EndArray();
  });
}

constexpr std::string_view kParameters[] = {"heap", "of", "seq", "begin", "end", "by", "search", "limit", "offset"};

}  // namespace

const QuestionInfo kHoldersQuestion = {"holders", kParameters, AnswerHolders};

}  // namespace memstrata
