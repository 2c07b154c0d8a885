#pragma once
// What is asked of a dry run.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plan/cards.h"

namespace memstrata::dryrun {

struct DryRunRequest {
  std::vector<std::string> command;
  std::map<std::string, std::string> variables;  // of the environment, set for the program
  std::string interpreter;                       // of the program; empty: found from the command
  plan::Card card;                               // its visible_bytes are the capacity
  uint32_t device_count = 1;
  uint64_t step_count = 0;  // end after so many optimizer steps; 0: run to the end
  uint32_t world_size = 1;  // of the job of which the program is one rank
  uint32_t rank = 0;
  bool expandable_segments = false;
  bool shadow = false;      // keep the bytes of small copies to the card
  uint64_t true_after = 0;  // every Nth read of one byte is true
  uint64_t convolution_workspace_bytes = 0;
  bool keeps_arguments = false;   // in the answer and the session: they may hold secrets
  bool output_to_stderr = false;  // the program's standard output
};

}  // namespace memstrata::dryrun
