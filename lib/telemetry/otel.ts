/** What is used of `@opentelemetry/api`; its types must not be needed by those who do not have it. */
export type Attributes = Record<string, string | number | boolean>;

export interface Counter {
  add(value: number, attributes: Attributes): void;
}

export interface Histogram {
  record(value: number, attributes: Attributes): void;
}

export interface UpDownCounter {
  add(value: number, attributes: Attributes): void;
}

interface InstrumentOptions {
  readonly description: string;
  readonly unit: string;
  readonly advice?: { readonly explicitBucketBoundaries: number[] };
}

export interface Meter {
  createCounter(name: string, options: InstrumentOptions): Counter;
  createHistogram(name: string, options: InstrumentOptions): Histogram;
  createUpDownCounter(name: string, options: InstrumentOptions): UpDownCounter;
}

export interface Span {
  setAttribute(name: string, value: string | number | boolean): unknown;
  setStatus(status: { readonly code: number; readonly message?: string }): unknown;
  addEvent(name: string, attributes?: Attributes): unknown;
  isRecording(): boolean;
  end(): void;
}

export interface Tracer {
  startActiveSpan<T>(name: string, options: { readonly attributes: Attributes }, run: (span: Span) => T): T;
}

export interface Otel {
  readonly metrics: { getMeter(name: string): Meter };
  readonly trace: { getTracer(name: string): Tracer };
  readonly SpanStatusCode: { readonly ERROR: number };
}

/** Undefined where it is not installed. Right inside a `try`, or bundlers would take a package that is not there for a mistake. */
export async function loadOtel(): Promise<Otel | undefined> {
  try {
    return await import('@opentelemetry/api');
  } catch {
    return undefined;
  }
}
