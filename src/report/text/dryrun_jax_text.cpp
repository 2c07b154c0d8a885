#include "report/text/dryrun_jax_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace memstrata {
namespace {

std::string Verdict(const dryrun::JaxAnswer& answer, const TextStyle& style) {
  const std::optional<int64_t> margin = answer.MarginBytes();
  if (!margin) return "";
  const std::string capacity = fmt::format("{}, {}", answer.card->name, FormatBytes(answer.card->visible_bytes));
  if (*margin >= 0)
    return fmt::format("{}  {}; {} are left.\n", style.Bold("It fits."), capacity, FormatBytes(*margin));
  return fmt::format("{}  {}; {} are missing.\n", style.Error("It does not fit."), capacity, FormatBytes(-*margin));
}

}  // namespace

std::string DryRunJaxText(const dryrun::JaxAnswer& answer, const TextStyle& style) {
  const auto width = static_cast<size_t>(std::clamp(style.width, 60, 140));
  std::string out = Verdict(answer, style);
  out += fmt::format("{} was compiled for {} by JAX {}, and not run.\n", answer.function, answer.compilation.target,
                     answer.compilation.jax_version);
  if (answer.is_for_cpu) {
    out +=
        fmt::format("\n  {}\n", WrapLines("Arguments and outputs are as large on any device. Temporaries are those of "
                                          "the CPU: XLA fuses and lays out in another way elsewhere. --topology "
                                          "compiles for a TPU that need not be here.",
                                          width - 2, 2));
  }
  return out + "\n";
}

}  // namespace memstrata
