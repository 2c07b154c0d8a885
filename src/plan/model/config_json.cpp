#include "plan/model/config_json.h"

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>

#include <algorithm>

namespace memstrata::plan {
namespace {

constexpr size_t kMaxTextBytes = size_t{16} << 20;
constexpr int kMaxDepth = 64;
constexpr int64_t kMaxInteger = int64_t{1} << 40;

const rapidjson::Value& As(const void* value) { return *static_cast<const rapidjson::Value*>(value); }

// Depth of nesting, so that the parser's recursion stays bounded.
bool IsTooDeep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '{' || c == '[') {
      if (++depth > kMaxDepth) return true;
    }
    if (c == '}' || c == ']') --depth;
  }
  return false;
}

}  // namespace

struct ConfigJson::Document {
  rapidjson::Document json;
};

Result<ConfigJson> ConfigJson::Parse(std::string_view text) {
  if (text.size() > kMaxTextBytes)
    return Fail(ErrorCode::kLimitExceeded, "A model configuration larger than 16 MiB is not read.");
  if (IsTooDeep(text))
    return Fail(ErrorCode::kLimitExceeded, "The model configuration is nested more than 64 levels deep.");
  ConfigJson config;
  config.document_ = std::make_shared<Document>();
  rapidjson::Document& json = config.document_->json;
  json.Parse(text.data(), text.size());
  if (json.HasParseError()) {
    return Fail(ErrorCode::kCorruptInput,
                fmt::format("This is not JSON: {}", rapidjson::GetParseError_En(json.GetParseError())),
                json.GetErrorOffset());
  }
  if (!json.IsObject())
    return Fail(ErrorCode::kCorruptInput, "A model configuration is a JSON object; this is another value.");
  config.value_ = &json;
  config.used_ = std::make_shared<std::set<std::string, std::less<>>>();
  return config;
}

const void* ConfigJson::FindMember(std::string_view key) const {
  const void* last = nullptr;
  for (const auto& member : As(value_).GetObject()) {
    if (key == std::string_view(member.name.GetString(), member.name.GetStringLength())) last = &member.value;
  }
  if (last == nullptr && defaults_) return defaults_->FindMember(key);
  if (last != nullptr) used_->emplace(key);
  return last;
}

const void* ConfigJson::Find(std::string_view key) const {
  const void* found = FindMember(key);
  return found == nullptr || As(found).IsNull() ? nullptr : found;
}

std::optional<ConfigJson> ConfigJson::Object(std::string_view key) const {
  const void* value = Find(key);
  if (value == nullptr || !As(value).IsObject()) return std::nullopt;
  ConfigJson config;
  config.document_ = document_;
  config.value_ = value;
  config.used_ = std::make_shared<std::set<std::string, std::less<>>>();
  return config;
}

ConfigJson ConfigJson::WithDefaults(std::string_view defaults) const {
  ConfigJson config = *this;
  if (Result<ConfigJson> parsed = Parse(defaults)) config.defaults_ = std::make_shared<ConfigJson>(*std::move(parsed));
  return config;
}

std::vector<std::string> ConfigJson::DefaultedKeys() const {
  if (!defaults_) return {};
  return {defaults_->used_->begin(), defaults_->used_->end()};
}

bool ConfigJson::Has(std::string_view key) const { return Find(key) != nullptr; }

bool ConfigJson::HasOneOf(std::initializer_list<std::string_view> keys) const {
  return std::any_of(keys.begin(), keys.end(), [this](std::string_view key) { return Has(key); });
}

bool ConfigJson::Mentions(std::string_view key) const { return FindMember(key) != nullptr; }

std::optional<std::string> ConfigJson::Text(std::string_view key) const {
  const void* value = Find(key);
  if (value == nullptr || !As(value).IsString()) return std::nullopt;
  return std::string(As(value).GetString(), As(value).GetStringLength());
}

std::optional<double> ConfigJson::Number(std::string_view key) const {
  const void* value = Find(key);
  if (value == nullptr || !As(value).IsNumber()) return std::nullopt;
  return As(value).GetDouble();
}

bool ConfigJson::Flag(std::string_view key, bool otherwise) const {
  const void* value = Find(key);
  return value != nullptr && As(value).IsBool() ? As(value).GetBool() : otherwise;
}

std::vector<std::string> ConfigJson::Texts(std::string_view key) const {
  std::vector<std::string> texts;
  const void* value = Find(key);
  if (value == nullptr || !As(value).IsArray()) return texts;
  for (const rapidjson::Value& item : As(value).GetArray()) {
    if (item.IsString()) texts.emplace_back(item.GetString(), item.GetStringLength());
  }
  return texts;
}

std::vector<int64_t> ConfigJson::Integers(std::string_view key) const {
  std::vector<int64_t> numbers;
  const void* value = Find(key);
  if (value == nullptr || !As(value).IsArray()) return numbers;
  for (const rapidjson::Value& item : As(value).GetArray()) {
    if (item.IsInt64()) numbers.push_back(item.GetInt64());
  }
  return numbers;
}

int64_t ConfigJson::ArraySize(std::string_view key) const {
  const void* value = Find(key);
  return value != nullptr && As(value).IsArray() ? static_cast<int64_t>(As(value).Size()) : 0;
}

Result<int64_t> ConfigJson::Integer(std::string_view key, int64_t otherwise) const {
  const void* value = Find(key);
  if (value == nullptr) return otherwise;
  if (!As(value).IsInt64() || As(value).GetInt64() < 0 || As(value).GetInt64() > kMaxInteger) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("\"{}\" must be a whole number from 0 to 2^40.", key));
  }
  return As(value).GetInt64();
}

Result<int64_t> ConfigJson::RequiredInteger(std::string_view key) const { return RequiredIntegerOf({key}); }

Result<int64_t> ConfigJson::RequiredIntegerOf(std::initializer_list<std::string_view> keys) const {
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t value, IntegerOf(keys, 0));
  if (value > 0) return value;
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("The model configuration needs \"{}\", a whole number above 0.", *keys.begin()));
}

Result<int64_t> ConfigJson::IntegerOf(std::initializer_list<std::string_view> keys, int64_t otherwise) const {
  for (const std::string_view key : keys) {
    if (Find(key) != nullptr) return Integer(key, otherwise);
  }
  return otherwise;
}

Result<int64_t> ConfigJson::Layers(std::initializer_list<std::string_view> keys) const {
  MEMSTRATA_ASSIGN_OR_RETURN(const int64_t layers, RequiredIntegerOf(keys));
  if (layers <= kMostLayers) return layers;
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("{} layers are more than the {} that are planned for.", layers, kMostLayers));
}

std::vector<std::string> ConfigJson::UnusedKeys() const {
  std::vector<std::string> unused;
  for (const auto& member : As(value_).GetObject()) {
    std::string name(member.name.GetString(), member.name.GetStringLength());
    if (!used_->contains(name)) unused.push_back(std::move(name));
  }
  return unused;
}

Status CheckHeads(int64_t hidden, int64_t heads) {
  if (heads > 0 && hidden % heads == 0) return {};
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("A hidden size of {} cannot be divided among {} attention heads.", hidden, heads));
}

}  // namespace memstrata::plan
