// search: functions and files of any frame of a stack, categories, types and shapes, an address, or sizes.

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

// What was allocated under one stack.
struct StackSum {
  uint64_t bytes = 0;
  uint64_t block_count = 0;
  uint32_t largest_row = kNone;
};

// Functions and files whose name holds the query, and for each frame which of them it is in.
class FrameSearch {
 public:
  FrameSearch(const Store& store, const std::string& query) : store_(store) {
    const FrameTable& frames = store.stacks.frames();
    function_hit_.assign(frames.size(), kNone);
    file_hit_.assign(frames.size(), kNone);
    FlatMap<uint64_t, uint32_t> known;  // (function or kNone, file) → hit or kNone
    for (uint32_t frame = 0; frame < frames.size(); ++frame) {
      const StringId function = frames.function[frame];
      const StringId file = frames.file[frame];
      const auto hit_of = [&](uint32_t function_id, std::string_view text, auto&& make) {
        const auto [entry, is_new] = known.try_emplace(uint64_t{function_id} << 32 | file.value, kNone);
        if (is_new && Lower(text).find(query) != std::string::npos) {
          entry->second = static_cast<uint32_t>(hits_.size());
          hits_.push_back(make());
        }
        return entry->second;
      };
      function_hit_[frame] = hit_of(function.value, store.String(function), [&] {
        return Hit{"function", FunctionLabel(frame), ""};
      });
      file_hit_[frame] = hit_of(kNone, store.String(file), [&] {
        return Hit{"file", std::string(ShortPath(store.String(file))), std::string(store.String(file))};
      });
    }
    last_stack_.assign(hits_.size(), kNone);
  }

  bool IsEmpty() const { return hits_.empty(); }

  /// Adds what a stack holds to each function and file that it goes through, once.
  void Add(StackId stack, const StackSum& sum) {
    const StackTable& stacks = store_.stacks.stacks();
    for (StackId at = stack; at.value != 0; at = stacks.parent[at.value]) {
      const uint32_t frame = stacks.frame[at.value].value;
      for (const uint32_t hit : {function_hit_[frame], file_hit_[frame]}) {
        if (hit == kNone || last_stack_[hit] == stack.value) continue;
        last_stack_[hit] = stack.value;
        AddTo(hits_[hit], sum);
      }
    }
  }
  std::vector<Hit> Finish() && { return std::move(hits_); }

 private:
  std::string FunctionLabel(uint32_t frame) const {
    const FrameTable& frames = store_.stacks.frames();
    const std::string function = ShortFunctionName(store_.String(frames.function[frame]));
    const std::string_view file = store_.String(frames.file[frame]);
    return file.empty() ? function : fmt::format("{} ({})", function, ShortPath(file));
  }
  void AddTo(Hit& hit, const StackSum& sum) const {
    const Column<uint64_t>& size_bytes = store_.allocations.size_bytes;
    hit.bytes += sum.bytes;
    hit.block_count += sum.block_count;
    if (hit.largest_row == kNone || size_bytes[sum.largest_row] > size_bytes[hit.largest_row])
      hit.largest_row = sum.largest_row;
  }

  const Store& store_;
  std::vector<Hit> hits_;
  std::vector<uint32_t> function_hit_;  // by frame, kNone: not in a hit
  std::vector<uint32_t> file_hit_;
  std::vector<uint32_t> last_stack_;  // by hit: a stack goes through a function more than once
};

// Any frame counts, not only the one that a stack is named by: people look for the operator as for their own code.
void SearchFrames(SessionIndex& session, const HeapEntry& heap, const std::string& query, std::vector<Hit>& hits) {
  const AllocationTable& table = session.store().allocations;
  FrameSearch search(session.store(), query);
  if (search.IsEmpty()) return;
  std::vector<StackSum> by_stack(session.store().stacks.stacks().size());
  for (uint32_t row = heap.heap.allocations.begin; row < heap.heap.allocations.end; ++row) {
    StackSum& sum = by_stack[table.stack[row].value];
    sum.bytes += table.size_bytes[row];
    ++sum.block_count;
    if (sum.largest_row == kNone || table.size_bytes[row] > table.size_bytes[sum.largest_row]) sum.largest_row = row;
  }
  for (uint32_t stack = 1; stack < by_stack.size(); ++stack) {
    if (by_stack[stack].block_count > 0) search.Add(StackId{stack}, by_stack[stack]);
  }
  for (Hit& hit : std::move(search).Finish()) {
    if (hit.block_count == 0) continue;
    if (hit.where.empty()) hit.where = StackPlace(session.store(), session.Useful(), table.stack[hit.largest_row]);
    hits.push_back(std::move(hit));
  }
}

void SearchShapes(SessionIndex& session, const HeapEntry& heap, const std::string& query, std::vector<Hit>& hits) {
  const StackKeys& shapes = session.Keys(GroupBy::kShape);
  std::vector<Hit> found(shapes.texts.size());
  bool is_any = false;
  for (uint32_t key = kPreexistingKey + 1; key < shapes.texts.size(); ++key) {
    if (Lower(shapes.texts[key]).find(query) == std::string::npos) continue;
    found[key] = {"shape", shapes.labels[key], ""};
    is_any = true;
  }
  if (!is_any) return;
  for (uint32_t row = heap.heap.allocations.begin; row < heap.heap.allocations.end; ++row) {
    Hit& hit = found[shapes.key_of_row[row]];
    if (!hit.kind.empty()) Count(session.store().allocations, row, hit);
  }
  for (Hit& hit : found) {
    if (hit.block_count > 0) hits.push_back(std::move(hit));
  }
}

// "kv_cache" is found as "kv cache", "parameter" as "parameters", "temporary" as "temporaries".
bool IsCategoryNamed(std::string_view name, const std::string& query) {
  std::string words(name);
  std::replace(words.begin(), words.end(), '_', ' ');
  const std::string plural = words.ends_with('y') ? words.substr(0, words.size() - 1) + "ies" : words + "s";
  return name.find(query) != std::string_view::npos || words.find(query) != std::string::npos ||
         plural.find(query) != std::string::npos;
}

void SearchCategories(SessionIndex& session, const HeapEntry& heap, const std::string& query, std::vector<Hit>& hits) {
  for (size_t category = 0; category < std::size(kCategoryNames); ++category) {
    if (!IsCategoryNamed(kCategoryNames[category], query)) continue;
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
    // A remainder, which a profile tells by its bytes alone, lies nowhere.
    const std::string address = table.addr[rows[i]] == UINT64_MAX ? "" : FormatAddress(table.addr[rows[i]]);
    result.hits.push_back({kind, RowLabel(session, rows[i]), address, table.size_bytes[rows[i]], 1, rows[i]});
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
  SearchFrames(session, heap, query, result.hits);
  SearchShapes(session, heap, query, result.hits);
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
