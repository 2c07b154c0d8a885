#pragma once
// Errors as values. Every fallible function of the project returns Result<T> (or Status); nothing of ours throws.
// Not for: problems one can go on after; those are rows of the diagnostics table (model/store/diagnostics.h).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace memstrata {

enum class ErrorCode : uint8_t {
  kNotFound,           // the file or the named row does not exist
  kInvalidArgument,    // the caller (a flag, a request) asked for something that cannot be
  kUnsupportedFormat,  // readable bytes, but no reader knows them, or they ask for something we refuse to do
  kCorruptInput,       // a known format, broken
  kTruncatedInput,     // a known format that ends too early
  kLimitExceeded,      // a safety limit (depth, size, expansion ratio, rows) was reached
  kIo,                 // the operating system said no
  kCancelled,
  kInternal,  // our bug
};

/// The stable name of a code, as printed in `memstrata.error/1`.
std::string_view ErrorCodeName(ErrorCode code);

/// What failed, where, and what to do about it. `message` is a whole sentence without the file name.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  std::string file;                      // empty when no input file is concerned
  std::optional<uint64_t> offset_bytes;  // position in the unwrapped input
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline tl::unexpected<Error> Fail(ErrorCode code, std::string message, std::optional<uint64_t> offset_bytes = {}) {
  return tl::unexpected<Error>(Error{code, std::move(message), {}, offset_bytes});
}

}  // namespace memstrata

#define MEMSTRATA_CONCAT_INNER(a, b) a##b
#define MEMSTRATA_CONCAT(a, b) MEMSTRATA_CONCAT_INNER(a, b)

/// Evaluates an expression that gives a Status or Result and returns its error to the caller.
#define MEMSTRATA_TRY(expression)                                                                 \
  do {                                                                                            \
    if (auto status_ = (expression); !status_) return tl::unexpected(std::move(status_).error()); \
  } while (false)

/// MEMSTRATA_ASSIGN_OR_RETURN(auto x, F()): x = value of F(), or return its error.
// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are names and a declaration, which take no parentheses.
#define MEMSTRATA_ASSIGN_OR_RETURN(declaration, expression) \
  MEMSTRATA_ASSIGN_OR_RETURN_INNER(MEMSTRATA_CONCAT(result_, __LINE__), declaration, expression)
#define MEMSTRATA_ASSIGN_OR_RETURN_INNER(name, declaration, expression) \
  auto name = (expression);                                             \
  if (!name) return tl::unexpected(std::move(name).error());            \
  declaration = *std::move(name)
// NOLINTEND(bugprone-macro-parentheses)
