#include "report/xprof/block_colors.h"

#include <iterator>

namespace memstrata {
namespace {

constexpr std::string_view kColors[] = {
    "#e91e63", "#2196f3", "#81c784", "#4dd0e1", "#3f51b5", "#e53935", "#ff9100", "#b39ddb", "#90a4ae", "#26c6da",
    "#ad1457", "#03a9f4", "#2196f3", "#c2185b", "#795548", "#f9a825", "#00bfa5", "#880e4f", "#d500f9", "#ce93d8",
    "#ec407a", "#4caf50", "#ff8f00", "#ffca28", "#ab47bc", "#00e5ff", "#ff9800", "#40c4ff", "#1e88e5", "#9fa8da",
    "#4caf50", "#00b8d4", "#fb8c00", "#64b5f6", "#f4511e", "#ffab91", "#4caf50", "#b39ddb", "#66bb6a", "#4caf50",
    "#1e88e5", "#fb8c00", "#00c853", "#f4511e", "#f48fb1", "#e91e63", "#6d4c41", "#795548", "#4caf50", "#00897b",
    "#448aff", "#0d47a1", "#607d8b", "#673ab7", "#00c853", "#2e7d32", "#ffa726", "#5e35b1", "#ba68c8", "#8d6e63",
    "#00c853", "#ff6f00", "#f4511e", "#ff1744", "#9e9e9e", "#d81b60", "#4a148c", "#1e88e5", "#689f38", "#00c853",
    "#f4511e", "#304ffe", "#f48fb1", "#ffd600", "#ffb74d", "#8bc34a", "#303f9f", "#5d4037", "#00c853", "#ffcc80",
};

}  // namespace

std::string_view XProfBlockColor(size_t number) { return kColors[number % std::size(kColors)]; }

}  // namespace memstrata
