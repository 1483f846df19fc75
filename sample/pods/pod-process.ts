import { NestFactory } from '@nestjs/core';
import { IpcDatabase } from '../database/ipc.database.js';
import { PgDatabase } from '../database/pg.database.js';
import { Journal } from '../shop/journal.js';
import { JournalLogger } from '../shop/journal-logger.js';
import { Partners } from '../shop/partners.js';
import { ShopModule } from '../shop/shop.module.js';
import { redisLocks, type LockSource } from './lock-options.js';
import { tell, type ToPod } from './messages.js';

export interface PodSettings extends LockSource {
  readonly name: string;
  readonly partnersUrl: string;
  /** Without one, the parent's PGlite is asked. */
  readonly databaseUrl: string | undefined;
}

class ParentJournal extends Journal {
  write(event: string, token?: number): void {
    tell({ type: 'event', event, token });
  }
}

/** The main function of a pod in a process of its own. */
export async function runPod(settings: PodSettings): Promise<void> {
  // Ctrl-C reaches the whole process group; the parent decides when each pod closes.
  process.on('SIGINT', () => undefined);
  const database = settings.databaseUrl ? new PgDatabase(settings.databaseUrl) : new IpcDatabase();
  const journal = new ParentJournal();
  const shop = ShopModule.forPod({
    name: settings.name,
    database,
    journal,
    partners: new Partners(settings.partnersUrl),
    locks: redisLocks(settings, (change) => tell({ type: 'authority', change })),
  });
  const app = await NestFactory.create(shop, { logger: new JournalLogger(journal), forceCloseConnections: true });

  const close = async (): Promise<void> => {
    await app.close();
    await database.close();
    if (process.connected) process.disconnect();
  };
  process.on('message', (message: ToPod) => {
    if (message.type === 'close') void close();
  });
  // A parent that died cannot ask for it any more.
  process.once('disconnect', () => process.exit());

  await app.listen(0, '127.0.0.1');
  tell({ type: 'ready', url: await app.getUrl() });
}
