#include "base/json_writer.h"

#include <gtest/gtest.h>

#include <limits>

namespace memstrata {
namespace {

std::string Compact(void (*write)(JsonWriter&)) {
  JsonWriter json(JsonWriter::Style::kCompact);
  write(json);
  return json.Finish();
}

TEST(JsonWriter, UnknownIsNull) {
  EXPECT_EQ(Compact([](JsonWriter& json) {
              json.StartObject();
              json.Field("a", std::optional<uint64_t>{});
              json.Field("b", std::numeric_limits<double>::quiet_NaN());
              json.EndObject();
            }),
            "{\"a\":null,\"b\":null}\n");
}

TEST(JsonWriter, IntegersThatJavaScriptCannotHoldAreHexStrings) {
  EXPECT_EQ(Compact([](JsonWriter& json) {
              json.StartArray();
              json.Value((uint64_t{1} << 53) - 1);
              json.Value(uint64_t{1} << 53);
              json.Value(UINT64_MAX);
              json.EndArray();
            }),
            "[9007199254740991,\"0x20000000000000\",\"0xffffffffffffffff\"]\n");
}

TEST(JsonWriter, InvalidUtf8IsReplaced) {
  EXPECT_EQ(Compact([](JsonWriter& json) { json.Value(std::string_view("a\xFF\xC3(b\xED\xA0\x80")); }),
            "\"a\xEF\xBF\xBD\xEF\xBF\xBD(b\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"\n");
}

TEST(JsonWriter, IndentedByTwo) {
  JsonWriter json;
  json.StartObject();
  json.Field("n", uint64_t{42});
  json.EndObject();
  EXPECT_EQ(json.Finish(), "{\n  \"n\": 42\n}\n");
}

}  // namespace
}  // namespace memstrata
