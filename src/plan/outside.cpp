#include "plan/outside.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/constants.h"

namespace memstrata::plan {
namespace {

constexpr uint64_t kWorkspaceBytes = 8'519'680;                     // :4096:2:16:8
constexpr uint64_t kLargeWorkspaceBytes = uint64_t{32} << 20;       // :4096:8
constexpr uint64_t kInstinctWorkspaceBytes = uint64_t{128} << 20;   // of ROCm from MI300 on
constexpr uint64_t kSmallEngineWorkspaceBytes = uint64_t{4} << 20;  // TransformerEngine's, from Hopper on 32 MiB
constexpr uint64_t kGroupedStreams = 4;                             // that it runs the products of a group on
constexpr double kHopper = 9.0;

bool IsHopperOrLater(const std::optional<Card>& card) { return card && card->compute_capability >= kHopper; }

bool IsAmd(const std::optional<Card>& card) { return card && card->vendor == "amd"; }

bool IsInstinct300OrLater(const std::optional<Card>& card) {
  return IsAmd(card) && (card->architecture == "cdna3" || card->architecture == "cdna4");
}

uint64_t EngineWorkspaceBytes(const std::optional<Card>& card) {
  return IsHopperOrLater(card) ? kLargeWorkspaceBytes : kSmallEngineWorkspaceBytes;
}

std::optional<Line> GroupedExpertsLine(const PlanRequest& request) {
  const DecoderSpec* spec = request.model.decoder();
  const bool has_experts = spec != nullptr && spec->experts.count > 0;
  if (!has_experts || request.workload.engine != Engine::kMegatron || !request.workload.groups_experts)
    return std::nullopt;
  const uint64_t bytes = kGroupedStreams * EngineWorkspaceBytes(request.card);
  return Line{"grouped_workspace",
              bytes,
              bytes,
              kGroupedStreams * kLargeWorkspaceBytes,
              Basis::kComputed,
              fmt::format("{} workspaces of {} B, one for each stream of a grouped product", kGroupedStreams,
                          bytes / kGroupedStreams),
              "TransformerEngine's grouped products; Megatron-LM golden values of tests with and without them",
              true,
              "grouped-experts"};
}

}  // namespace

Line LineOfConstant(std::string term, const Constant& constant, double count, std::string how) {
  return {std::move(term),
          static_cast<uint64_t>(constant.best * count),
          static_cast<uint64_t>(constant.low * count),
          static_cast<uint64_t>(constant.high * count),
          Basis::kAssumed,
          std::move(how),
          constant.source,
          true,
          ""};
}

Line MeasuredLine(std::string term, const Constant& constant, double count, const Profile& profile) {
  Line line = LineOfConstant(std::move(term), constant, count, constant.how);
  line.basis = Basis::kMeasured;
  line.source = profile.name;
  return line;
}

bool UsesCuda(const std::optional<Card>& card) {
  const std::string_view vendor = card ? std::string_view(card->vendor) : "";
  return vendor.empty() || vendor == "nvidia" || vendor == "amd";
}

uint64_t WorkspaceBytes(const std::optional<Card>& card, bool is_deterministic) {
  if (IsInstinct300OrLater(card)) return kInstinctWorkspaceBytes;
  return is_deterministic || IsHopperOrLater(card) ? kLargeWorkspaceBytes : kWorkspaceBytes;
}

Line WorkspaceLine(const PlanRequest& request) {
  const Workload& w = request.workload;
  const uint64_t each = WorkspaceBytes(request.card, w.is_deterministic);
  const uint64_t count = w.task == Task::kTrain ? 2 : 1;
  Line line{"workspace",
            each * count,
            each * count,
            std::max(each, kLargeWorkspaceBytes) * count,
            Basis::kComputed,
            fmt::format("{} {} workspace(s) of {} B", count, IsAmd(request.card) ? "hipBLAS" : "cuBLAS", each),
            IsAmd(request.card) ? "PyTorch's test of workspaces (test_cuda.py)"
                                : "PyTorch's documentation of CUBLAS_WORKSPACE_CONFIG",
            true,
            "deterministic"};
  if (w.engine == Engine::kMegatron && w.task == Task::kTrain) {
    const uint64_t own = EngineWorkspaceBytes(request.card);
    line.bytes += own;
    line.low_bytes += own;
    line.high_bytes += kLargeWorkspaceBytes;
    line.how += fmt::format(", one of TransformerEngine of {} B", own);
    line.source += "; TransformerEngine's size of its workspace";
  }
  return line;
}

void AddWorkspaces(const PlanRequest& request, DevicePlan& device) {
  if (!UsesCuda(request.card)) return;
  device.lines.push_back(WorkspaceLine(request));
  if (std::optional<Line> grouped = GroupedExpertsLine(request)) device.lines.push_back(std::move(*grouped));
}

bool IsOutside(const Line& line) {
  return line.term == "context" || line.term == "communicators" || line.term == "fragmentation" || line.term == "asset";
}

int64_t CommunicatorCount(const Workload& workload) {
  const Parallel& p = workload.parallel;
  if (workload.engine == Engine::kLlamaCpp) return 0;  // copies between devices, without NCCL
  // Replicas that serve have nothing to tell each other, unless their experts are spread over all of them.
  const int64_t replicas = workload.task == Task::kServe && p.expert == 1 ? 1 : p.data;
  int64_t count = 0;
  for (const int64_t degree : {p.tensor, p.pipeline, p.context, p.expert, replicas}) count += degree > 1 ? 1 : 0;
  return count;
}

void AddOutsideLines(const PlanRequest& request, DevicePlan& device) {
  const Constant& context = GetConstant("workload_context_bytes");
  Line line = LineOfConstant("context", context, 1, context.how);
  if (request.card && !UsesCuda(request.card)) {
    const Constant& runtime = GetConstant("other_runtime_context_bytes");
    line = LineOfConstant("context", runtime, 1, runtime.how);
  }
  if (request.card && request.card->context_bytes > 0) {
    line.bytes = request.card->context_bytes;
    const Constant& spread = GetConstant("card_context_line");
    line.low_bytes = static_cast<uint64_t>(static_cast<double>(line.bytes) * spread.low);
    line.high_bytes = static_cast<uint64_t>(static_cast<double>(line.bytes) * spread.high);
    line.how = "driver, runtime and kernels of one process on this card";
    line.source = request.card->source;
  }
  if (request.profile && request.profile->workload_context_bytes)
    line = MeasuredLine("context", *request.profile->workload_context_bytes, 1, *request.profile);
  device.lines.push_back(std::move(line));
  const int64_t communicators = CommunicatorCount(request.workload);
  if (communicators == 0 || !UsesCuda(request.card)) return;
  const Constant& each = GetConstant("communicator_bytes");
  device.lines.push_back(
      LineOfConstant("communicators", each, static_cast<double>(communicators),
                     fmt::format("{} NCCL communicator(s) x {} B", communicators, static_cast<uint64_t>(each.best))));
}

}  // namespace memstrata::plan
