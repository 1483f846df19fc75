import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';

/** The response to a client that reads when the test says so. */
export class FakeResponse extends EventEmitter {
  readonly written: string[] = [];
  readonly req = { httpVersionMajor: 1 };
  head: readonly [status: number, headers: Readonly<Record<string, string>>] | undefined;
  writableEnded = false;
  destroyed = false;
  /** Whether the client keeps up with what it is sent. */
  keepsUp = true;

  get asResponse(): ServerResponse {
    return this as unknown as ServerResponse;
  }

  /** The updates it was sent. */
  get updates(): any[] {
    return this.written.map((text) => JSON.parse(text.replace(/^data: (.*)\n\n$/s, '$1')) as unknown);
  }

  writeHead(status: number, headers: Record<string, string>): void {
    this.head = [status, headers];
  }

  flushHeaders(): void {}

  write(text: string): boolean {
    this.written.push(text);
    return this.keepsUp;
  }

  catchUp(): void {
    this.keepsUp = true;
    this.emit('drain');
  }

  end(): void {
    this.writableEnded = true;
    this.emit('close');
  }

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}
