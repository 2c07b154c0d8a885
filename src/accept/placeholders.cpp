#include "accept/placeholders.h"

#include <algorithm>

namespace memstrata::accept {
namespace {

bool IsOfName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

// A piece of a text: a name in braces, or what stands between two such.
struct Piece {
  std::string_view text;  // without the braces
  bool is_name = false;
  bool is_escaped = false;  // of a name: it stood in double braces
};

// The name in braces at the start of `text`; an empty one: there is none.
std::string_view NameAt(std::string_view text) {
  if (text.empty() || text.front() != '{') return {};
  const size_t end = text.find('}');
  const std::string_view name = end == std::string_view::npos ? std::string_view() : text.substr(1, end - 1);
  return IsPlaceholderName(name) ? name : std::string_view();
}

Piece NextPiece(std::string_view text) {
  if (text.starts_with("{{")) {
    const std::string_view name = NameAt(text.substr(1));
    if (!name.empty() && text.substr(name.size() + 3).starts_with('}')) return {name, true, true};
  }
  if (const std::string_view name = NameAt(text); !name.empty()) return {name, true, false};
  return {text.substr(0, std::max<size_t>(1, std::min(text.find('{', 1), text.size()))), false, false};
}

size_t SizeOf(const Piece& piece) { return piece.text.size() + (piece.is_escaped ? 4 : piece.is_name ? 2 : 0); }

template <class Visit>
void ForEachPiece(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const Piece piece = NextPiece(text);
    visit(piece);
    text.remove_prefix(SizeOf(piece));
  }
}

std::string InBraces(std::string_view name) { return "{" + std::string(name) + "}"; }

}  // namespace

bool IsPlaceholderName(std::string_view name) {
  return !name.empty() && !(name.front() >= '0' && name.front() <= '9') &&
         std::all_of(name.begin(), name.end(), IsOfName);
}

std::string Fill(std::string_view text, const std::map<std::string, std::string>& parameters) {
  std::string filled;
  ForEachPiece(text, [&](const Piece& piece) {
    const auto found = piece.is_name && !piece.is_escaped ? parameters.find(std::string(piece.text)) : parameters.end();
    if (found != parameters.end()) {
      filled += found->second;
    } else {
      filled += piece.is_name ? InBraces(piece.text) : std::string(piece.text);
    }
  });
  return filled;
}

Command Fill(Command command, const std::map<std::string, std::string>& parameters) {
  for (std::string& word : command) word = Fill(word, parameters);
  return command;
}

std::string UnknownPlaceholder(std::string_view text, const std::function<bool(const std::string&)>& is_known) {
  std::string unknown;
  ForEachPiece(text, [&](const Piece& piece) {
    if (piece.is_name && !piece.is_escaped && unknown.empty() && !is_known(std::string(piece.text)))
      unknown = piece.text;
  });
  return unknown;
}

std::string EscapePlaceholders(std::string_view text) {
  std::string escaped;
  ForEachPiece(text, [&](const Piece& piece) {
    const std::string whole = piece.is_name ? InBraces(piece.text) : std::string(piece.text);
    escaped += piece.is_escaped ? "{{" + whole + "}}" : piece.is_name ? "{" + whole + "}" : whole;
  });
  return escaped;
}

}  // namespace memstrata::accept
