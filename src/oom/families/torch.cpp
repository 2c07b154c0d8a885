// PyTorch's own message, from 1.0 on, on CUDA, ROCm, XPU and NPU. The words changed, and one of them changed its
// meaning: "cached" is idle memory, "reserved in total" is live and idle memory, later texts print idle memory alone.

#include "oom/families/family.h"
#include "oom/families/torch_judgement.h"

namespace memstrata::oom {
namespace {

constexpr std::string_view kHead = "Tried to allocate ";
constexpr size_t kReach = 6000;  // a node with many processes prints a clause for each

constexpr Clause kClauses[] = {
    {"Tried to allocate <size>", {Fact::kRequested}},
    {"<size> total capacity", {Fact::kCapacity}},
    {"<size> already allocated", {Fact::kLive}},
    {"<size> free;", {Fact::kFree}},
    {"<size> cached)", {Fact::kIdle}},
    {"<size> reserved in total by", {Fact::kReserved}},
    {"total capacity of <size> of which <size> is free", {Fact::kCapacity, Fact::kFree}},
    {"total capacty of <size> of which <size> is free", {Fact::kCapacity, Fact::kFree}},
    {"total capacity of <size>", {Fact::kCapacity}},
    {"Process <int> has <size> memory in use", {Fact::kPid, Fact::kNeighbour}},
    {"this process has <size> memory in use", {Fact::kOwnProcess}},
    {"<size> allowed", {Fact::kCap}},
    {"Of the allocated memory <size> is allocated by", {Fact::kLive}},
    {"<size> allocated in private pools", {Fact::kPrivatePool}},
    {"<size> is reserved by PyTorch but unallocated", {Fact::kIdle}},
};

struct Era {
  std::string_view words;
  std::string_view format;
};
// The first whose words occur; releases are approximate.
constexpr Era kEras[] = {
    {"allocated in private pools", "torch_2_4"}, {"total capacity of", "torch_2_2"}, {"total capacty of", "torch_2_1"},
    {"reserved in total by", "torch_1_4"},       {" cached)", "torch_1_0"},
};

std::string_view FormatOf(std::string_view window) {
  for (const Era& era : kEras) {
    if (window.find(era.words) != std::string_view::npos) return era.format;
  }
  return "torch";
}

}  // namespace

void FindTorch(const LogStream& stream, std::vector<OomReport>& reports) {
  ForEachMessage(stream.text, kHead, 40, kReach, [&](std::string_view window, size_t at) {
    const size_t head = window.find(kHead);
    const std::string_view before = window.substr(0, head);
    if (before.find("out of memory. ") == std::string_view::npos) return;
    window.remove_prefix(head);
    // The message ends where the next traceback or message begins.
    window = window.substr(0, std::min({window.find("Traceback"), window.find("out of memory."), window.size()}));
    const Facts facts = CollectFacts(window, kClauses);
    OomReport report = StartReport(stream, at, "torch", FormatOf(window));
    if (window.starts_with("Tried to allocate more than 1EB")) {
      Refuse(report, "more than 1 EiB was asked for: the size itself is wrong (a negative or overflowed shape).");
    } else if (facts.Has(Fact::kRequested)) {
      JudgeTorch(facts, report);
    } else {
      return;
    }
    reports.push_back(std::move(report));
  });
}

}  // namespace memstrata::oom
