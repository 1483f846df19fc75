import type { Pod } from '../pods/pod.js';
import type { Stage } from '../stage.js';
import type { AuthorityWatch } from './authority-watch.js';
import type { Reply } from './client.js';

const WORDS: Record<number, string> = {
  201: 'done',
  409: '409, another pod has its lock',
  503: '503 (LockUnavailableError), nobody can get its lock now',
};

/** Says how pods answer: of the same answers under the same authority, the first. */
export class Commentary {
  private readonly said = new Set<string>();

  constructor(
    private readonly stage: Stage,
    private readonly authority: AuthorityWatch,
  ) {}

  began(job: string, pod: Pod, token: number | undefined): void {
    this.stage.line(pod.name, `${job}: at work`, token);
  }

  on(job: string, pod: Pod, { status, token }: Reply): void {
    // Refusals are all alike, whatever the reason.
    const occasion = `${job} ${status} ${status === 503 ? '' : this.authority.states.length}`;
    if (this.said.has(occasion)) return;
    this.said.add(occasion);
    this.stage.line(pod.name, `${job}: ${WORDS[status] ?? status}`, token);
  }
}
