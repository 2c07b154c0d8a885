#include "plan/report/investigation.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace memstrata::plan {
namespace {

struct Hint {
  std::string_view terms;  // with a space before and behind each
  std::string_view text;
};

constexpr Hint kHints[] = {
    {" weights draft_weights buffers gradients optimizer autocast unpacked load_copy packed_weights_overhead ",
     "record a run and compare: memstrata summary FILE --by category"},
    {" activations recomputed_layer logits vision gathered_head_input deferred_head forward_transient "
     "backward_transient optimizer_transient inputs calibration ",
     "memstrata explain FILE names the phase and the calls that made the peak"},
    {" fragmentation rounding ", "memstrata summary FILE tells idle memory by kind"},
    {" kv_cache draft_kv_cache graphs ", "the engine's start-up log names it; memstrata oom reads such logs"},
    {" context communicators communication workspace grouped_workspace ",
     "memstrata run COMMAND, then memstrata ledger FOLDER, tells what each process holds on a device"},
    {" processes checkpoint_load pinned offloaded data_workers ", "memstrata run COMMAND measures the host's peak"},
};

}  // namespace

std::string_view InvestigationOf(std::string_view term) {
  const std::string word = " " + std::string(term) + " ";
  const auto found = std::find_if(std::begin(kHints), std::end(kHints),
                                  [&](const Hint& hint) { return hint.terms.find(word) != std::string_view::npos; });
  return found == std::end(kHints) ? std::string_view() : found->text;
}

}  // namespace memstrata::plan
