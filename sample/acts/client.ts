import type { Pod } from '../pods/pod.js';

export interface Reply {
  readonly status: number;
  /** Seconds, where the pod said so. */
  readonly retryAfter: string | null;
  readonly message: string;
  /** The fencing token of the lock that the work was done under, where the pod tells it. */
  readonly token: number | undefined;
}

/** A request of some customer, or operator, to one pod. */
export async function post(pod: Pod, path: string, body: object = {}): Promise<Reply> {
  const response = await fetch(`${pod.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  const { message = '', token } = (text ? JSON.parse(text) : {}) as { message?: string; token?: number };
  return { status: response.status, retryAfter: response.headers.get('retry-after'), message, token };
}
