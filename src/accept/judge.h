#pragma once
// Figures against limits. A pure function: the same figures always get the same judgement.
//
// Of an upper limit: a value above it fails, also one that is a lower bound. A value below it passes only when it was
// measured whole: a lower bound, an interrupted run, a device that others used besides, or a figure that nobody could
// measure are undecided.

#include <string>
#include <vector>

#include "accept/figures.h"
#include "accept/spec.h"
#include "accept/verdict.h"

namespace memstrata::accept {

struct Check {
  std::string name;  // device_peak, framework_peak, host_peak, time, throughput, errors, allocator_retries, growth,
                     // margin, quality, coverage
  std::optional<double> value;
  std::optional<double> limit;
  std::string unit;  // "bytes", "s", "1/s", "count", "1"
  Verdict verdict = Verdict::kUndecided;
  std::string text;
};

/// `repeats` must not be empty. The worst repeat counts.
std::vector<Check> Judge(const Spec& spec, const std::vector<RepeatFigures>& repeats);
Verdict Overall(const std::vector<Check>& checks);

/// "you measured 512 of 4,096 tokens": a sentence for each declared maximum that the run does not reach.
std::vector<std::string> CoverageGaps(const Spec& spec);

}  // namespace memstrata::accept
