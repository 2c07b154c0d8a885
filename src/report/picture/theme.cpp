#include "report/picture/theme.h"

namespace memstrata {
namespace {

constexpr Colour kInkOnFill = {0x11151A};
constexpr Colour kWhite = {0xFFFFFF};

constexpr Theme kLight = {
    .surface = {0xFFFFFF},
    .sunken = {0xEBEDF0},
    .line = {0xC2C9D1},
    .grid = {0xECEFF2},
    .ink = {0x171C22},
    .ink2 = {0x424C57},
    .ink3 = {0x5E6974},
    .alarm = {0xB81428},
    .idle = {0xC9CFD6},
    .phases = {{0xE6E9ED}, {0xD3D9E0}, {0xBFC8D2}},
    .categories =
        {
            {"parameter", {0x314593}, kWhite},
            {"optimizer_state", {0xA2ABF4}, kInkOnFill},
            {"kv_cache", {0x499491}, kInkOnFill},
            {"workspace", {0x5B4F24}, kWhite},
            {"communication", {0x989C72}, kInkOnFill},
            {"input", {0x7DB4C1}, kInkOnFill},
            {"gradient", {0x477862}, kWhite},
            {"activation", {0xE8C367}, kInkOnFill},
            {"temporary", {0xCF7235}, kInkOnFill},
            {"logits", {0x783560}, kWhite},
            {"unknown", {0xCECED0}, kInkOnFill},
        },
};

constexpr Theme kDark = {
    .surface = {0x15191E},
    .sunken = {0x0B0E11},
    .line = {0x3C4550},
    .grid = {0x1F252B},
    .ink = {0xE8ECF0},
    .ink2 = {0xB4BDC7},
    .ink3 = {0x8D98A4},
    .alarm = {0xFF7A80},
    .idle = {0x3A424C},
    .phases = {{0x20262D}, {0x2B333C}, {0x3A444F}},
    .categories =
        {
            {"parameter", {0x3977C4}, kWhite},
            {"optimizer_state", {0xA0A9E5}, kInkOnFill},
            {"kv_cache", {0x5EB8AA}, kInkOnFill},
            {"workspace", {0x634023}, kWhite},
            {"communication", {0x7D986A}, kInkOnFill},
            {"input", {0xA3D3E6}, kInkOnFill},
            {"gradient", {0x3C6D5D}, kWhite},
            {"activation", {0xF0C465}, kInkOnFill},
            {"temporary", {0xD37325}, kInkOnFill},
            {"logits", {0x9E4D8C}, kWhite},
            {"unknown", {0x464C53}, kWhite},
        },
};

}  // namespace

const Theme::Category& Theme::Of(std::string_view category) const {
  if (category == "buffer") category = "parameter";
  if (category == "autocast_copy") category = "activation";
  for (const Category& known : categories) {
    if (known.name == category) return known;
  }
  return categories[std::size(categories) - 1];
}

const Theme& ThemeOf(ThemeName name) { return name == ThemeName::kDark ? kDark : kLight; }

std::optional<ThemeName> ParseThemeName(std::string_view word) {
  if (word == "light") return ThemeName::kLight;
  if (word == "dark") return ThemeName::kDark;
  return std::nullopt;
}

}  // namespace memstrata
