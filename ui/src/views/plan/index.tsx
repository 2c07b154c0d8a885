/** Plan: what a model and a workload would need on a card, computed by the planner behind `memstrata plan`, beside this recording. */
import { useEffect, useState } from "preact/hooks";
import { formatBytes } from "../../base/units.ts";
import type { PlanAnswer, PlanChoices } from "../../data/plan_types.ts";
import type { AppState } from "../../state/app_state.ts";
import { useApp, useJson } from "../../state/context.ts";
import { ErrorNotice, LoadingNotice, Notice } from "../../widgets/notice.tsx";
import { Segmented } from "../../widgets/segmented.tsx";
import type { View } from "../view.ts";
import {
  type Choice,
  choicesOf,
  optionOf,
  planParameters,
  type Slider,
  setInputs,
  sliderIndex,
  slidersOf,
  type Task,
  type Wish,
} from "./model.ts";
import { PlanFile } from "./plan_file.tsx";
import { RangeInput } from "./range_input.tsx";
import { PlanResult } from "./result.tsx";
import "./style.css";

const tasks: { value: Task; label: string }[] = [
  { value: "train", label: "train" },
  { value: "forward", label: "forward" },
  { value: "generate", label: "generate" },
  { value: "serve", label: "serve" },
];
/** A slider that moves asks once it rests. */
const restMs = 200;

function useRested<Value>(value: Value, key: string): Value {
  const [rested, setRested] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), restMs);
    return () => clearTimeout(timer);
  }, [key]);
  return rested;
}

function readWish(app: AppState): Wish {
  const task = app.option("plan.task", "train");
  const known = tasks.find((one) => one.value === task)?.value ?? "train";
  return {
    task: known,
    model: app.option("plan.model", ""),
    card: app.option("plan.card", ""),
    set: setInputs(known, (name, initial) => app.option(name, initial)),
    other: app.option("plan.other", ""),
    beside: app.session.value.heaps.length > 0,
  };
}

function SliderInput({ slider, wish, effective }: { slider: Slider; wish: Wish; effective: string }) {
  const app = useApp();
  const text = wish.set[slider.input] ?? effective;
  return (
    <RangeInput
      label={slider.label}
      count={slider.values.length}
      index={sliderIndex(slider, Number(text))}
      value={text}
      onChoose={(index) => app.setOption(optionOf(slider.input), String(slider.values[index]))}
    />
  );
}

function ChoiceInput({ choice, wish, effective }: { choice: Choice; wish: Wish; effective: string }) {
  const app = useApp();
  const value = wish.set[choice.input] ?? effective;
  const values = choice.values.includes(value) ? choice.values : [value, ...choice.values];
  return (
    <label class="ms-plan__input">
      <span>{choice.label}</span>
      <select
        class="ms-select"
        value={value}
        onChange={(event) => app.setOption(optionOf(choice.input), event.currentTarget.value)}
      >
        {values.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
    </label>
  );
}

function ModelAndCard({ choices, wish, filledCard }: { choices: PlanChoices; wish: Wish; filledCard: string | null }) {
  const app = useApp();
  const unset = filledCard === null ? "no card" : `as recorded, ${formatBytes(Number(filledCard))}`;
  return (
    <>
      <label class="ms-plan__input">
        <span>Model</span>
        <input
          class="ms-plan__text"
          list="plan-models"
          placeholder="llama-3.1-8b, or layers=32 hidden=4096 heads=32 …"
          value={wish.model}
          onChange={(event) => app.setOption("plan.model", event.currentTarget.value)}
        />
        <datalist id="plan-models">
          {choices.models.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </label>
      <label class="ms-plan__input">
        <span>Card</span>
        <select
          class="ms-select"
          value={wish.card}
          onChange={(event) => app.setOption("plan.card", event.currentTarget.value)}
        >
          <option value="">{unset}</option>
          {choices.cards.map((card) => (
            <option key={card.id} value={card.id}>
              {card.name}, {formatBytes(card.visible_bytes)}
            </option>
          ))}
        </select>
      </label>
    </>
  );
}

/** What stands in place of an answer as long as no model is named. */
function ChooseModel({ models }: { models: readonly string[] }) {
  const app = useApp();
  return (
    <Notice title="Choose a model, or write its sizes as the model.">
      <p>A configuration of your own: memstrata plan --model config.json -o plan.html</p>
      <div class="ms-plan__models">
        {models.map((name) => (
          <button type="button" key={name} class="ms-button" onClick={() => app.setOption("plan.model", name)}>
            {name}
          </button>
        ))}
      </div>
    </Notice>
  );
}

function OtherInputs({ choices, wish }: { choices: PlanChoices; wish: Wish }) {
  const app = useApp();
  return (
    <>
      <label class="ms-plan__input">
        <span>Other inputs</span>
        <input
          class="ms-plan__text"
          placeholder="parallel=tp=2,dp=4 loss=fused"
          value={wish.other}
          onChange={(event) => app.setOption("plan.other", event.currentTarget.value)}
        />
      </label>
      <details>
        <summary>All inputs</summary>
        <dl class="ms-plan__help">
          {choices.inputs.map((input) => (
            <>
              <dt class="ms-mono">{input.name}</dt>
              <dd>{input.help}</dd>
            </>
          ))}
        </dl>
      </details>
    </>
  );
}

function PlanView() {
  return useApp().client.source.isLive ? <Planner /> : <PlanFile />;
}

function Planner() {
  const app = useApp();
  const wish = readWish(app);
  const parameters = planParameters(wish);
  const asked = useRested(parameters, JSON.stringify(parameters));
  const choices = useJson<PlanChoices>("plan_choices", {});
  const answer = useJson<PlanAnswer>("plan", asked);
  const workload = answer.value?.plan.workload ?? {};
  const effective = (input: string) =>
    String(workload[input] ?? choices.value?.inputs.find((one) => one.name === input)?.default ?? "");
  return (
    <>
      <div class="ms-viewbar">
        <h1>Plan</h1>
        <span class="ms-quiet">what a workload would need, term by term, before it is run</span>
      </div>
      <div class="ms-plan">
        <form class="ms-plan__inputs" aria-label="What to plan for" onSubmit={(event) => event.preventDefault()}>
          <Segmented
            label="Task"
            choices={tasks}
            value={wish.task}
            onChange={(task) => app.setOption("plan.task", task, "train")}
          />
          {choices.value && (
            <ModelAndCard choices={choices.value} wish={wish} filledCard={answer.value?.filled.card ?? null} />
          )}
          {slidersOf(wish.task).map((slider) => (
            <SliderInput key={slider.input} slider={slider} wish={wish} effective={effective(slider.input)} />
          ))}
          {choicesOf(wish.task).map((choice) => (
            <ChoiceInput key={choice.input} choice={choice} wish={wish} effective={effective(choice.input)} />
          ))}
          {choices.value && <OtherInputs choices={choices.value} wish={wish} />}
        </form>
        <div class="ms-plan__result" aria-live="polite">
          {choices.error && <ErrorNotice error={choices.error} />}
          {answer.error && <ErrorNotice error={answer.error} />}
          {parameters === null && <ChooseModel models={choices.value?.models ?? []} />}
          {parameters !== null && !answer.value && !answer.error && <LoadingNotice what="Planning." />}
          {parameters !== null && answer.value && !answer.error && <PlanResult answer={answer.value} />}
        </div>
      </div>
    </>
  );
}

export const planView: View = {
  id: "plan",
  title: "Plan",
  group: "compare",
  icon: "M2.500 13.500V9h3v4.500M6.500 13.500V6h3v7.500M10.500 13.500V2.500h3v11",
  unmet: (app) =>
    app.client.source.isLive || app.client.source.holds("plan_grid")
      ? null
      : {
          why: "This file holds answers, not the planner.",
          how: "Open the recording with `memstrata open`, or write a file with sliders: `memstrata plan --model MODEL -o plan.html`.",
        },
  followsRun: false,
  component: PlanView,
};
