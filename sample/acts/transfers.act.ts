import { setTimeout } from 'node:timers/promises';
import { ACCOUNTS } from '../database/schema.js';
import type { Act } from './act.js';
import { post } from './client.js';

const FRAUD_CHECK_MS = 20;

/** Every pod moves money between every two accounts, in both directions, all at once. */
export const transfers: Act = async ({ pods, database, partners, stage }) => {
  stage.act(
    'Transfers, all pods, both directions',
    "withLock(['account:a', 'account:b'], …): both accounts or neither, no dead-lock, no update lost.",
  );
  partners.on('check for fraud', (answer) => void setTimeout(FRAUD_CHECK_MS).then(answer));

  const ids = Object.keys(ACCOUNTS);
  const directions = ids.flatMap((from) => ids.filter((to) => to !== from).map((to) => ({ from, to })));
  const orders = pods.flatMap((pod, index) =>
    directions.map((direction, nth) => ({ pod, transfer: { ...direction, amount: 10 * index + nth + 1 } })),
  );
  const expected: Record<string, number> = { ...ACCOUNTS };
  const replies = await Promise.all(
    orders.map(async ({ pod, transfer }) => {
      const { status } = await post(pod, '/transfers', transfer);
      if (status === 201) {
        expected[transfer.from] = (expected[transfer.from] ?? 0) - transfer.amount;
        expected[transfer.to] = (expected[transfer.to] ?? 0) + transfer.amount;
      }
      return status;
    }),
  );

  const { rows } = await database.query<{ id: string; balance: number }>(
    'SELECT id, balance FROM accounts ORDER BY id',
  );
  const done = replies.filter((status) => status === 201).length;
  const sum = rows.reduce((total, { balance }) => total + balance, 0);
  const before = Object.values(ACCOUNTS).reduce((total, balance) => total + balance, 0);
  return [
    { check: 'transfers done', seen: `${done} of ${orders.length}`, ok: done === orders.length },
    { check: 'sum of the balances', seen: `${before} before, ${sum} after`, ok: sum === before },
    {
      check: 'balances, so no update lost',
      seen: rows.map(({ id, balance }) => `${id} ${balance}`).join(', '),
      ok: rows.every(({ id, balance }) => balance === expected[id]),
    },
  ];
};
