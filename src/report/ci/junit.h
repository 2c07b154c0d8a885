#pragma once
// Judgements as JUnit XML, which CI servers show as tests: a failure is <failure>, what is undecided is <error>.

#include <string>
#include <vector>

#include "accept/verdict.h"
#include "base/byte_sink.h"

namespace memstrata {

struct JudgedTest {
  std::string group;  // "cuda:0"
  std::string name;   // "peak_live"
  accept::Verdict verdict = accept::Verdict::kUndecided;
  std::string text;    // one sentence
  std::string detail;  // further lines; empty for none
};

Status WriteJunit(std::string_view suite, const std::vector<JudgedTest>& tests, ByteSink& sink);

}  // namespace memstrata
