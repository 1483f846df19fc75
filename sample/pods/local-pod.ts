import { NestFactory } from '@nestjs/core';
import type { LockStore } from 'nestjs-fenced-lock';
import type { Database } from '../database/database.js';
import type { Journal } from '../shop/journal.js';
import { JournalLogger } from '../shop/journal-logger.js';
import { Partners } from '../shop/partners.js';
import { ShopModule } from '../shop/shop.module.js';
import { FreezableStore } from '../stores/freezable.store.js';
import { defaults } from './lock-options.js';
import type { Pod } from './pod.js';

export interface LocalPodOptions {
  readonly name: string;
  /** Shared by all pods of the process, as they would share a Redis. */
  readonly store: LockStore;
  readonly database: Database;
  readonly journal: Journal;
  /** For what the library says: of which pod, a shared process cannot tell. */
  readonly sharedJournal: Journal;
  readonly partnersUrl: string;
}

/**
 * A pod as a Nest application in this process. Its event loop is everyone's, so it cannot be stopped alone; what can be is its
 * connection to the lock store. No renewal gets through then, and its lease runs out while its work is still going on.
 */
export async function startLocalPod({
  name,
  store,
  database,
  journal,
  sharedJournal,
  partnersUrl,
}: LocalPodOptions): Promise<Pod> {
  const connection = new FreezableStore(store);
  const shop = ShopModule.forPod({
    name,
    database,
    journal,
    partners: new Partners(partnersUrl),
    locks: { store: connection, defaults },
  });
  const app = await NestFactory.create(shop, { logger: new JournalLogger(sharedJournal), forceCloseConnections: true });
  await app.listen(0, '127.0.0.1');
  return {
    name,
    url: await app.getUrl(),
    freeze: () => {
      connection.freeze();
      return 'frozen: nothing it sends to the lock store gets through';
    },
    thaw: () => connection.thaw(),
    close: () => {
      connection.thaw();
      return app.close();
    },
  };
}
