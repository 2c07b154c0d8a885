/** A slider over a list of numbers. */
import { formatCount } from "../../base/units.ts";

interface RangeInputProps {
  label: string;
  /** How many numbers there are, and which one is chosen. */
  count: number;
  index: number;
  /** The chosen number, or one between those of the list. */
  value: string;
  onChoose: (index: number) => void;
}

export function RangeInput({ label, count, index, value, onChoose }: RangeInputProps) {
  return (
    <label class="ms-plan__input">
      <span>{label}</span>
      <input
        type="range"
        min="0"
        max={count - 1}
        value={index}
        aria-valuetext={value}
        onInput={(event) => onChoose(Number(event.currentTarget.value))}
      />
      <output>{formatCount(Number(value))}</output>
    </label>
  );
}
