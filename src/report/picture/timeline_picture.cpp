#include "report/picture/timeline_picture.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "query/mark_labels.h"
#include "report/picture/label_lane.h"
#include "report/picture/lens.h"
#include "report/picture/phase_rows.h"
#include "report/picture/picture_window.h"
#include "report/picture/picture_words.h"
#include "report/picture/plot.h"

namespace memstrata {
namespace {

constexpr double kMargin = 40;
constexpr double kPlotLeft = 96;
constexpr double kPlotRight = kPictureWidth - kMargin;
constexpr double kRowsTop = 92;
constexpr double kLaneTop = 134;
constexpr uint32_t kMostLaneRows = 6;
constexpr double kLaneRowHeight = 34;
constexpr double kPlotBottom = 846;
constexpr double kLegendY = 896;

/// The labels of a picture and the places that they have been given.
struct PlacedLabels {
  std::vector<MarkLabel> marks;
  std::vector<Label> labels;
  LaneLayout layout;

  std::vector<double> Leaders() const {
    std::vector<double> leaders;
    for (const PlacedLabel& label : layout.placed) leaders.push_back(labels[label.index].places[label.place]);
    return leaders;
  }
};

// A leader ends at the top of a spike or beside it, and never runs down along it: by how much it is moved.
double BesideSpike(const HeapAnalysis& analysis, const PictureWindow& window, uint32_t seq, double events_per_px) {
  constexpr double kShifts[] = {0, 5, -5, 8, -8};
  const uint64_t here = analysis.live.At(Moment::AfterEvent(seq));
  const auto event_at = [&](double px) {
    return static_cast<uint32_t>(std::clamp(seq + px * events_per_px, static_cast<double>(window.begin_seq),
                                            static_cast<double>(window.end_seq - 1)));
  };
  for (const double shift : kShifts) {
    const uint64_t highest = analysis.HighestIn(event_at(shift - 1), event_at(shift + 1) + 1).bytes;
    if (highest <= here + analysis.peak.bytes / 50) return shift;
  }
  return 0;
}

// Labels of the window, at the places that lie in it.
std::vector<MarkLabel> LabelsIn(const HeapExplained& explained, const PictureWindow& window) {
  std::vector<MarkLabel> labels = LabelsOf(explained);
  for (MarkLabel& label : labels)
    std::erase_if(label.seqs, [&](uint32_t seq) { return seq < window.begin_seq || seq >= window.end_seq; });
  std::erase_if(labels, [](const MarkLabel& label) { return label.seqs.empty(); });
  return labels;
}

PlacedLabels PlaceMarks(const HeapExplained& explained, const PictureWindow& window, const LaneFrame& frame) {
  PlacedLabels placed;
  placed.marks = LabelsIn(explained, window);
  const double events_per_px = (window.end_seq - window.begin_seq) / (kPlotRight - kPlotLeft);
  for (const MarkLabel& mark : placed.marks) {
    Label label = {{}, mark.title, mark.detail, mark.rank};
    for (const uint32_t seq : mark.seqs)
      label.places.push_back(kPlotLeft + (seq + 0.5 - window.begin_seq) / events_per_px +
                             BesideSpike(explained.analysis, window, seq, events_per_px));
    placed.labels.push_back(std::move(label));
  }
  placed.layout = PlaceLabels(placed.labels, frame);
  return placed;
}

/// Labels, the plot below them and its close-up, placed so that none covers another.
struct Scene {
  PlacedLabels placed;
  Plot plot;
  std::optional<Lens> lens;
};

Result<Scene> MakeScene(SessionIndex& session, HeapEntry& heap, const HeapExplained& explained,
                        const PictureWindow& window, const LaneFrame& frame) {
  PlacedLabels placed = PlaceMarks(explained, window, frame);
  const double top = kLaneTop + placed.layout.row_count * kLaneRowHeight + 12;
  const PlotArea area = {kPlotLeft, top, kPlotRight - kPlotLeft, kPlotBottom - top};
  MEMSTRATA_ASSIGN_OR_RETURN(Plot plot, Plot::Make(session, heap, window.begin_seq, window.end_seq, area, true));
  MEMSTRATA_ASSIGN_OR_RETURN(std::optional<Lens> lens,
                             MakeLens(session, heap, explained, window, plot, placed.Leaders()));
  return Scene{std::move(placed), std::move(plot), std::move(lens)};
}

// Where leaders leave no room for the close-up, they give way to it if no label is lost by that.
Result<Scene> MakeSceneWithRoom(SessionIndex& session, HeapEntry& heap, const HeapExplained& explained,
                                const PictureWindow& window) {
  LaneFrame frame = {kMargin, kPlotRight, kMostLaneRows};
  MEMSTRATA_ASSIGN_OR_RETURN(Scene scene, MakeScene(session, heap, explained, window, frame));
  if (scene.lens) return scene;
  MEMSTRATA_ASSIGN_OR_RETURN(const std::optional<Lens> lens,
                             MakeLens(session, heap, explained, window, scene.plot, {}));
  if (!lens) return scene;
  frame.closed_left = lens->box.left - 4;
  frame.closed_right = lens->box.right() + 4;
  MEMSTRATA_ASSIGN_OR_RETURN(Scene roomy, MakeScene(session, heap, explained, window, frame));
  const bool is_better = roomy.lens && roomy.placed.layout.left_out_count <= scene.placed.layout.left_out_count;
  return is_better ? std::move(roomy) : std::move(scene);
}

class TimelinePicture {
 public:
  TimelinePicture(const HeapEntry& heap, const HeapExplained& explained, const PictureWindow& window,
                  const PlacedLabels& placed, const Plot& plot, const Theme& theme, Canvas& canvas)
      : heap_(heap),
        explained_(explained),
        window_(window),
        placed_(placed),
        plot_(plot),
        theme_(theme),
        canvas_(canvas) {}

  void Draw(const std::vector<BandStyle>& styles, const std::optional<Lens>& lens) {
    canvas_.Rectangle({0, 0}, kPictureWidth, kPictureHeight, theme_.surface);
    Heading();
    DrawPhaseRows(explained_, window_, plot_, kRowsTop, theme_, canvas_);
    plot_.DrawIdle(canvas_, theme_);
    plot_.DrawGrid(canvas_, theme_, true);
    plot_.DrawBands(canvas_, theme_);
    plot_.DrawLines(canvas_, theme_, placed_.Leaders());
    plot_.DrawBandNames(canvas_, theme_);
    Labels();
    if (lens) DrawLens(*lens, plot_, theme_, canvas_);
    Legend(styles);
    Footer();
  }

 private:
  void Heading() {
    canvas_.Text({kMargin, 46}, FitText(PictureTitle(explained_), 24, FontWeight::kBold, kPlotRight - kMargin),
                 {24, theme_.ink, FontWeight::kBold, TextAnchor::kStart});
    const Store& store = heap_.store;
    std::string line = fmt::format("{} · {} · {} events", ShortPath(store.sources[heap_.heap.source].file, 1),
                                   heap_.heap.id, FormatCount(heap_.heap.events.size()));
    const size_t steps = explained_.steps.size();
    if (steps > 0 && window_.is_whole) line += fmt::format(" · {}", FormatCount(steps, "step"));
    if (!window_.is_whole)
      line += fmt::format(" · steps {} to {} of {}", window_.first_step, window_.first_step + window_.step_count - 1,
                          FormatCount(steps));
    line += " · live bytes by event";
    canvas_.Text({kMargin, 72}, FitText(line, 14, FontWeight::kRegular, kPlotRight - kMargin), {14, theme_.ink2});
  }

  void Labels() {
    for (const PlacedLabel& label : placed_.layout.placed) DrawLabel(label);
    if (placed_.layout.left_out_count > 0)
      canvas_.Text({kPlotRight, kPlotBottom + 36}, FormatCount(placed_.layout.left_out_count, "more label"),
                   {12, theme_.ink3, FontWeight::kRegular, TextAnchor::kEnd});
  }

  void DrawLabel(const PlacedLabel& placed) {
    const Label& label = placed_.labels[placed.index];
    const uint32_t seq = placed_.marks[placed.index].seqs[placed.place];
    const double x = label.places[placed.place];
    const double y = plot_.Y(static_cast<double>(explained_.analysis.live.At(Moment::AfterEvent(seq))));
    const double top = kLaneTop + placed.row * kLaneRowHeight;
    canvas_.Line({x, top}, {x, y}, {theme_.surface.Faded(0.7), 3});
    canvas_.Line({x, top}, {x, y}, {theme_.ink2, 1});
    canvas_.Circle({x, y}, 2.8, theme_.surface, {theme_.ink, 1.2});
    const bool is_alarm = placed_.marks[placed.index].is_alarm;
    const TextAnchor anchor = placed.text_is_left ? TextAnchor::kEnd : TextAnchor::kStart;
    const double text_x = placed.text_is_left ? x - 6 : x + 6;
    canvas_.Text({text_x, top + 11}, label.title,
                 {12, is_alarm ? theme_.alarm : theme_.ink, FontWeight::kBold, anchor});
    canvas_.Text({text_x, top + 26}, label.detail, {12, theme_.ink2, FontWeight::kRegular, anchor});
    if (is_alarm) Cross(x, y);
  }

  void Cross(double x, double y) {
    canvas_.Line({x - 6, y - 6}, {x + 6, y + 6}, {theme_.alarm, 2});
    canvas_.Line({x - 6, y + 6}, {x + 6, y - 6}, {theme_.alarm, 2});
  }

  void Legend(const std::vector<BandStyle>& styles) {
    double x = kPlotLeft;
    const auto name = [&](std::string_view text) {
      canvas_.Text({x + 18, kLegendY}, text, {12, theme_.ink2});
      x += 18 + TextWidth(text, 12, FontWeight::kRegular) + 22;
    };
    for (size_t group = 0; group < styles.size(); ++group) {
      // What has no room stands in its band, or is small.
      if (x + 18 + TextWidth(styles[group].name, 12, FontWeight::kRegular) > kPlotRight) break;
      canvas_.Rectangle({x, kLegendY - 10}, 12, 12, styles[group].fill, 2);
      name(styles[group].name);
    }
    if (!heap_.heap.capabilities.has_segments) return;
    canvas_.Line({x, kLegendY - 4}, {x + 14, kLegendY - 4}, {theme_.ink2, 1.25, 6, 3});
    name("reserved by the allocator");
  }

  void Footer() {
    canvas_.Line({kMargin, 918}, {kPlotRight, 918}, {theme_.line, 1});
    canvas_.Text({kMargin, 944}, FitText(PictureAdvice(explained_), 15, FontWeight::kBold, 1330),
                 {15, theme_.ink, FontWeight::kBold, TextAnchor::kStart});
    const std::string shown =
        window_.is_whole ? fmt::format("all {} events", FormatCount(heap_.heap.events.size()))
                         : fmt::format("events {} to {}", FormatCount(window_.begin_seq), FormatCount(window_.end_seq));
    canvas_.Text(
        {kMargin, 968},
        fmt::format("Every number is computed from the file; {} are shown, each column at its highest moment.", shown),
        {12, theme_.ink3});
    Brand();
  }

  void Brand() {
    const double x = kPlotRight - 112;
    canvas_.Rectangle({x, 950}, 22, 7, theme_.Of("parameter").fill, 1);
    canvas_.Rectangle({x + 3, 942}, 16, 7, theme_.Of("optimizer_state").fill, 1);
    canvas_.Rectangle({x + 6, 934}, 10, 7, theme_.Of("activation").fill, 1);
    canvas_.Text({kPlotRight, 956}, "memstrata", {16, theme_.ink, FontWeight::kBold, TextAnchor::kEnd});
  }

  const HeapEntry& heap_;
  const HeapExplained& explained_;
  const PictureWindow& window_;
  const PlacedLabels& placed_;
  const Plot& plot_;
  const Theme& theme_;
  Canvas& canvas_;
};

}  // namespace

Status DrawTimeline(SessionIndex& session, HeapEntry& heap, const HeapExplained& explained, const Theme& theme,
                    Canvas& canvas) {
  const PictureWindow window = ChooseWindow(explained);
  MEMSTRATA_ASSIGN_OR_RETURN(const Scene scene, MakeSceneWithRoom(session, heap, explained, window));
  const GroupBy bands = BandsOf(session, heap);
  TimelinePicture(heap, explained, window, scene.placed, scene.plot, theme, canvas)
      .Draw(StylesOf(bands, session.GroupingOf(heap, bands), theme), scene.lens);
  return {};
}

}  // namespace memstrata
