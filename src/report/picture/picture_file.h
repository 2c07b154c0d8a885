#pragma once
// The picture of one heap as a file: SVG with text as text, PNG, or one HTML page with how to read each mark.

#include "base/byte_sink.h"
#include "query/session_index.h"
#include "report/picture/theme.h"

namespace memstrata {

struct PictureOptions {
  ThemeName theme = ThemeName::kLight;
  std::string heap;  // id; empty = the one shown first
};

/// errors: kNotFound without a heap, kInvalidArgument for an unknown one, kIo
Status WritePictureSvg(SessionIndex& session, const PictureOptions& options, ByteSink& sink);
Status WritePicturePng(SessionIndex& session, const PictureOptions& options, ByteSink& sink);
Status WritePictureHtml(SessionIndex& session, const PictureOptions& options, ByteSink& sink);

}  // namespace memstrata
