// search: functions, files, categories, an address, or sizes.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/units.h"
#include "index/heap_state.h"
#include "query/answer_parts.h"
#include "query/questions/questions.h"

namespace memstrata {
namespace {

constexpr uint64_t kMostHits = 500;
constexpr size_t kLongestQuery = 200;

struct Hit {
  std::string_view kind;
  std::string label;
  std::string where;
  uint64_t bytes = 0;
  uint64_t block_count = 0;
  uint32_t largest_row = kNone;
};

struct SearchResult {
  uint64_t total = 0;
  std::vector<Hit> hits;  // the first of them
};

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

bool ByBytes(const Hit& a, const Hit& b) { return a.bytes != b.bytes ? a.bytes > b.bytes : a.label < b.label; }

void Count(const AllocationTable& table, uint32_t row, Hit& hit) {
  hit.bytes += table.size_bytes[row];
  ++hit.block_count;
  if (hit.largest_row == kNone || table.size_bytes[row] > table.size_bytes[hit.largest_row]) hit.largest_row = row;
}

// All keys of one kind whose text holds the query, with everything that was allocated under them.
void SearchKeys(SessionIndex& session, const HeapEntry& heap, GroupBy by, const std::string& query,
                std::vector<Hit>& hits) {
  const AllocationTable& table = session.store().allocations;
  const StackKeys& keys = session.Keys(by);
  std::vector<uint32_t> hit_of_key(keys.texts.size(), kNone);
  std::vector<Hit> found;
  for (uint32_t key = kPreexistingKey + 1; key < keys.texts.size(); ++key) {
    if (Lower(keys.texts[key]).find(query) == std::string::npos) continue;
    hit_of_key[key] = static_cast<uint32_t>(found.size());
    found.push_back(
        {kGroupByNames[static_cast<size_t>(by)], keys.labels[key], by == GroupBy::kFile ? keys.texts[key] : ""});
  }
  if (found.empty()) return;
  for (uint32_t row = heap.heap.allocations.begin; row < heap.heap.allocations.end; ++row) {
    const uint32_t hit = hit_of_key[KeyOfStackedRow(table, keys, row)];
    if (hit != kNone) Count(table, row, found[hit]);
  }
  for (Hit& hit : found) {
    if (hit.block_count == 0) continue;
    if (hit.where.empty()) hit.where = StackPlace(session.store(), session.Useful(), table.stack[hit.largest_row]);
    hits.push_back(std::move(hit));
  }
}

void SearchCategories(SessionIndex& session, const HeapEntry& heap, const std::string& query, std::vector<Hit>& hits) {
  for (size_t category = 0; category < std::size(kCategoryNames); ++category) {
    if (kCategoryNames[category].find(query) == std::string_view::npos) continue;
    Hit hit{"category", std::string(kCategoryNames[category]), ""};
    for (uint32_t row = heap.heap.allocations.begin; row < heap.heap.allocations.end; ++row) {
      if (session.CategoryOfRow()[row] == static_cast<Category>(category)) Count(session.store().allocations, row, hit);
    }
    if (hit.block_count > 0) hits.push_back(std::move(hit));
  }
}

template <class Wanted>
SearchResult SearchRows(SessionIndex& session, const HeapEntry& heap, std::string_view kind, size_t limit,
                        Wanted&& wanted) {
  const AllocationTable& table = session.store().allocations;
  std::vector<uint32_t> rows;
  for (uint32_t row = heap.heap.allocations.begin; row < heap.heap.allocations.end; ++row) {
    if (wanted(row)) rows.push_back(row);
  }
  SearchResult result{rows.size(), {}};
  const auto larger = [&](uint32_t a, uint32_t b) {
    return table.size_bytes[a] != table.size_bytes[b] ? table.size_bytes[a] > table.size_bytes[b] : a < b;
  };
  const size_t shown = std::min(limit, rows.size());
  std::partial_sort(rows.begin(), rows.begin() + static_cast<ptrdiff_t>(shown), rows.end(), larger);
  for (size_t i = 0; i < shown; ++i) {
    result.hits.push_back(
        {kind, RowLabel(session, rows[i]), FormatAddress(table.addr[rows[i]]), table.size_bytes[rows[i]], 1, rows[i]});
  }
  return result;
}

std::optional<uint64_t> ParseAddress(std::string_view text) {
  if (!text.starts_with("0x")) return std::nullopt;
  uint64_t address = 0;
  const auto [end, problem] = std::from_chars(text.data() + 2, text.data() + text.size(), address, 16);
  return problem == std::errc{} && end == text.data() + text.size() ? std::optional(address) : std::nullopt;
}

struct SizeCondition {
  bool wants_larger = false;
  bool or_equal = false;
  uint64_t bytes = 0;
  bool Holds(uint64_t size_bytes) const {
    if (size_bytes == bytes) return or_equal;
    return wants_larger ? size_bytes > bytes : size_bytes < bytes;
  }
};

// "size >= 1.5 GiB", already in lower case.
std::optional<SizeCondition> ParseSizeCondition(std::string_view text) {
  const auto skip_spaces = [&] {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  };
  if (!text.starts_with("size")) return std::nullopt;
  text.remove_prefix(4);
  skip_spaces();
  if (text.empty() || (text.front() != '>' && text.front() != '<')) return std::nullopt;
  SizeCondition condition;
  condition.wants_larger = text.front() == '>';
  text.remove_prefix(1);
  if (!text.empty() && text.front() == '=') {
    condition.or_equal = true;
    text.remove_prefix(1);
  }
  skip_spaces();
  double number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  skip_spaces();
  constexpr std::pair<std::string_view, double> kUnits[] = {{"", 1},         {"b", 1},        {"kib", 0x1p10},
                                                            {"mib", 0x1p20}, {"gib", 0x1p30}, {"tib", 0x1p40}};
  for (const auto& [unit, factor] : kUnits) {
    if (text != unit || number * factor >= 0x1p62) continue;
    condition.bytes = static_cast<uint64_t>(number * factor);
    return condition;
  }
  return std::nullopt;
}

SearchResult Search(SessionIndex& session, const HeapEntry& heap, const std::string& query, size_t limit) {
  const AllocationTable& table = session.store().allocations;
  if (const auto address = ParseAddress(query)) {
    return SearchRows(session, heap, "address", limit, [&](uint32_t row) {
      return *address >= table.addr[row] &&
             *address - table.addr[row] < std::max<uint64_t>(1, BlockBytesOrRequested(table, row));
    });
  }
  if (const auto condition = ParseSizeCondition(query)) {
    return SearchRows(session, heap, "size", limit,
                      [&](uint32_t row) { return condition->Holds(table.size_bytes[row]); });
  }
  SearchResult result;
  SearchCategories(session, heap, query, result.hits);
  SearchKeys(session, heap, GroupBy::kFunction, query, result.hits);
  SearchKeys(session, heap, GroupBy::kFile, query, result.hits);
  std::sort(result.hits.begin(), result.hits.end(), ByBytes);
  result.total = result.hits.size();
  if (result.hits.size() > limit) result.hits.resize(limit);
  return result;
}

Result<Answer> AnswerSearch(SessionIndex& session, const Parameters& parameters) {
  MEMSTRATA_ASSIGN_OR_RETURN(HeapEntry* const heap, HeapOf(session, parameters));
  MEMSTRATA_ASSIGN_OR_RETURN(const uint64_t limit, parameters.Number("limit", kMostHits, 50));
  const std::string_view text = parameters.Text("q");
  if (text.empty() || text.size() > kLongestQuery)
    return Fail(ErrorCode::kInvalidArgument, "q is a text of 1 to 200 bytes.");
  const SearchResult result = Search(session, *heap, Lower(text), limit);
  return JsonAnswer([&](JsonWriter& json) {
    json.Field("query", text);
    json.Field("total", result.total);
    json.Key("hits");
    json.StartArray();
    for (const Hit& hit : result.hits) {
      const uint32_t alloc_seq = session.store().allocations.alloc_seq[hit.largest_row];
      json.StartObject();
      json.Field("kind", hit.kind);
      json.Field("label", std::string_view(hit.label));
      json.Field("where", std::string_view(hit.where));
      json.Field("bytes", hit.bytes);
      json.Field("bytes_are", "total");
      json.Field("block_count", hit.block_count);
      json.Field("seq", alloc_seq == kNone ? 0 : alloc_seq);
      json.Field("allocation", hit.largest_row);
      json.EndObject();
    }
    json.EndArray();
  });
}

constexpr std::string_view kParameters[] = {"heap", "q", "limit"};

}  // namespace

const QuestionInfo kSearchQuestion = {"search", kParameters, AnswerSearch};

}  // namespace memstrata
