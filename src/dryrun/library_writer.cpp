#include "dryrun/library_writer.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace memstrata::dryrun {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kStubBytes = 16;
constexpr uint64_t kAlignment = 16;

uint64_t RoundUp(uint64_t value, uint64_t step) { return (value + step - 1) / step * step; }

template <class T>
void Append(std::string& out, const T& record) {
  out.append(reinterpret_cast<const char*>(&record), sizeof(record));
}

class Texts {
 public:
  uint32_t Add(const std::string& text) {
    const auto offset = static_cast<uint32_t>(bytes_.size());
    bytes_.append(text).push_back('\0');
    return offset;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_ = std::string(1, '\0');
};

uint32_t Hash(const std::string& name) {  // System V ABI, chapter 5
  uint32_t hash = 0;
  for (const char c : name) {
    hash = (hash << 4) + static_cast<uint8_t>(c);
    const uint32_t high = hash & 0xf0000000U;
    hash = (hash ^ (high >> 24)) & ~high;
  }
  return hash;
}

std::string HashTable(const std::vector<std::string>& names) {  // names[i] belongs to symbol i + 1
  const auto bucket_count = static_cast<uint32_t>(names.size() / 2 + 1);
  std::vector<uint32_t> buckets(bucket_count), chains(names.size() + 1);
  for (uint32_t symbol = 1; symbol <= names.size(); ++symbol) {
    uint32_t& bucket = buckets[Hash(names[symbol - 1]) % bucket_count];
    chains[symbol] = bucket;
    bucket = symbol;
  }
  std::string out;
  Append(out, bucket_count);
  Append(out, static_cast<uint32_t>(chains.size()));
  for (const uint32_t bucket : buckets) Append(out, bucket);
  for (const uint32_t chain : chains) Append(out, chain);
  return out;
}

// lock incq [rip + distance]; xor eax, eax; ret
std::string Stub(int32_t distance_from_end_of_increment) {
  std::string code = "\xf0\x48\xff\x05";
  Append(code, distance_from_end_of_increment);
  code += "\x31\xc0\xc3";
  code.resize(kStubBytes, '\xcc');
  return code;
}
constexpr int64_t kIncrementBytes = 8;

// Where everything lies: one page-aligned file image, in memory at the same distances. Read-only parts first, then
// code, then what is written (dynamic section, counters).
struct Part {
  uint64_t offset = 0;
  uint64_t size_bytes = 0;
};
struct Layout {
  Part symbols, texts, hash, names, code, dynamic, counters, section_names, sections;
  uint64_t read_only_end = 0;
};

constexpr size_t kProgramHeaderCount = 5;
constexpr size_t kSectionCount = 7;
constexpr uint64_t kHeadersBytes = sizeof(Elf64_Ehdr) + kProgramHeaderCount * sizeof(Elf64_Phdr);
constexpr char kSectionNames[] = "\0.dynsym\0.dynstr\0.hash\0.text\0.dynamic\0.shstrtab";

Part Place(uint64_t& end, uint64_t size_bytes) {
  const Part part = {RoundUp(end, kAlignment), size_bytes};
  end = part.offset + part.size_bytes;
  return part;
}

Layout Plan(const LibrarySpec& spec, uint64_t texts_bytes, uint64_t hash_bytes, uint64_t names_bytes) {
  Layout layout;
  const uint64_t count = spec.functions.size();
  const uint64_t symbol_count = count == 0 ? 1 : count + 3;  // the null symbol, counts and names besides
  uint64_t end = kHeadersBytes;
  layout.symbols = Place(end, symbol_count * sizeof(Elf64_Sym));
  layout.texts = Place(end, texts_bytes);
  layout.hash = Place(end, hash_bytes);
  layout.names = Place(end, names_bytes);
  layout.read_only_end = end;
  end = RoundUp(end, kPageBytes);
  layout.code = Place(end, std::max<uint64_t>(count, 1) * kStubBytes);  // the loader refuses an empty segment
  end = RoundUp(end, kPageBytes);
  constexpr uint64_t kFixedEntries = 7;  // SONAME, HASH, SYMTAB, STRTAB, STRSZ, SYMENT, NULL
  layout.dynamic = Place(end, (kFixedEntries + spec.needed.size()) * sizeof(Elf64_Dyn));
  layout.counters = Place(end, count * sizeof(uint64_t));
  layout.section_names = Place(end, sizeof(kSectionNames));
  layout.sections = Place(end, kSectionCount * sizeof(Elf64_Shdr));
  return layout;
}

Elf64_Sym Symbol(uint32_t name, uint8_t type, uint16_t section, uint64_t value, uint64_t size_bytes) {
  return {.st_name = name,
          .st_info = static_cast<uint8_t>(ELF64_ST_INFO(STB_GLOBAL, type)),
          .st_other = STV_DEFAULT,
          .st_shndx = section,
          .st_value = value,
          .st_size = size_bytes};
}
enum SectionIndex : uint16_t { kNoSection, kDynsym, kDynstr, kHashSection, kText, kDynamicSection, kShstrtab };

std::string Headers(const Layout& layout) {
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_phoff = sizeof(Elf64_Ehdr);
  header.e_shoff = layout.sections.offset;
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = kProgramHeaderCount;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = kSectionCount;
  header.e_shstrndx = kShstrtab;
  const auto segment = [](uint32_t type, uint32_t flags, uint64_t begin, uint64_t end, uint64_t align) {
    return Elf64_Phdr{type, flags, begin, begin, begin, end - begin, end - begin, align};
  };
  const uint64_t written_end = layout.counters.offset + layout.counters.size_bytes;
  const uint64_t code_end = layout.code.offset + layout.code.size_bytes;
  const uint64_t dynamic_end = layout.dynamic.offset + layout.dynamic.size_bytes;
  std::string out;
  Append(out, header);
  Append(out, segment(PT_LOAD, PF_R, 0, layout.read_only_end, kPageBytes));
  Append(out, segment(PT_LOAD, PF_R | PF_X, layout.code.offset, code_end, kPageBytes));
  Append(out, segment(PT_LOAD, PF_R | PF_W, layout.dynamic.offset, written_end, kPageBytes));
  Append(out, segment(PT_DYNAMIC, PF_R | PF_W, layout.dynamic.offset, dynamic_end, sizeof(uint64_t)));
  Append(out, segment(PT_GNU_STACK, PF_R | PF_W, 0, 0, kAlignment));
  return out;
}

std::string Sections(const Layout& layout) {
  const auto section = [](uint32_t name, uint32_t type, uint64_t flags, const Part& part, uint32_t link, uint32_t info,
                          uint64_t entry_bytes) {
    return Elf64_Shdr{name, type, flags,      part.offset, part.offset, part.size_bytes,
                      link, info, kAlignment, entry_bytes};
  };
  std::string out;
  Append(out, Elf64_Shdr{});
  Append(out, section(1, SHT_DYNSYM, SHF_ALLOC, layout.symbols, kDynstr, 1, sizeof(Elf64_Sym)));
  Append(out, section(9, SHT_STRTAB, SHF_ALLOC, layout.texts, 0, 0, 0));
  Append(out, section(17, SHT_HASH, SHF_ALLOC, layout.hash, kDynsym, 0, sizeof(uint32_t)));
  Append(out, section(23, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, layout.code, 0, 0, 0));
  Append(out, section(29, SHT_DYNAMIC, SHF_ALLOC | SHF_WRITE, layout.dynamic, kDynstr, 0, sizeof(Elf64_Dyn)));
  Elf64_Shdr names = section(38, SHT_STRTAB, 0, layout.section_names, 0, 0, 0);
  names.sh_addr = 0;
  Append(out, names);
  return out;
}

std::string Dynamic(const Layout& layout, uint32_t name, const std::vector<uint32_t>& needed) {
  std::string out;
  const auto entry = [&out](int64_t tag, uint64_t value) {
    Elf64_Dyn record = {};
    record.d_tag = tag;
    record.d_un.d_val = value;
    Append(out, record);
  };
  for (const uint32_t library : needed) entry(DT_NEEDED, library);
  entry(DT_SONAME, name);
  entry(DT_HASH, layout.hash.offset);
  entry(DT_SYMTAB, layout.symbols.offset);
  entry(DT_STRTAB, layout.texts.offset);
  entry(DT_STRSZ, layout.texts.size_bytes);
  entry(DT_SYMENT, sizeof(Elf64_Sym));
  entry(DT_NULL, 0);
  return out;
}

void Put(std::string& image, const Part& part, const std::string& bytes) {
  image.replace(part.offset, bytes.size(), bytes);
}

}  // namespace

std::string WriteLibrary(const LibrarySpec& spec) {
  std::vector<std::string> exported = spec.functions;
  std::string names;
  for (const std::string& function : spec.functions) names.append(function).push_back('\0');
  if (!spec.functions.empty()) {
    names.push_back('\0');
    exported.insert(exported.end(), {"memstrata_generic_counts", "memstrata_generic_names"});
  }
  Texts texts;
  std::vector<uint32_t> text_of;
  for (const std::string& name : exported) text_of.push_back(texts.Add(name));
  const uint32_t library_name = texts.Add(spec.name);
  std::vector<uint32_t> needed;
  for (const std::string& library : spec.needed) needed.push_back(texts.Add(library));
  const std::string hash = HashTable(exported);
  const Layout layout = Plan(spec, texts.bytes().size(), hash.size(), names.size());

  std::string symbols, code;
  Append(symbols, Elf64_Sym{});
  for (uint64_t i = 0; i < spec.functions.size(); ++i) {
    const uint64_t stub = layout.code.offset + i * kStubBytes;
    const uint64_t counter = layout.counters.offset + i * sizeof(uint64_t);
    Append(symbols, Symbol(text_of[i], STT_FUNC, kText, stub, kStubBytes));
    code += Stub(static_cast<int32_t>(static_cast<int64_t>(counter) - static_cast<int64_t>(stub) - kIncrementBytes));
  }
  if (!spec.functions.empty()) {
    const size_t count = spec.functions.size();
    Append(symbols,
           Symbol(text_of[count], STT_OBJECT, kDynamicSection, layout.counters.offset, layout.counters.size_bytes));
    Append(symbols, Symbol(text_of[count + 1], STT_OBJECT, kDynstr, layout.names.offset, names.size()));
  }

  std::string image(layout.sections.offset + layout.sections.size_bytes, '\0');
  Put(image, {0, 0}, Headers(layout));
  Put(image, layout.symbols, symbols);
  Put(image, layout.texts, texts.bytes());
  Put(image, layout.hash, hash);
  Put(image, layout.names, names);
  Put(image, layout.code, code);
  Put(image, layout.dynamic, Dynamic(layout, library_name, needed));
  Put(image, layout.section_names, std::string(kSectionNames, sizeof(kSectionNames)));
  Put(image, layout.sections, Sections(layout));
  return image;
}

}  // namespace memstrata::dryrun
