/** Hands the state to components, and answers to questions as they come in. */
import { createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import type { Frame } from "../data/frame.ts";
import { type Parameters, questionKey } from "../data/source.ts";
import type { AppState } from "./app_state.ts";

const AppContext = createContext<AppState | null>(null);
export const AppProvider = AppContext.Provider;

export function useApp(): AppState {
  const app = useContext(AppContext);
  if (!app) throw new Error("This component is used outside of AppProvider.");
  return app;
}

export interface Answer<Value> {
  /** The newest answer; while a new question waits, the answer to the one before. */
  value: Value | null;
  /** True when `value` answers the question that is asked now. */
  isCurrent: boolean;
  error: Error | null;
}

type Ask<Value> = (question: string, parameters: Parameters, signal: AbortSignal) => Promise<Value>;

function useAnswer<Value>(
  question: string,
  parameters: Parameters | null,
  ask: Ask<Value>,
  cached: (question: string, parameters: Parameters) => Value | undefined,
): Answer<Value> {
  const key = parameters ? questionKey(question, parameters) : null;
  const [answer, setAnswer] = useState<{ key: string; value: Value | null; error: Error | null } | null>(null);
  const last = useRef<{ scope: string; value: Value } | null>(null);
  useEffect(() => {
    if (key === null || !parameters) return;
    const abort = new AbortController();
    ask(question, parameters, abort.signal).then(
      (value) => !abort.signal.aborted && setAnswer({ key, value, error: null }),
      (error: Error) => !abort.signal.aborted && setAnswer({ key, value: null, error }),
    );
    return () => abort.abort();
  }, [key]);
  if (key === null || !parameters) return { value: null, isCurrent: false, error: null };
  const known = answer?.key === key ? answer.value : cached(question, parameters);
  const scope = scopeOf(question, parameters);
  if (known !== undefined && known !== null) last.current = { scope, value: known };
  const error = answer?.key === key ? answer.error : null;
  const value = last.current?.scope === scope && !error ? last.current.value : null;
  return { value, isCurrent: known !== undefined && known !== null, error };
}

/** An older answer may stand in for a newer one only when it is about the same thing. */
function scopeOf(question: string, parameters: Parameters): string {
  const { kind, heap, axis, group, order, by, of, root, index, space } = parameters;
  return JSON.stringify([question, kind, heap, axis, group, order, by, of, root, index, space]);
}

/** The JSON answer to a question; null parameters ask nothing. */
export function useJson<Value>(question: string, parameters: Parameters | null): Answer<Value> {
  const { client } = useApp();
  return useAnswer<Value>(
    question,
    parameters,
    (name, values, signal) => client.json(name, values, signal) as Promise<Value>,
    (name, values) => client.cachedJson(name, values) as Value | undefined,
  );
}

/** The frame that answers a question; null parameters ask nothing. */
export function useFrame(question: string, parameters: Parameters | null): Answer<Frame> {
  const { client } = useApp();
  return useAnswer<Frame>(
    question,
    parameters,
    (name, values, signal) => client.frame(name, values, signal),
    (name, values) => client.cachedFrame(name, values),
  );
}
