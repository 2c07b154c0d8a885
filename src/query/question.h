#pragma once
// What the web page and scripts can ask of a session: questions by name, answered with JSON or a frame. The one
// implementation behind the server and the report file. docs/reference/api.md describes them all.
//
// To add one: a file under query/questions/, one line in query/registry.cpp.

#include "query/parameters.h"
#include "query/session_index.h"

namespace memstrata {

struct Answer {
  enum class Type : uint8_t { kJson, kFrame };
  Type type = Type::kJson;
  std::string body;
};

struct QuestionInfo {
  std::string_view name;
  std::span<const std::string_view> parameters;
  /// errors: kInvalidArgument (a parameter), kNotFound (no such heap or row)
  Result<Answer> (*answer)(SessionIndex& session, const Parameters& parameters);
};

/// The one list.
std::span<const QuestionInfo* const> AllQuestions();

/// Finds the question, checks the names of the parameters, answers. errors: kNotFound when there is no such question
Result<Answer> Ask(SessionIndex& session, std::string_view name, const Parameters& parameters);

/// The heap that the parameter `heap` names by index.
Result<HeapEntry*> HeapOf(SessionIndex& session, const Parameters& parameters);
/// A parameter that is a position on the axis of a heap.
Result<uint32_t> SeqOf(const HeapEntry& heap, const Parameters& parameters, std::string_view name,
                       std::optional<uint64_t> otherwise = {});

}  // namespace memstrata
