import type { Answer } from '../partner-server.js';
import type { Act } from './act.js';
import { post, type Reply } from './client.js';

const BUYERS = 12;

/** Twelve buyers want the one ticket at the same time; when it is sold, one more comes. */
export const purchases: Act = async ({ pods, database, partners, stage }) => {
  stage.act(
    `One ticket, ${BUYERS} buyers`,
    "POST /tickets/A1/purchase under @WithLock('ticket:{0}'): one 201, the others 409, nobody charged in vain.",
  );

  // The bank takes its time until every buyer is either at its counter or turned away, so that all of them really met.
  const atTheBank: Answer[] = [];
  let charged = 0;
  let turnedAway = 0;
  const settle = (): void => {
    if (atTheBank.length + turnedAway < BUYERS) return;
    turnedAway += atTheBank.length;
    for (const answer of atTheBank.splice(0)) answer();
  };
  partners.on('charge the card', (answer) => {
    charged++;
    atTheBank.push(answer);
    settle();
  });

  const buy = async (buyer: number): Promise<Reply> => {
    const pod = pods[buyer % pods.length] ?? pods[0];
    const reply = await post(pod, '/tickets/A1/purchase', { buyer: `buyer-${buyer}` });
    if (reply.status !== 201) {
      const retry = reply.retryAfter === null ? reply.message : `Retry-After: ${reply.retryAfter}`;
      stage.line(pod.name, `ticket A1: ${reply.status} for buyer-${buyer}, ${retry}`);
    }
    return reply;
  };
  const replies = await Promise.all(
    Array.from({ length: BUYERS }, async (_, index) => {
      const reply = await buy(index + 1);
      if (reply.status !== 201) {
        turnedAway++;
        settle();
      }
      return reply;
    }),
  );
  const late = await buy(BUYERS + 1);

  const sold = replies.filter(({ status }) => status === 201).length;
  const busy = replies.filter(({ status, retryAfter }) => status === 409 && retryAfter !== null).length;
  const { rows } = await database.query<{ buyer: string | null }>("SELECT buyer FROM tickets WHERE id = 'A1'");
  return [
    {
      check: `ticket A1, ${BUYERS} buyers at once`,
      seen: `${sold} × 201, ${busy} × 409 with Retry-After, sold to ${rows[0]?.buyer}`,
      ok: sold === 1 && busy === BUYERS - 1 && rows[0]?.buyer !== null,
    },
    { check: 'cards charged for it', seen: String(charged), ok: charged === 1 },
    {
      check: 'a buyer after the sale',
      seen: `${late.status} ${late.message}`,
      ok: late.status === 409 && late.retryAfter === null,
    },
  ];
};
