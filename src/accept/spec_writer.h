#pragma once
// A first specification, with comments, from what is known: a measured session, or a plan. ParseSpec reads what it
// writes; the user fills in the rest.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "accept/spec.h"

namespace memstrata::accept {

struct SpecDraft {
  std::string name;
  std::string source;  // a sentence for the head: where the figures come from
  Command command;     // empty: the user fills it in; or
  std::string entry;   // a Python function, with its interpreter and how often it is called
  std::string python;
  uint64_t warmup_count = 0;
  uint64_t iteration_count = 1;
  std::vector<std::string> remarks;  // what to know of the figures, one sentence each
  std::map<std::string, std::string> parameters;
  std::map<std::string, double> maximum;
  std::map<std::string, std::string> environment;
  std::optional<uint64_t> device_peak_bytes;
  std::optional<uint64_t> framework_peak_bytes;
  std::optional<uint64_t> host_peak_bytes;
  std::optional<uint64_t> capacity_bytes;
  std::optional<double> run_time_s;
};

/// Limits of figures that are not known stand there as comments.
std::string SpecToml(const SpecDraft& draft);

}  // namespace memstrata::accept
