#include "analysis/program_runs/program_finder.h"

#include <fmt/format.h>

#include <algorithm>

namespace memstrata {

ProgramFinder::ProgramFinder(const Store& store) : store_(store) {
  for (uint32_t row = 0; row < store.programs.size(); ++row) {
    by_label_[store.programs[row].label].push_back(row);
    by_name_[store.programs[row].name].push_back(row);
  }
}

ProgramFinder::Found ProgramFinder::FindAmong(const std::map<std::string, std::vector<uint32_t>, std::less<>>& by_text,
                                              std::string_view text, uint32_t source, ProgramMatch match) const {
  const auto found = by_text.find(text);
  if (found == by_text.end()) return {};
  std::vector<uint32_t> rows = found->second;
  const auto is_foreign = [&](uint32_t row) { return store_.programs[row].source != source; };
  if (!std::all_of(rows.begin(), rows.end(), is_foreign)) std::erase_if(rows, is_foreign);
  if (rows.size() > 1) return {kNone, ProgramMatch::kAmbiguous};
  return {rows.front(), match};
}

ProgramFinder::Found ProgramFinder::Find(std::string_view name, std::optional<uint64_t> id, uint32_t source) const {
  const std::string label = id ? fmt::format("{}({})", name, *id) : std::string(name);
  if (const Found found = FindAmong(by_label_, label, source, ProgramMatch::kById); found.program != kNone)
    return found;
  // A number that no program of the session has: its plan is not here, even if another of its name is.
  const bool has_numbered_plan = std::any_of(store_.programs.begin(), store_.programs.end(), [&](const Program& plan) {
    return plan.name == name && plan.label != plan.name;
  });
  if (id && has_numbered_plan) return {};
  const size_t bracket = name.rfind('(');
  return FindAmong(by_name_, bracket == std::string_view::npos || id ? name : name.substr(0, bracket), source,
                   ProgramMatch::kByName);
}

}  // namespace memstrata
