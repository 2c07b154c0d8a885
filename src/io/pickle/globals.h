#pragma once
// The explicit list of globals that a snapshot may name without meaning harm. None is imported or called: the machine
// knows what the result would be and asks its Consumer for that.

#include <cstdint>
#include <optional>
#include <string_view>

namespace memstrata::pickle {

enum class HarmlessGlobal : uint8_t {
  kRestoreTypeTag,  // torch.jit._pickle restore_type_tag(value, type): the value itself
  kOrderedDict,     // collections OrderedDict(): an empty dict
  kCodecsEncode,    // _codecs encode(text, "latin1"): how protocols 0 to 2 write bytes; the text itself
};

struct HarmlessGlobalInfo {
  std::string_view module;
  std::string_view name;
  HarmlessGlobal which;
};
inline constexpr HarmlessGlobalInfo kHarmlessGlobals[] = {
    {"torch.jit._pickle", "restore_type_tag", HarmlessGlobal::kRestoreTypeTag},
    {"collections", "OrderedDict", HarmlessGlobal::kOrderedDict},
    {"_codecs", "encode", HarmlessGlobal::kCodecsEncode},
};

}  // namespace memstrata::pickle
