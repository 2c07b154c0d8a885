// SGLang: the static pool does not fit at the start, or it leaves too little for what runs beside it. The same advice
// is wrong for one of the two, so the failure is told apart first. What it calls GB is GiB.

#include "oom/families/family.h"

namespace memstrata::oom {
namespace {

constexpr Clause kClauses[] = {
    {"mem_fraction_static=<decimal>", {Fact::kShare}},
    {"avail mem=<size>", {Fact::kFree}},
    {"K size: <size>, V size: <size>", {Fact::kUsed, Fact::kKvCache}},
    {"#tokens: <int>", {Fact::kTokens}},
};

void FindStart(const LogStream& stream, std::vector<OomReport>& reports) {
  ForEachMessage(stream.text, "Not enough memory. Please try to increase", 6000, 400,
                 [&](std::string_view window, size_t at) {
                   const Facts facts = CollectFacts(window, kClauses);
                   OomReport report = StartReport(stream, at, "sglang", "sglang_start");
                   report.verdict = OomVerdict::kCap;
                   report.free_bytes = facts.Bytes(Fact::kFree);
                   report.text =
                       "The weights leave nothing for the cache within the share of the device that SGLang may hold "
                       "at its start.";
                   if (facts.Has(Fact::kShare)) {
                     report.details.push_back({"mem_fraction_static", {}, facts.Number(Fact::kShare)});
                     report.text += fmt::format(" The share is {}.", facts.Number(Fact::kShare));
                   }
                   report.remedies.push_back({"Raise --mem-fraction-static, or load fewer weights per device.",
                                              std::nullopt, RemedyBasis::kAssumed, std::nullopt});
                   report.missing.push_back({"sizes", "The message says only that it is too little.",
                                             "Paste the lines before it: \"Load weight end\" with avail mem."});
                   reports.push_back(std::move(report));
                 });
}

void FindLog(const LogStream& stream, size_t first, std::vector<OomReport>& reports) {
  const size_t at = stream.text.find("KV Cache is allocated.");
  if (at == std::string::npos || reports.size() > first) return;
  const Facts facts = CollectFacts(std::string_view(stream.text).substr(at), kClauses);
  OomReport report = StartReport(stream, at, "sglang", "sglang_log");
  report.verdict = OomVerdict::kNotExhaustion;
  report.text = "A log of SGLang without an out-of-memory error of its own.";
  report.free_bytes = facts.Bytes(Fact::kFree);
  if (facts.Has(Fact::kTokens)) report.details.push_back({"kv_cache_tokens", {}, facts.Number(Fact::kTokens)});
  if (facts.Has(Fact::kKvCache)) {
    report.details.push_back({"kv_cache", facts.BytesOr0(Fact::kUsed) + facts.BytesOr0(Fact::kKvCache), {}});
  }
  reports.push_back(std::move(report));
}

}  // namespace

void FindSglang(const LogStream& stream, std::vector<OomReport>& reports) {
  const size_t first = reports.size();
  FindStart(stream, reports);
  FindLog(stream, first, reports);
}

}  // namespace memstrata::oom
