import { Catch, HttpException, Logger, type ArgumentsHost } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { throwError } from 'rxjs';
import { LockBusyError, LockError, LockUnavailableError, StaleTokenError } from './errors.js';

/** What a client is told. Keys, owners, tokens and nodes stay inside. */
interface Answer {
  readonly status: number;
  readonly error: string;
  readonly message: string;
  /** In whole seconds; for errors after which the same request may work. */
  readonly retryAfter?: number;
}

const logger = new Logger('LockExceptionFilter');

/**
 * Answers lock errors: 409 with Retry-After for a busy key, 409 for a write that came too late, 503 with Retry-After for a store out of reach or
 * a shutdown, 500 for the rest. `DistributedLockModule` registers it for HTTP and GraphQL; put it on gateways with `@UseFilters`, and
 * give microservices of a hybrid application `inheritAppConfig`. A catch-all filter of your own comes first.
 */
@Catch(LockError)
export class LockExceptionFilter extends BaseExceptionFilter {
  /** @internal */
  override catch(exception: LockError, host: ArgumentsHost): unknown {
    const answer = answerTo(exception);
    if (exception instanceof LockUnavailableError) logger.warn(exception.message);
    switch (host.getType<string>()) {
      case 'http':
        return this.#reply(exception, answer, host);
      case 'rpc':
        if (answer.status === 500) logger.error(exception);
        return throwError(() => ({ status: 'error', message: answer.message }));
      case 'ws':
        if (answer.status === 500) logger.error(exception);
        return send(host.switchToWs().getClient(), { status: 'error', message: answer.message });
      default:
        // Whoever made this context shows errors in its own way, and knows Nest's.
        throw toHttp(answer);
    }
  }

  #reply(exception: LockError, answer: Answer, host: ArgumentsHost): void {
    const adapter = this.applicationRef ?? this.httpAdapterHost?.httpAdapter;
    const response: unknown = host.getArgByIndex(1);
    if (answer.status === 500 || !adapter) return super.catch(exception, host);
    if (answer.retryAfter !== undefined && !adapter.isHeadersSent(response)) {
      adapter.setHeader(response, 'Retry-After', String(answer.retryAfter));
    }
    super.catch(toHttp(answer), host);
  }
}

const BUSY = 'This is in use by another request. Try again later.';
const OUTDATED = 'A later request has overtaken this one. Read again before you retry.';
const UNAVAILABLE = 'The service cannot do this at the moment. Try again later.';

function answerTo(exception: LockError): Answer {
  if (exception instanceof LockBusyError) {
    const retryAfter = Math.max(1, Math.ceil((exception.retryAfterMs ?? 0) / 1000));
    return { status: 409, error: 'Conflict', message: BUSY, retryAfter };
  }
  if (exception instanceof LockUnavailableError) {
    return { status: 503, error: 'Service Unavailable', message: UNAVAILABLE, retryAfter: 1 };
  }
  if (exception instanceof StaleTokenError) return { status: 409, error: 'Conflict', message: OUTDATED };
  return { status: 500, error: 'Internal Server Error', message: 'Internal server error' };
}

function toHttp({ status, error, message }: Answer): HttpException {
  return new HttpException({ statusCode: status, message, error }, status);
}

/** Nest's own format of an error to a socket, for `ws` as for socket.io. */
function send(client: { readyState?: unknown; send?: unknown; emit?: unknown }, data: object): void {
  if (typeof client.readyState === 'number' && typeof client.send === 'function') {
    client.send(JSON.stringify({ event: 'exception', data }));
  } else if (typeof client.emit === 'function') {
    client.emit('exception', data);
  }
}
