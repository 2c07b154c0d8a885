#include "report/json/ranks_json.h"

#include "base/json_writer.h"

namespace memstrata {
namespace {

void WriteRank(JsonWriter& json, const RankFigures& rank) {
  json.StartObject();
  json.Field("rank", rank.rank);
  json.Field("file", std::string_view(rank.file));
  json.Field("heap", std::string_view(rank.heap));
  json.Key("coordinates");
  json.StartObject();
  for (const auto& [name, value] : rank.coordinates) json.Field(name, value);
  json.EndObject();
  json.Field("peak_live_bytes", rank.peak_live_bytes);
  json.Field("peak_reserved_bytes", rank.peak_reserved_bytes);
  json.Field("end_live_bytes", rank.end_live_bytes);
  json.Field("oom_count", rank.failure_count);
  json.Key("at_peak");
  json.StartArray();
  for (size_t category = 0; category < rank.at_peak.size(); ++category) {
    if (rank.at_peak[category] == 0) continue;
    json.StartObject();
    json.Field("category", kCategoryNames[category]);
    json.Field("bytes", rank.at_peak[category]);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

void WriteExplanation(JsonWriter& json, const std::optional<Explanation>& explanation) {
  json.Key("explained_by");
  if (!explanation) return json.Null();
  json.StartObject();
  json.Field("coordinate", std::string_view(explanation->coordinate));
  json.Field("basis", explanation->is_assumed ? "assumed" : "computed");
  json.Field("share", explanation->share);
  json.Key("groups");
  json.StartArray();
  for (const auto& [value, mean_bytes] : explanation->mean_peak_bytes) {
    json.StartObject();
    json.Field("value", value);
    json.Field("mean_peak_live_bytes", mean_bytes);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

}  // namespace

Status WriteRanksJson(const RanksAnswer& answer, ByteSink& sink) {
  JsonWriter json;
  json.StartObject();
  json.Field("schema", "memstrata.ranks/1");
  json.Texts("sentences", answer.sentences);
  json.Key("ranks");
  json.StartArray();
  for (const RankFigures& rank : answer.ranks) WriteRank(json, rank);
  json.EndArray();
  json.Field("worst_index", uint64_t{answer.comparison.worst});
  json.Field("median_index", uint64_t{answer.comparison.median});
  json.Field("spread_bytes", answer.comparison.spread_bytes);
  json.Field("missing_rank_count", answer.comparison.missing_count);
  json.Key("missing_ranks");
  json.StartArray();
  for (const uint64_t rank : answer.comparison.missing_ranks) json.Value(rank);
  json.EndArray();
  WriteExplanation(json, answer.comparison.explanation);
  json.Key("differences");
  json.StartArray();
  for (const Regression& difference : answer.differences) {
    json.StartObject();
    json.Field("text", std::string_view(difference.text));
    json.Field("bytes", difference.bytes);
    json.EndObject();
  }
  json.EndArray();
  json.Key("unreadable");
  json.StartArray();
  for (const UnreadableRank& unreadable : answer.unreadable) {
    json.StartObject();
    json.Field("file", std::string_view(unreadable.file));
    json.Field("rank", unreadable.rank);
    json.Field("problem", std::string_view(unreadable.problem));
    json.EndObject();
  }
  json.EndArray();
  json.Texts("left_out", answer.left_out);
  json.EndObject();
  return sink.Write(json.Finish());
}

}  // namespace memstrata
