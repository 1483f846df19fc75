import type { IncomingHttpHeaders } from 'node:http';

/**
 * Whether a page of another site had no part in the request. Browsers say so themselves in Sec-Fetch-Site; older ones, and any on plain HTTP, at least tell the Origin of what is not a
 * mere link. What sends neither is no browser, and carries no one's session.
 */
export function isSameOrigin(headers: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const { origin, host } = headers;
  if (origin === undefined) return true;
  return host !== undefined && URL.canParse(origin) && new URL(origin).host === host.toLowerCase();
}
