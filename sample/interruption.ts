/** The exit code of a run that was ended before it could be judged. */
export const INTERRUPTED = 130;

/** npm passes on the Ctrl-C that the terminal has sent to everyone already, so one key press can come twice. */
const SAME_KEY_PRESS_MS = 500;

/** Ctrl-C, or SIGTERM: the first asks for an orderly end, another one later ends at once. */
export function interruption(): AbortSignal {
  const controller = new AbortController();
  let firstAt = 0;
  const interrupt = (): void => {
    if (!controller.signal.aborted) {
      firstAt = performance.now();
      controller.abort(new Error('interrupted'));
    } else if (performance.now() - firstAt > SAME_KEY_PRESS_MS) {
      process.exit(INTERRUPTED);
    }
  };
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  return controller.signal;
}

export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
