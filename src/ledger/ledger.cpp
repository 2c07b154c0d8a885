#include "ledger/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/units.h"
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
constexpr size_t kMostProcessLines = 16;
constexpr const char* kOtherNumbers =
    "The vendor's numbers of processes are not those that are seen here, as in a container: what it names may be this "
    "run's.";
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
    bool is_on_device = false;
    for (const measure::FrameworkDevice& device : process.devices) {
      if (DeviceIndexOf(session_, device) != sample_.device) continue;
      is_on_device = true;
      ProcessLines own = LinesOnDevice(process, device.device, recording_, sample_.time_ns, UseOf(process) != nullptr);
      if (!own.reserved_bytes) continue;
      reserved_bytes = reserved_bytes.value_or(0) + *own.reserved_bytes;
      balance_.is_approximate |= own.is_approximate;
      std::move(own.lines.begin(), own.lines.end(), std::back_inserter(balance_.lines));
    }
    if (reserved_bytes) {
      AddOutside(process, *reserved_bytes);
    } else if (is_on_device && UseOf(process) != nullptr) {
      AddOutside(process, 0);  // its framework holds nothing yet, or nothing any more
    }
  }

  const ProcessUse* UseOf(const FrameworkProcess& process) const {
    if (!sample_.processes) return nullptr;
    const auto use = std::find_if(sample_.processes->begin(), sample_.processes->end(),
                                  [&](const ProcessUse& one) { return one.process_id == process.process_id; });
    return use == sample_.processes->end() ? nullptr : &*use;
  }

  // What the process uses by the vendor's count, less what its framework holds.
  void AddOutside(const FrameworkProcess& process, uint64_t reserved_bytes) {
    recorded_.insert(process.process_id);
    Line line = {Term::kProcessOutside, process.label, {}, std::nullopt, kNoUsers};
    if (sample_.processes) {
      const ProcessUse* use = UseOf(process);
      line.note = use == nullptr ? kNotNamed : use->used_bytes ? "" : kHidden;
      names_otherwise_ |= use == nullptr && reserved_bytes > 0;
      if (line.note.empty()) line.bytes = Difference(*use->used_bytes, reserved_bytes);
    }
    balance_.lines.push_back(std::move(line));
  }

  void AddUsers() {
    const char* why = !sample_.processes ? kNoUsers : names_otherwise_ ? kOtherNumbers : nullptr;
    if (why != nullptr) {
      balance_.lines.push_back(Unknown(Term::kUnrecordedProcesses, why));
      balance_.lines.push_back(Unknown(Term::kOtherProcesses, why));
      return;
    }
    AddEach(Term::kUnrecordedProcesses, [this](int32_t id) { return tree_.contains(id) && !recorded_.contains(id); });
    AddEach(Term::kOtherProcesses, [this](int32_t id) { return !tree_.contains(id) && !recorded_.contains(id); });
  }

  // A line for each process, the largest first; of many the rest as one line.
  template <class Belongs>
  void AddEach(Term term, const Belongs& belongs) {
    std::vector<ProcessUse> users;
    std::copy_if(sample_.processes->begin(), sample_.processes->end(), std::back_inserter(users),
                 [&](const ProcessUse& use) { return belongs(use.process_id); });
    std::sort(users.begin(), users.end(), [](const ProcessUse& a, const ProcessUse& b) {
      return std::pair(a.used_bytes, -a.process_id) > std::pair(b.used_bytes, -b.process_id);
    });
    uint64_t rest_bytes = 0;
    for (size_t i = 0; i < users.size(); ++i) {
      if (i >= kMostProcessLines && users[i].used_bytes) {
        rest_bytes += *users[i].used_bytes;
        continue;
      }
      Line line =
          users[i].used_bytes ? Known(term, static_cast<int64_t>(*users[i].used_bytes)) : Unknown(term, kHidden);
      line.process = fmt::format("process {}", users[i].process_id);
      balance_.lines.push_back(std::move(line));
    }
    if (users.empty() || rest_bytes > 0) balance_.lines.push_back(Known(term, static_cast<int64_t>(rest_bytes)));
  }

  const MeasuredSession& session_;
  SessionIndex* recording_;
  const DeviceSample& sample_;
  const std::set<int32_t> tree_;
  std::set<int32_t> recorded_;
  bool names_otherwise_ = false;  // the vendor numbers processes otherwise than they are numbered here
  Balance balance_;
};

// Anonymous and shared memory: the cache of files is no use, since the kernel gives it back when it is asked for.
void AddHolders(const measure::HostSample& sample, uint64_t tensor_bytes, Balance& balance) {
  const auto add = [&balance](Term term, std::optional<int64_t> bytes, const char* note) {
    balance.lines.push_back({term, {}, {}, bytes, note});
  };
  if (sample.process_count == 0) {
    add(Term::kResident, std::nullopt, "No process of the run was there at this sample.");
  } else if (!sample.held_bytes) {
    add(Term::kResident, std::nullopt, "How much its processes share was not asked at this sample.");
  } else {
    add(Term::kResident, Difference(*sample.held_bytes, tensor_bytes),
        "Anonymous and shared memory of the run beside tensors; negative where tensors were never touched.");
  }
  const bool knows_run = sample.process_count == 0 || sample.held_bytes.has_value();
  if (sample.machine_held_bytes && knows_run) {
    add(Term::kOtherProcesses, Difference(*sample.machine_held_bytes, sample.held_bytes.value_or(0)),
        "Anonymous and shared memory of all others.");
  } else {
    add(Term::kOtherProcesses, std::nullopt,
        "What all processes hold, or what this run does of it, is not known here.");
  }
  if (sample.kernel_bytes) {
    add(Term::kKernel, static_cast<int64_t>(*sample.kernel_bytes),
        "Slabs that stay, stacks, page tables, and what it keeps free for itself.");
  } else {
    add(Term::kKernel, std::nullopt, "The kernel does not say.");
  }
}

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
  AddHolders(sample, tensor_bytes, balance);
  Close(balance);
  return balance;
}

// The kernel's mark of a process also holds what no sample saw, as of a program that ended before the next one.
void AddHiddenPeak(const MeasuredSession& session, const measure::HostSample& sample, std::vector<measure::Gap>& gaps) {
  constexpr uint64_t kNoticed = 100;  // one part in so many
  const std::optional<measure::MeasuredPeak> peak = FindPeaks(session).host;
  if (!peak || peak->bytes <= sample.SureBytes() + sample.SureBytes() / kNoticed) return;
  gaps.push_back(
      {"the host at the run's own peak",
       fmt::format("The run reached {} by the kernel's own mark, between two samples; this balance is of the "
                   "sample with most, {}.",
                   FormatBytes(peak->bytes), FormatBytes(sample.SureBytes())),
       "Raise --rate."});
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
  ledger.gaps = FindGaps(session);
  if (const measure::HostSample* sample = FindHostSample(session, when)) {
    ledger.host = HostBalance(session, recording, *sample);
    ledger.host_detail = {sample->swapped_bytes, sample->locked_bytes, sample->pinned_bytes, sample->group_bytes};
    if (when.kind == When::Kind::kPeak) AddHiddenPeak(session, *sample, ledger.gaps);
  }
  if (!ledger.host)
    ledger.gaps.push_back(
        {"the balance of the host", "No sample says how much memory of the machine is available.", ""});
  return ledger;
}

}  // namespace memstrata::ledger
