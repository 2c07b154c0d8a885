#include "io/elf/dynamic_symbols.h"

#include <elf.h>
#include <fmt/format.h>

#include <cstring>
#include <optional>

namespace memstrata {
namespace {

constexpr uint64_t kMaxTableBytes = uint64_t{512} << 20;  // the largest in PyTorch 2.11 is 47 MiB

Error Corrupt(std::string_view what, uint64_t offset) {
  return {ErrorCode::kCorruptInput, fmt::format("The shared library is broken: {}.", what), {}, offset};
}

// `count` records at `offset`, checked against the file before anything is allocated.
template <class T>
Result<std::vector<T>> ReadRecords(const RandomAccess& file, uint64_t offset, uint64_t size_bytes) {
  if (size_bytes > kMaxTableBytes)
    return Fail(ErrorCode::kLimitExceeded, "A table of the shared library is too large.", offset);
  if (offset > file.size_bytes() || size_bytes > file.size_bytes() - offset)
    return tl::unexpected(Corrupt("a table lies behind its end", offset));
  std::vector<T> records(size_bytes / sizeof(T));
  MEMSTRATA_TRY(file.ReadAt(offset, std::as_writable_bytes(std::span<T>(records))));
  return records;
}

Result<Elf64_Ehdr> ReadHeader(const RandomAccess& file) {
  Elf64_Ehdr header;
  constexpr std::string_view kNot = "This is no shared library for 64-bit little-endian machines.";
  if (file.size_bytes() < sizeof(header)) return Fail(ErrorCode::kUnsupportedFormat, std::string(kNot));
  MEMSTRATA_TRY(file.ReadAt(0, std::as_writable_bytes(std::span<Elf64_Ehdr>(&header, 1))));
  const bool known = std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
                     header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_shentsize == sizeof(Elf64_Shdr);
  if (!known) return Fail(ErrorCode::kUnsupportedFormat, std::string(kNot));
  return header;
}

// The text that begins at `offset` of a table of zero-terminated texts.
std::optional<std::string> TextAt(const std::vector<char>& texts, uint64_t offset) {
  if (offset >= texts.size()) return std::nullopt;
  const void* end = std::memchr(texts.data() + offset, 0, texts.size() - offset);
  if (end == nullptr) return std::nullopt;
  return std::string(texts.data() + offset, static_cast<const char*>(end));
}

const Elf64_Shdr* SectionOfType(const std::vector<Elf64_Shdr>& sections, uint32_t type) {
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type == type) return &section;
  }
  return nullptr;
}

Result<std::vector<char>> TextsOf(const RandomAccess& file, const std::vector<Elf64_Shdr>& sections,
                                  const Elf64_Shdr& section) {
  if (section.sh_link >= sections.size()) return tl::unexpected(Corrupt("a table names no texts", section.sh_offset));
  const Elf64_Shdr& texts = sections[section.sh_link];
  return ReadRecords<char>(file, texts.sh_offset, texts.sh_size);
}

Status ReadNeeds(const RandomAccess& file, const std::vector<Elf64_Shdr>& sections, const Elf64_Shdr& section,
                 DynamicSymbols& out) {
  MEMSTRATA_ASSIGN_OR_RETURN(const auto texts, TextsOf(file, sections, section));
  MEMSTRATA_ASSIGN_OR_RETURN(const auto entries, ReadRecords<Elf64_Dyn>(file, section.sh_offset, section.sh_size));
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_SONAME) continue;
    std::optional<std::string> text = TextAt(texts, entry.d_un.d_val);
    if (!text) return tl::unexpected(Corrupt("a library name lies outside the texts", section.sh_offset));
    if (entry.d_tag == DT_NEEDED) {
      out.needed.push_back(*std::move(text));
    } else {
      out.name = *std::move(text);
    }
  }
  return {};
}

Status ReadSymbols(const RandomAccess& file, const std::vector<Elf64_Shdr>& sections, const Elf64_Shdr& section,
                   DynamicSymbols& out) {
  MEMSTRATA_ASSIGN_OR_RETURN(const auto texts, TextsOf(file, sections, section));
  MEMSTRATA_ASSIGN_OR_RETURN(const auto symbols, ReadRecords<Elf64_Sym>(file, section.sh_offset, section.sh_size));
  for (const Elf64_Sym& symbol : symbols) {
    const bool is_undefined = symbol.st_shndx == SHN_UNDEF;
    if (symbol.st_name == 0 || (is_undefined && ELF64_ST_BIND(symbol.st_info) == STB_WEAK)) continue;
    std::optional<std::string> name = TextAt(texts, symbol.st_name);
    if (!name) return tl::unexpected(Corrupt("a symbol's name lies outside the texts", section.sh_offset));
    (is_undefined ? out.undefined : out.defined).push_back(*std::move(name));
  }
  return {};
}

}  // namespace

Result<DynamicSymbols> ReadDynamicSymbols(const RandomAccess& file) {
  MEMSTRATA_ASSIGN_OR_RETURN(const Elf64_Ehdr header, ReadHeader(file));
  MEMSTRATA_ASSIGN_OR_RETURN(
      const auto sections,
      ReadRecords<Elf64_Shdr>(file, header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr)));
  const Elf64_Shdr* dynamic = SectionOfType(sections, SHT_DYNAMIC);
  const Elf64_Shdr* symbols = SectionOfType(sections, SHT_DYNSYM);
  if (dynamic == nullptr || symbols == nullptr)
    return Fail(ErrorCode::kUnsupportedFormat, "The file is no shared library: it has no dynamic symbols.");
  DynamicSymbols out;
  MEMSTRATA_TRY(ReadNeeds(file, sections, *dynamic, out));
  MEMSTRATA_TRY(ReadSymbols(file, sections, *symbols, out));
  return out;
}

}  // namespace memstrata
