#include "base/result.h"

namespace memstrata {

std::string_view ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kUnsupportedFormat:
      return "unsupported_format";
    case ErrorCode::kCorruptInput:
      return "corrupt_input";
    case ErrorCode::kTruncatedInput:
      return "truncated_input";
    case ErrorCode::kLimitExceeded:
      return "limit_exceeded";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

}  // namespace memstrata
