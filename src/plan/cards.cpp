#include "plan/cards.h"

#include <fmt/format.h>

#include "plan/toml_table.h"
#include "plan/workload.h"

namespace memstrata::data {
extern const std::string_view kCards;
}

namespace memstrata::plan {

Result<std::vector<Card>> ReadCards(std::string_view toml_text) {
  MEMSTRATA_ASSIGN_OR_RETURN(const TomlTable document, ParseToml(toml_text));
  std::vector<Card> cards;
  const auto list = document.table_lists.find("card");
  if (list == document.table_lists.end()) return Fail(ErrorCode::kCorruptInput, "The file has no [[card]].");
  for (const TomlTable& table : list->second) {
    Card card;
    card.id = table.Text("id");
    card.name = table.Text("name");
    card.vendor = table.Text("vendor");
    card.architecture = table.Text("architecture");
    card.vendor_bytes = static_cast<uint64_t>(table.Number("vendor_gib") * 0x1p30);
    card.visible_bytes = static_cast<uint64_t>(table.Number("visible_bytes"));
    card.compute_capability = table.Number("compute_capability");
    card.multiprocessor_count = static_cast<int32_t>(table.Number("multiprocessors"));
    card.threads_per_multiprocessor = static_cast<int32_t>(table.Number("threads_per_multiprocessor"));
    card.context_bytes = static_cast<uint64_t>(table.Number("context_bytes"));
    card.joins = table.Text("joins") != "no";
    const auto formats = table.lists.find("formats");
    if (formats != table.lists.end()) card.formats = formats->second;
    card.least_driver = table.Text("least_driver");
    card.source = table.Text("source");
    if (card.id.empty() || card.visible_bytes == 0 || card.source.empty()) {
      return Fail(ErrorCode::kCorruptInput,
                  fmt::format("The card \"{}\" lacks its id, visible_bytes or source.", card.id));
    }
    cards.push_back(std::move(card));
  }
  return cards;
}

const std::vector<Card>& BuiltInCards() {
  static const std::vector<Card> kCards = ReadCards(data::kCards).value_or(std::vector<Card>{});
  return kCards;
}

Result<Card> FindCard(std::string_view name) {
  std::string all;
  for (const Card& card : BuiltInCards()) {
    if (card.id == name || card.name == name) return card;
    all += fmt::format("{}{}", all.empty() ? "" : ", ", card.id);
  }
  if (Result<uint64_t> bytes = ParseBytes(name); bytes && *bytes > 0) {
    Card card;
    card.id = card.name = std::string(name);
    card.vendor_bytes = card.visible_bytes = *bytes;
    card.source = "capacity as given";
    return card;
  }
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("There is no card \"{}\". Known are {}; or give a capacity, as 80GiB.", name, all));
}

}  // namespace memstrata::plan
