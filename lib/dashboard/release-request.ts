import {
  BadRequestException,
  ForbiddenException,
  HttpException,
  HttpStatus,
  PayloadTooLargeException,
  UnsupportedMediaTypeException,
} from '@nestjs/common';
import type { IncomingHttpHeaders } from 'node:http';
import { toKeys } from '../lock-key.js';
import { isSameOrigin } from './same-origin.js';

/** What is used of a request, of Express as of Fastify. */
export interface DashboardRequest {
  readonly method?: string;
  readonly headers: IncomingHttpHeaders;
  readonly body?: unknown;
}

export interface ReleaseOrder {
  readonly key: string;
  /** The holder that was seen; anyone else keeps it. */
  readonly id: string | undefined;
}

/** No form and no simple request can carry it, so that a browser asks before it sends it for another site. */
export const RELEASE_HEADER = 'x-lock-dashboard';
export const RELEASE_HEADER_VALUE = 'release';
/** A key of 512 bytes, each of them escaped, and what is around it. */
const LONGEST_BODY = 4096;
const JSON_TYPE = /^application\/json\s*(?:;|$)/i;

/** What is to be released. @throws HttpException for what did not come from the dashboard's own page, or is malformed. */
export function toReleaseOrder({ headers, body }: DashboardRequest): ReleaseOrder {
  if (!isSameOrigin(headers)) throw new ForbiddenException('Locks are released from the dashboard itself only.');
  if (headers[RELEASE_HEADER] !== RELEASE_HEADER_VALUE) {
    throw new ForbiddenException(`Send the header ${RELEASE_HEADER}: ${RELEASE_HEADER_VALUE}.`);
  }
  if (!JSON_TYPE.test(headers['content-type'] ?? '')) throw new UnsupportedMediaTypeException('Send application/json.');
  const length = Number(headers['content-length']);
  if (!Number.isSafeInteger(length)) throw new HttpException('Send a Content-Length.', HttpStatus.LENGTH_REQUIRED);
  if (length > LONGEST_BODY) throw new PayloadTooLargeException(`Send at most ${LONGEST_BODY} bytes.`);
  const { key, id } = (typeof body === 'object' && body !== null ? body : {}) as { key?: unknown; id?: unknown };
  if (typeof key !== 'string' || (id !== undefined && typeof id !== 'string')) {
    throw new BadRequestException('Send {"key": "…"}, with the body parser of the application on.');
  }
  try {
    return { key: toKeys(key)[0], id };
  } catch {
    throw new BadRequestException('There is no such key.');
  }
}
