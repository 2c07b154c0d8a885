#include "oom/families/family.h"

namespace memstrata::oom {

std::span<const FindMessages> AllFamilies() {
  static constexpr FindMessages kAll[] = {FindTorch,  FindTorchOther, FindXlaGpu, FindXlaTpu, FindBfc,         FindVllm,
                                          FindSglang, FindLlamaCpp,   FindCuda,   FindHost,   FindProcessTable};
  return kAll;
}

void Refuse(OomReport& report, std::string reason) {
  report.verdict = OomVerdict::kContradictory;
  report.short_by_bytes.reset();
  report.outside_bytes.reset();
  report.remedies.clear();
  report.text = fmt::format("The counters of this message cannot all be true: {} No cause is named from them.", reason);
  report.missing.push_back({"counters", "Which of them is wrong cannot be told from the message.",
                            "Read the device itself (nvidia-smi, rocm-smi) when it happens, or record a snapshot: "
                            "docs/howto/out_of_memory.md."});
}

void MarkMasked(OomReport& report, std::string text, std::string how_to_get) {
  report.verdict = OomVerdict::kMasked;
  report.text = std::move(text);
  const bool has_one = report.requested_bytes || report.free_bytes || report.capacity_bytes || report.live_bytes;
  report.missing.push_back(has_one ? OomMissing{"other sizes", "The message carries no more.", std::move(how_to_get)}
                                   : OomMissing{"sizes", "The message carries none.", std::move(how_to_get)});
}

}  // namespace memstrata::oom
