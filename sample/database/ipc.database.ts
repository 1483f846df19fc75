import { tell } from '../pods/messages.js';
import type { ToPod } from '../pods/messages.js';
import { Database } from './database.js';

interface Pending {
  resolve(result: { rows: unknown[] }): void;
  reject(error: Error): void;
}

/**
 * The PGlite of the parent process, asked by a pod in a process of its own. PGlite has a single session, so the parent runs the
 * statements of all pods one after the other; each is atomic, which is all that the guarded writes need.
 */
export class IpcDatabase extends Database {
  private readonly pending = new Map<number, Pending>();
  private lastId = 0;
  private readonly onMessage = (message: ToPod): void => this.settle(message);

  constructor() {
    super();
    process.on('message', this.onMessage);
  }

  query<Row = unknown>(sql: string, params: readonly unknown[] = []): Promise<{ rows: Row[] }> {
    const id = ++this.lastId;
    return new Promise<{ rows: unknown[] }>((resolve, reject) => {
      this.pending.set(id, { resolve, reject });
      tell({ type: 'query', id, sql, params: [...params] });
    }) as Promise<{ rows: Row[] }>;
  }

  async close(): Promise<void> {
    process.off('message', this.onMessage);
  }

  private settle(message: ToPod): void {
    if (message.type === 'close') return;
    const pending = this.pending.get(message.id);
    this.pending.delete(message.id);
    if (message.type === 'rows') pending?.resolve({ rows: message.rows });
    else pending?.reject(new Error(message.reason));
  }
}
