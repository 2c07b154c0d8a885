// The files of a measured run, and what is computed from them: first byte 0 run.tsv and one process, 1 the probe of
// `doctor`, 2 a status of /proc. Every balance of a ledger must add up.

#include <cstdlib>
#include <string_view>

#include "ledger/ledger.h"
#include "measure/machine.h"
#include "measure/process_tree.h"

namespace {

void CheckSum(const memstrata::ledger::Balance& balance) {
  uint64_t sum = static_cast<uint64_t>(balance.unexplained_bytes);  // modulo 2^64: hostile sizes may wrap
  for (const memstrata::ledger::Line& line : balance.lines) sum += static_cast<uint64_t>(line.bytes.value_or(0));
  if (sum != balance.used_bytes) std::abort();
}

void CheckSession(std::string_view text) {
  memstrata::measure::MeasuredSession session;
  const size_t cut = text.find('\0');
  memstrata::measure::AddRunLines(text.substr(0, cut), session);
  if (cut != std::string_view::npos) {
    memstrata::measure::FrameworkProcess process;
    memstrata::measure::AddProcessLines(text.substr(cut + 1), process);
    session.processes.push_back(process);
  }
  (void)FindPeaks(session);
  const auto answer = memstrata::ledger::MakeLedger(session, nullptr, "end");
  if (!answer) std::abort();
  for (const memstrata::ledger::DeviceLedger& device : answer->devices) CheckSum(device.balance);
  if (answer->host) CheckSum(*answer->host);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  memstrata::measure::Machine machine;
  switch (data[0] % 3) {
    case 0:
      CheckSession(text);
      break;
    case 1:
      AddProbeLines(text, machine);
      break;
    case 2:
      (void)memstrata::measure::ParseProcessStatus(text);
      break;
  }
  return 0;
}
