import { setTimeout } from 'node:timers/promises';
import type { Answer, PartnerServer } from '../partner-server.js';
import type { Pods } from '../pods/start-pods.js';
import type { Finding } from '../stage.js';
import { post, type Reply } from './client.js';
import type { Commentary } from './commentary.js';
import { Customers } from './customers.js';
import { Section } from './section.js';
import { until } from './until.js';

const SHORT_JOB_MS = 30;
const ANSWERS = [201, 409, 503];

/** One long job in the first pod, which the other pods would do as well, and short ones in all of them: each kind under one lock. */
export class Jobs {
  readonly long = new Section();
  readonly short = new Section();
  endLongJob: () => void = () => undefined;
  private readonly rivals: Customers;
  private readonly customers: Customers;
  private longReply: Reply | undefined;

  constructor(
    private readonly pods: Pods,
    partners: PartnerServer,
    private readonly commentary: Commentary,
  ) {
    this.rivals = new Customers('/jobs/long', (pod, reply) => commentary.on('next long job', pod, reply));
    this.customers = new Customers('/jobs/short', (pod, reply) => commentary.on('short job', pod, reply));
    const longJobEnds = new Promise<void>((resolve) => (this.endLongJob = resolve));
    partners.on('count the stock', (answer, token) => void visit(this.long, token, longJobEnds, answer));
    partners.on('check a price', (answer, token) => void visit(this.short, token, setTimeout(SHORT_JOB_MS), answer));
  }

  /** Jobs are done until this has been played. The signal aborts when something went wrong meanwhile. */
  async during(play: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const [first, ...others] = this.pods;
    const over = new AbortController();
    const end = (): void => {
      this.endLongJob();
      this.rivals.leave();
      this.customers.leave();
    };
    try {
      const longJob = post(first, '/jobs/long').then((reply) => {
        this.commentary.on('long job', first, reply);
        return reply;
      });
      await Promise.race([longJob, until(() => this.long.tokens.length > 0, over.signal)]);
      this.commentary.began('long job', first, this.long.tokens[0]);
      const played = play(over.signal).finally(end);
      [this.longReply] = await Promise.all([
        longJob,
        played,
        this.rivals.visit(others),
        this.customers.visit(this.pods),
      ]);
    } finally {
      over.abort();
    }
  }

  get findings(): Finding[] {
    const { long, short, rivals, customers, longReply } = this;
    const [done, refused] = [customers.count(201), customers.count(503)];
    const rose = long.tokensRose && short.tokensRose;
    const sameToken = longReply?.token === long.tokens[0];
    return [
      {
        check: 'the long job',
        seen: `answered ${longReply?.status}, ${sameToken ? 'with' : 'without'} the token that it began with`,
        ok: longReply?.status === 201 && sameToken,
      },
      {
        check: 'short jobs',
        seen: `${done} done, ${refused} × 503 while locks moved`,
        ok: done > 0 && refused > 0 && customers.gotOnly(ANSWERS) && rivals.gotOnly(ANSWERS),
      },
      {
        check: 'most holders at once',
        seen: `${long.mostAtOnce} of the long job's lock, ${short.mostAtOnce} of the short ones'`,
        ok: long.mostAtOnce === 1 && short.mostAtOnce === 1,
      },
      {
        check: 'tokens of these locks',
        seen: rose ? `rose with each of ${long.tokens.length + short.tokens.length} grants` : 'did not rise throughout',
        ok: rose && long.tokens.length > 1,
      },
    ];
  }
}

async function visit(section: Section, token: number, stay: Promise<void>, answer: Answer): Promise<void> {
  section.enter(token);
  await stay;
  section.leave();
  answer();
}
