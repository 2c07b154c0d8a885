/** A few choices of which one is taken; a radio group in one row. */
export interface Choice<Value extends string> {
  value: Value;
  label: string;
  /** Why it cannot be chosen here. */
  unmet?: string | undefined;
}

export interface SegmentedProps<Value extends string> {
  label: string;
  choices: readonly Choice<Value>[];
  value: Value;
  onChange: (value: Value) => void;
}

export function Segmented<Value extends string>({ label, choices, value, onChange }: SegmentedProps<Value>) {
  return (
    <fieldset class="ms-segmented">
      <legend class="ms-segmented__label">{label}</legend>
      <div class="ms-segmented__row">
        {choices.map((choice) => (
          <label
            key={choice.value}
            class={`ms-segmented__choice ${choice.value === value ? "ms-segmented__choice--on" : ""}`}
            title={choice.unmet}
          >
            <input
              type="radio"
              name={`segmented-${label}`}
              value={choice.value}
              checked={choice.value === value}
              disabled={choice.unmet !== undefined}
              onChange={() => onChange(choice.value)}
            />
            {choice.label}
          </label>
        ))}
      </div>
    </fieldset>
  );
}
