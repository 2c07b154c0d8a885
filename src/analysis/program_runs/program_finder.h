#pragma once
// Which compiled program of the session a run belongs to.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/program_runs/program_runs.h"

namespace memstrata {

class ProgramFinder {
 public:
  explicit ProgramFinder(const Store& store);

  struct Found {
    uint32_t program = kNone;
    ProgramMatch match = ProgramMatch::kNoSuchPlan;
  };
  /// `name` may carry the number itself ("jit_f(15)"). Programs of `source` go before those of other files.
  Found Find(std::string_view name, std::optional<uint64_t> id, uint32_t source) const;

 private:
  Found FindAmong(const std::map<std::string, std::vector<uint32_t>, std::less<>>& by_text, std::string_view text,
                  uint32_t source, ProgramMatch match) const;

  const Store& store_;
  std::map<std::string, std::vector<uint32_t>, std::less<>> by_label_;
  std::map<std::string, std::vector<uint32_t>, std::less<>> by_name_;
};

}  // namespace memstrata
