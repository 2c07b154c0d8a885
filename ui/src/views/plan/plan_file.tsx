/** A plan that was written into a file: sliders over the combinations that it holds, and the plan of the chosen one. */
import { formatCount } from "../../base/units.ts";
import type { GridAxis, PlanAnswer, PlanGrid } from "../../data/plan_types.ts";
import { useApp, useJson } from "../../state/context.ts";
import { ErrorNotice, LoadingNotice } from "../../widgets/notice.tsx";
import { Segmented } from "../../widgets/segmented.tsx";
import { optionOf } from "./model.ts";
import { RangeInput } from "./range_input.tsx";
import { PlanResult } from "./result.tsx";

export function PlanFile() {
  const app = useApp();
  const grid = useJson<PlanGrid>("plan_grid", {});
  const axes = grid.value?.axes ?? [];
  const chosen = Object.fromEntries(
    axes.map((axis) => [axis.input, app.option(optionOf(axis.input), axis.values[axis.given]!)]),
  );
  const answer = useJson<PlanAnswer>("plan", grid.value ? chosen : null);
  const plan = answer.value?.plan;
  return (
    <>
      <div class="ms-viewbar">
        <h1>Plan</h1>
        {plan && (
          <span class="ms-quiet">
            {plan.model.name}, {formatCount(plan.model.parameter_count)} parameters, {grid.value?.task}
          </span>
        )}
      </div>
      <div class="ms-plan">
        <form class="ms-plan__inputs" aria-label="What to plan for" onSubmit={(event) => event.preventDefault()}>
          {axes.map((axis) => (
            <AxisInput key={axis.input} axis={axis} value={chosen[axis.input]!} />
          ))}
          <p class="ms-quiet">
            This file holds these combinations. With <code class="ms-mono">memstrata open</code> the page plans
            anything.
          </p>
        </form>
        <div class="ms-plan__result" aria-live="polite">
          {grid.error && <ErrorNotice error={grid.error} />}
          {answer.error && <ErrorNotice error={answer.error} />}
          {!answer.value && !answer.error && !grid.error && <LoadingNotice what="Unpacking the plan." />}
          {answer.value && !answer.error && <PlanResult answer={answer.value} />}
        </div>
      </div>
    </>
  );
}

/** A slider over numbers, a row of choices over words. */
function AxisInput({ axis, value }: { axis: GridAxis; value: string }) {
  const app = useApp();
  const choose = (next: string) => app.setOption(optionOf(axis.input), next, axis.values[axis.given]!);
  const isNumbers = axis.values.length > 2 && axis.values.every((one) => /^\d+$/.test(one));
  if (!isNumbers)
    return (
      <Segmented
        label={axis.label}
        value={value}
        onChange={choose}
        choices={axis.values.map((one) => ({ value: one, label: one }))}
      />
    );
  return (
    <RangeInput
      label={axis.label}
      count={axis.values.length}
      index={Math.max(0, axis.values.indexOf(value))}
      value={value}
      onChoose={(index) => choose(axis.values[index]!)}
    />
  );
}
