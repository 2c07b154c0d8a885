#include "accept/placeholders.h"

#include <gtest/gtest.h>

namespace memstrata::accept {
namespace {

const std::map<std::string, std::string> kParameters = {{"batch", "8"}, {"max-len", "4096"}};

TEST(Placeholders, ParametersAreFilledIn) {
  EXPECT_EQ(Fill("--batch={batch} {max-len}{batch}", kParameters), "--batch=8 40968");
  EXPECT_EQ(Fill("{batch} {other} {", kParameters), "8 {other} {");
}

TEST(Placeholders, BracesRoundOtherThingsStay) {
  for (const char* text : {"{", "}", "{}", "{ batch }", "{3}", "x{2,3}", "{\"a\": {\"batch\": 1}}", "{batch", "{{}}"})
    EXPECT_EQ(Fill(text, kParameters), text);
}

TEST(Placeholders, DoubleBracesAreTheTextItself) {
  EXPECT_EQ(Fill("{{batch}}", kParameters), "{batch}");
  EXPECT_EQ(Fill("print(f'{{x}}')", kParameters), "print(f'{x}')");
  EXPECT_EQ(Fill("{{batch}", kParameters), "{8");
}

TEST(Placeholders, AnUnknownNameIsFound) {
  const auto known = [](const std::string& name) { return kParameters.contains(name); };
  EXPECT_EQ(UnknownPlaceholder("{batch} {typo} {other}", known), "typo");
  EXPECT_EQ(UnknownPlaceholder("{batch} {{typo}} {} {3} {\"typo\"}", known), "");
}

TEST(Placeholders, AnEscapedTextComesBack) {
  for (const char* text : {"", "{batch}", "{{batch}}", "{{{batch}}}", "a {x} b {{y}} {", "}}{{batch", "{batch}}"}) {
    EXPECT_EQ(Fill(EscapePlaceholders(text), kParameters), text);
    EXPECT_EQ(UnknownPlaceholder(EscapePlaceholders(text), [](const std::string&) { return false; }), "");
  }
}

}  // namespace
}  // namespace memstrata::accept
