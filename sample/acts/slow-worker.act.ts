import type { Answer } from '../partner-server.js';
import type { Act } from './act.js';
import { post } from './client.js';

/** A pod stops in the middle of its work, is replaced, wakes, and goes on as if nothing had happened. */
export const slowWorker: Act = async ({ pods, database, partners, stage }) => {
  stage.act(
    'The slow worker',
    'A pod is frozen past its lease and another takes over. The first wakes and writes: its old token is refused.',
  );
  const [first, second] = pods;

  const atWork = new Promise<Answer>((resolve) => partners.on('audit the figures', resolve));
  const firstReply = post(first, '/reports/sales');
  const ended = firstReply.then(({ status, message }): never => {
    throw new Error(`${first.name} did not even begin: ${status} ${message}`);
  });
  const finishAudit = await Promise.race([atWork, ended]);
  stage.line(first.name, first.freeze());

  partners.on('audit the figures', (answer) => answer());
  stage.line(second.name, `report sales: wants the lock, waits for the lease of ${first.name} to run out`);
  const secondReply = await post(second, '/reports/sales');

  stage.line(first.name, 'awake again, goes on with its work');
  first.thaw();
  finishAudit();
  const { status } = await firstReply;

  const { rows } = await database.query<{ author: string }>("SELECT author FROM reports WHERE id = 'sales'");
  const author = rows[0]?.author;
  return [
    {
      check: 'report taken over',
      seen: `${second.name} answered ${secondReply.status}`,
      ok: secondReply.status === 201,
    },
    {
      check: 'stale write of the frozen pod',
      seen: `${first.name} answered ${status}, the report is by ${author}`,
      ok: status !== 201 && author === second.name,
    },
  ];
};
