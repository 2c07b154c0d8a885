#include "plan_score_names.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

#include "plan/model/model_description.h"

namespace memstrata::bench {
namespace {

// What a table calls a thing → what the planner calls it.
using Alias = std::pair<std::string_view, std::string_view>;

// Names that do not hold the planner's own. Models of one shape stand for one another.
constexpr Alias kModelAliases[] = {
    {"llama 3 70b", "llama-3.1-70b"}, {"llama 3.3 70b", "llama-3.1-70b"},
    {"llama 3 8b", "llama-3.1-8b"},   {"r1-distill-qwen-14b", "qwen2.5-14b"},
    {"distill-14b", "qwen2.5-14b"},   {"v2-lite", "deepseek-v2-lite"},
    {"deepseek-r1", "deepseek-v3"},   {"vit-h", "vit-huge-14"},
    {"vit huge", "vit-huge-14"},      {"vit-l", "vit-large-16"},
    {"vit large", "vit-large-16"},    {"stable diffusion 1.5", "stable-diffusion-1.5-unet"}};

constexpr Alias kDeviceAliases[] = {
    {"h100 96", "h100-96g"}, {"h100", "h100-80g"}, {"gb200", "b200"},   {"178.36 gib", "b200"},
    {"a100 40", "a100-40g"}, {"a100", "a100-80g"}, {"a6000", "48GiB"},  {"v100", "v100-16g"},
    {"4070", "16GiB"},       {"4090", "rtx4090"},  {"3090", "rtx3090"}, {"16gb class (15.77 gib)", "15.77GiB"}};

// Runs of letters and of digits with blanks around each: "Llama2 7B" → " llama 2 7 b ".
std::string Parts(std::string_view text) {
  enum Kind : uint8_t { kOther, kLetter, kDigit };
  std::string parts = " ";
  Kind last = kOther;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const Kind kind = std::isdigit(byte) != 0 ? kDigit : std::isalpha(byte) != 0 ? kLetter : kOther;
    if (kind != last && parts.back() != ' ') parts += ' ';
    if (kind != kOther) parts += static_cast<char>(std::tolower(byte));
    last = kind;
  }
  return parts.back() == ' ' ? parts : parts + ' ';
}

/// The longest name in a text so far.
struct Longest {
  std::string parts;
  size_t size = 0;
  std::string_view found{};

  void Try(std::string_view name, std::string_view meaning) {
    const std::string wanted = Parts(name);
    if (wanted.size() <= size || parts.find(wanted) == std::string::npos) return;
    size = wanted.size();
    found = meaning;
  }
};

}  // namespace

std::string_view FindModelName(std::string_view text) {
  static const std::vector<std::string> presets = plan::PresetNames();
  Longest longest{Parts(text)};
  for (const std::string& name : presets) longest.Try(name, name);
  for (const auto& [name, meaning] : kModelAliases) longest.Try(name, meaning);
  return longest.found;
}

Result<plan::Card> FindDevice(std::string_view text) {
  Longest longest{Parts(text)};
  for (const plan::Card& card : plan::BuiltInCards()) longest.Try(card.id, card.id);
  for (const auto& [name, meaning] : kDeviceAliases) longest.Try(name, meaning);
  return plan::FindCard(longest.found.empty() ? text : longest.found);
}

}  // namespace memstrata::bench
