// Out of memory in PyTorch while an engine serves: the engine took its share of the device at its start and gives none
// of it back, so that what runs beside its cache has too little. The advice that a start needs would make it worse.

#include "oom/families/family.h"

namespace memstrata::oom {
namespace {

struct Engine {
  std::string_view kind;         // of its reports
  std::string_view name;         // as its lines and stacks name it
  std::string_view settings[2];  // its share of the device, as an argument and as it is logged
  std::string_view advice;
};
constexpr Engine kEngines[] = {
    {"sglang",
     "sglang",
     {"mem-fraction-static", "mem_fraction_static"},
     "Lower --mem-fraction-static: the static pool is too large, not too small."},
    {"vllm",
     "vllm",
     {"gpu-memory-utilization", "gpu_memory_utilization"},
     "Lower --gpu-memory-utilization: what runs beside the cache has too little."},
};

bool Serves(const Engine& engine, std::string_view text, const std::vector<OomReport>& reports) {
  const auto has = [&](std::string_view words) { return text.find(words) != std::string_view::npos; };
  const bool is_read =
      std::any_of(reports.begin(), reports.end(), [&](const OomReport& report) { return report.kind == engine.kind; });
  return is_read || (has(engine.name) && (has(engine.settings[0]) || has(engine.settings[1])));
}

}  // namespace

void AdviseEngines(std::string_view text, std::vector<OomReport>& reports) {
  for (const Engine& engine : kEngines) {
    if (!Serves(engine, text, reports)) continue;
    for (OomReport& report : reports) {
      if (report.kind != "torch" || !report.short_by_bytes) continue;
      report.remedies.insert(report.remedies.begin(),
                             {std::string(engine.advice), report.short_by_bytes, RemedyBasis::kAssumed, std::nullopt});
    }
  }
}

}  // namespace memstrata::oom
