#include "report/ci/junit.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_writer.h"

namespace memstrata {
namespace {

using accept::Verdict;

// As XML text or attribute. Control characters have no form in XML 1.0 and become "?".
std::string Xml(std::string_view text) {
  std::string out;
  for (const char c : ReplaceInvalidUtf8(text)) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') {
      out += '?';
    } else {
      out += c;
    }
  }
  return out;
}

std::string Test(const JudgedTest& test) {
  const std::string head =
      fmt::format("    <testcase classname=\"{}\" name=\"{}\"", Xml("memstrata." + test.group), Xml(test.name));
  if (test.verdict == Verdict::kPass)
    return fmt::format("{}>\n      <system-out>{}</system-out>\n    </testcase>\n", head, Xml(test.text));
  const std::string_view element = test.verdict == Verdict::kFail ? "failure" : "error";
  return fmt::format("{}>\n      <{} message=\"{}\">{}</{}>\n    </testcase>\n", head, element, Xml(test.text),
                     Xml(test.detail), element);
}

}  // namespace

Status WriteJunit(std::string_view suite, const std::vector<JudgedTest>& tests, ByteSink& sink) {
  const auto count = [&](Verdict verdict) {
    return std::count_if(tests.begin(), tests.end(), [&](const JudgedTest& test) { return test.verdict == verdict; });
  };
  const std::string counts = fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\"", tests.size(),
                                         count(Verdict::kFail), count(Verdict::kUndecided));
  std::string out =
      fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {}>\n  <testsuite name=\"{}\" {}>\n", counts,
                  Xml(suite), counts);
  for (const JudgedTest& test : tests) out += Test(test);
  return sink.Write(out + "  </testsuite>\n</testsuites>\n");
}

}  // namespace memstrata
