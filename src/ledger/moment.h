#pragma once
// Which sample a ledger is of.

#include "measure/session.h"

namespace memstrata::ledger {

/// "peak", "end", or a time after the first sample ("1.5s"). errors: kInvalidArgument for another text
struct When {
  enum class Kind : uint8_t { kPeak, kEnd, kTime } kind = Kind::kPeak;
  int64_t time_ns = 0;  // since the Unix epoch, with kTime
};
Result<When> ParseWhen(const measure::MeasuredSession& session, const std::string& at);

/// The device's sample; nullptr where it has none. For kTime the last one before, or the first.
const measure::DeviceSample* FindDeviceSample(const measure::MeasuredSession& session, uint32_t device, When when);
const measure::HostSample* FindHostSample(const measure::MeasuredSession& session, When when);

}  // namespace memstrata::ledger
