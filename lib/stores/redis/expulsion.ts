import { LockUnavailableError } from '../../errors.js';
import type { NodeGroup } from './node-group.js';
import { Round } from './round.js';
import { Survey } from './survey.js';

/** Releases one owner's lock wherever it is. */
class Expulsion extends Round<boolean> {
  constructor(group: NodeGroup, key: string, owner: string) {
    super(group, { verb: 'release', key, owner, ms: 0, token: 0 });
  }

  /** True once a majority gave it up; then no renewal brings it back. */
  protected override count(): boolean | undefined {
    const { yes, failures, open, group } = this;
    if (yes.length >= group.quorum) return true;
    if (open > 0) return undefined;
    if (failures.length > 0 && yes.length + failures.length >= group.quorum) {
      throw new LockUnavailableError(this.request.key, failures);
    }
    return yes.length > 0;
  }
}

/**
 * Takes a key from whoever has it. That is asked first, and then each of them is released by name: so a command that comes late can take nothing from a later holder, and
 * those who wait are told as after any release.
 */
export async function expel(group: NodeGroup, key: string): Promise<boolean> {
  const survey = new Survey(group, key);
  const { owners, certain } = await survey.ask(group.nodes);
  if (owners.length === 0 && !certain) throw new LockUnavailableError(key, survey.failures);
  const gone = await Promise.all(owners.map((owner) => new Expulsion(group, key, owner).ask(group.nodes)));
  return gone.includes(true);
}
