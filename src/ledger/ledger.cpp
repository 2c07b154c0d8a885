#include "ledger/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ledger/moment.h"
#include "ledger/process_lines.h"
#include "measure/gaps.h"

namespace memstrata::ledger {
namespace {

using measure::DeviceSample;
using measure::FrameworkProcess;
using measure::MeasuredSession;
using measure::ProcessUse;

constexpr size_t kMostCurvePoints = 600;
constexpr const char* kNoUsers = "The vendor does not say who uses the device.";
constexpr const char* kHidden = "The vendor names the process and hides its memory.";
constexpr const char* kNotNamed =
    "The vendor does not name this process: it is in another container, or has no context on the device.";

// Sizes of a hostile file may exceed the type: then the difference wraps, as the sums do.
int64_t Difference(uint64_t whole_bytes, uint64_t part_bytes) { return static_cast<int64_t>(whole_bytes - part_bytes); }

Line Known(Term term, int64_t bytes, std::string note = {}) { return {term, {}, {}, bytes, std::move(note)}; }
Line Unknown(Term term, const char* why) { return {term, {}, {}, std::nullopt, why}; }

// What is left is one line, so that the sum is exact by construction; the tests check it against the lines.
void Close(Balance& balance) {
  uint64_t known_bytes = 0;
  for (const Line& line : balance.lines) known_bytes += static_cast<uint64_t>(line.bytes.value_or(0));
  balance.unexplained_bytes = Difference(balance.used_bytes, known_bytes);
}

class DeviceBalance {
 public:
  DeviceBalance(const MeasuredSession& session, SessionIndex* recording, const DeviceSample& sample)
      : session_(session), recording_(recording), sample_(sample), tree_(session.tree.begin(), session.tree.end()) {
    balance_.time_ns = sample.time_ns;
    balance_.used_bytes = sample.used_bytes;
  }

  Balance Make() {
    for (const FrameworkProcess& process : session_.processes) AddProcess(process);
    AddUsers();
    const std::optional<uint64_t> reserve = session_.devices[sample_.device].reserved_bytes;
    balance_.lines.push_back(
        reserve ? Known(Term::kDriverReserve, static_cast<int64_t>(*reserve))
                : Unknown(Term::kDriverReserve, "The vendor's library does not say what the driver reserves."));
    Close(balance_);
    return std::move(balance_);
  }

 private:
  void AddProcess(const FrameworkProcess& process) {
    std::optional<uint64_t> reserved_bytes;
    for (const measure::FrameworkDevice& device : process.devices) {
      if (DeviceIndexOf(session_, device) != sample_.device) continue;
      ProcessLines own = LinesOnDevice(process, device.device, recording_, sample_.time_ns);
      if (!own.reserved_bytes) continue;
      reserved_bytes = reserved_bytes.value_or(0) + *own.reserved_bytes;
      balance_.is_approximate |= own.is_approximate;
      std::move(own.lines.begin(), own.lines.end(), std::back_inserter(balance_.lines));
    }
    if (reserved_bytes) AddOutside(process, *reserved_bytes);
  }

  // What the process uses by the vendor's count, less what its framework holds.
  void AddOutside(const FrameworkProcess& process, uint64_t reserved_bytes) {
    recorded_.insert(process.process_id);
    Line line = {Term::kProcessOutside, process.label, {}, std::nullopt, kNoUsers};
    if (sample_.processes) {
      const auto use = std::find_if(sample_.processes->begin(), sample_.processes->end(),
                                    [&](const ProcessUse& one) { return one.process_id == process.process_id; });
      line.note = use == sample_.processes->end() ? kNotNamed : use->used_bytes ? "" : kHidden;
      if (line.note.empty()) line.bytes = Difference(*use->used_bytes, reserved_bytes);
    }
    balance_.lines.push_back(std::move(line));
  }

  void AddUsers() {
    AddSum(Term::kUnrecordedProcesses, [this](int32_t id) { return tree_.contains(id) && !recorded_.contains(id); });
    AddSum(Term::kOtherProcesses, [this](int32_t id) { return !tree_.contains(id) && !recorded_.contains(id); });
  }

  template <class Belongs>
  void AddSum(Term term, const Belongs& belongs) {
    uint64_t sum_bytes = 0;
    const char* why = sample_.processes ? nullptr : kNoUsers;
    for (const ProcessUse& use : sample_.processes.value_or(std::vector<ProcessUse>{})) {
      if (!belongs(use.process_id)) continue;
      if (!use.used_bytes) why = kHidden;
      sum_bytes += use.used_bytes.value_or(0);
    }
    balance_.lines.push_back(why == nullptr ? Known(term, static_cast<int64_t>(sum_bytes)) : Unknown(term, why));
  }

  const MeasuredSession& session_;
  SessionIndex* recording_;
  const DeviceSample& sample_;
  const std::set<int32_t> tree_;
  std::set<int32_t> recorded_;
  Balance balance_;
};

std::optional<Balance> HostBalance(const MeasuredSession& session, SessionIndex* recording,
                                   const measure::HostSample& sample) {
  if (!session.machine_bytes || !sample.available_bytes) return std::nullopt;
  Balance balance;
  balance.time_ns = sample.time_ns;
  balance.used_bytes = *session.machine_bytes - std::min(*session.machine_bytes, *sample.available_bytes);
  uint64_t tensor_bytes = 0;
  for (const FrameworkProcess& process : session.processes) {
    ProcessLines own = LinesOnHost(process, recording, sample.time_ns);
    for (Line& line : own.lines) {
      tensor_bytes += static_cast<uint64_t>(line.bytes.value_or(0));
      balance.lines.push_back(std::move(line));
    }
  }
  balance.lines.push_back(
      Known(Term::kResident, Difference(sample.resident_bytes, tensor_bytes),
            "Resident memory of the run beside tensors; negative where tensors were never touched."));
  balance.lines.push_back(
      Unknown(Term::kOtherProcesses, "Other processes and the kernel are not told apart: they are in the rest."));
  Close(balance);
  return balance;
}

}  // namespace

Result<Ledger> MakeLedger(const MeasuredSession& session, SessionIndex* recording, const std::string& at) {
  MEMSTRATA_ASSIGN_OR_RETURN(const When when, ParseWhen(session, at));
  Ledger ledger;
  ledger.at = at;
  for (uint32_t device = 0; device < session.devices.size(); ++device) {
    const DeviceSample* sample = FindDeviceSample(session, device, when);
    if (sample == nullptr) continue;
    ledger.devices.push_back(
        {device, DeviceBalance(session, recording, *sample).Make(), DeviceCurve(session, device, kMostCurvePoints)});
  }
  if (const measure::HostSample* sample = FindHostSample(session, when))
    ledger.host = HostBalance(session, recording, *sample);
  ledger.gaps = FindGaps(session);
  if (!ledger.host)
    ledger.gaps.push_back(
        {"the balance of the host", "No sample says how much memory of the machine is available.", ""});
  return ledger;
}

}  // namespace memstrata::ledger
