import type { Update } from '../../protocol.js';
import type { PageEventSource, PageWindow } from './dom-types.js';

/** The stream of updates, opened again whenever it breaks, and closed while nobody sees the page. */
export function createFeed(
  window: PageWindow,
  base: string,
  onUpdate: (update: Update) => void,
  onStatus: (status: 'live' | 'lost' | 'paused') => void,
) {
  const RETRY_MS = 2000;
  /** The server says something every second, or, where reading takes long, every 25. */
  const SILENCE_MS = 45_000;
  const HIDDEN_MS = 30_000;
  const CLOSED = 2;

  let source: PageEventSource | undefined;
  let retry = 0;
  let watchdog = 0;
  let rest = 0;

  function stop(): void {
    source?.close();
    source = undefined;
    window.clearTimeout(retry);
    window.clearTimeout(watchdog);
  }

  function again(): void {
    stop();
    onStatus('lost');
    retry = window.setTimeout(start, RETRY_MS);
  }

  function listen(): void {
    window.clearTimeout(watchdog);
    watchdog = window.setTimeout(again, SILENCE_MS);
  }

  function start(): void {
    stop();
    const opened = new window.EventSource(`${base}/events`);
    source = opened;
    opened.onmessage = ({ data }) => {
      if (source !== opened) return;
      listen();
      onStatus('live');
      onUpdate(JSON.parse(data) as Update);
    };
    // A browser tries again by itself after a cut, but not after an answer such as 503.
    opened.onerror = () => {
      if (source !== opened) return;
      if (opened.readyState === CLOSED) again();
      else onStatus('lost');
    };
    listen();
  }

  window.document.addEventListener('visibilitychange', () => {
    window.clearTimeout(rest);
    if (window.document.hidden) {
      rest = window.setTimeout(() => {
        stop();
        onStatus('paused');
      }, HIDDEN_MS);
    } else if (!source) {
      start();
    }
  });

  return { start };
}
