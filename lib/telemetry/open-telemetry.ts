import type { CallTracer } from '../call-tracer.js';
import type { Clock } from '../runtime.js';
import { CallSpans } from './call-spans.js';
import { LockMetrics, type EventSource } from './lock-metrics.js';
import { loadOtel } from './otel.js';
import { SCOPE } from './scope.js';

export interface Telemetry {
  readonly tracer: CallTracer;
  readonly measure: (locks: EventSource) => void;
}

/** Undefined where OpenTelemetry is not installed. */
export async function openTelemetry(clock: Clock): Promise<Telemetry | undefined> {
  const otel = await loadOtel();
  if (!otel) return undefined;
  return {
    tracer: new CallSpans(otel, clock),
    measure: (locks) => void new LockMetrics(locks, otel.metrics.getMeter(SCOPE)),
  };
}
