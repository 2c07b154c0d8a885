// NVRTC: a program that compiles to nothing. Its kernels are taken from a module by name, so names have to come back.

#include <cstring>
#include <deque>
#include <string>

#include "core/export.h"
#include "core/settings.h"

namespace {

struct Program {
  std::deque<std::string> names;
};

int32_t Empty(char* text) {
  text[0] = '\0';
  return 0;
}
int32_t One(size_t* size_bytes) {
  *size_bytes = 1;
  return 0;
}

}  // namespace

MEMSTRATA_ANSWER(int32_t) nvrtcVersion(int32_t* major, int32_t* minor) {
  const int32_t cuda = memstrata::device::ProcessSettings().cuda_version;
  *major = cuda / 1000;
  *minor = cuda % 1000 / 10;
  return 0;
}
MEMSTRATA_ANSWER(const char*) nvrtcGetErrorString(int32_t) { return "answer of the simulated card"; }
MEMSTRATA_ANSWER(int32_t)
nvrtcCreateProgram(Program** program, const char*, const char*, int32_t, const char* const*, const char* const*) {
  *program = new Program();
  return 0;
}
MEMSTRATA_ANSWER(int32_t) nvrtcDestroyProgram(Program** program) {
  delete *program;
  *program = nullptr;
  return 0;
}
MEMSTRATA_ANSWER(int32_t) nvrtcCompileProgram(Program*, int32_t, const char* const*) { return 0; }
MEMSTRATA_ANSWER(int32_t) nvrtcAddNameExpression(Program* program, const char* name) {
  program->names.emplace_back(name);
  return 0;
}
MEMSTRATA_ANSWER(int32_t) nvrtcGetLoweredName(Program* program, const char* name, const char** lowered) {
  for (const std::string& known : program->names) {
    if (known == name) *lowered = known.c_str();
  }
  return 0;
}
MEMSTRATA_ANSWER(int32_t) nvrtcGetPTXSize(Program*, size_t* size_bytes) { return One(size_bytes); }
MEMSTRATA_ANSWER(int32_t) nvrtcGetPTX(Program*, char* text) { return Empty(text); }
MEMSTRATA_ANSWER(int32_t) nvrtcGetCUBINSize(Program*, size_t* size_bytes) { return One(size_bytes); }
MEMSTRATA_ANSWER(int32_t) nvrtcGetCUBIN(Program*, char* text) { return Empty(text); }
MEMSTRATA_ANSWER(int32_t) nvrtcGetProgramLogSize(Program*, size_t* size_bytes) { return One(size_bytes); }
MEMSTRATA_ANSWER(int32_t) nvrtcGetProgramLog(Program*, char* text) { return Empty(text); }
