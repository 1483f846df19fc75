import type { LockRow } from '../../protocol.js';
import type { Dom } from './dom.js';
import type { PageWindow } from './dom-types.js';
import type { Text } from './text.js';

/** Takes a lock from its holder, after asking. */
export function createRelease(
  window: Pick<PageWindow, 'fetch'>,
  dom: Dom,
  text: Text,
  base: string,
  header: { readonly name: string; readonly value: string },
  announce: (message: string) => void,
) {
  const { byId, say } = dom;
  const dialog = byId('confirm');
  const message = byId('confirm-message');
  const go = byId('confirm-go');
  let asked: LockRow | undefined;

  const OUTCOMES: Readonly<Record<string, string>> = {
    released: 'was released',
    free: 'was free already',
    moved: 'was not released: somebody else holds it by now',
  };
  const FAILURES: Readonly<Record<number, string>> = {
    401: 'you are not signed in any more',
    403: 'you may not',
    404: 'releasing is not enabled where this was sent',
    501: 'this store cannot release what others hold',
    503: 'the store cannot tell whether it is free; look at its nodes, and try again',
  };

  function ask(row: LockRow): void {
    asked = row;
    say(byId('confirm-key'), row.key);
    say(byId('confirm-holder'), text.holder(row));
    say(message, '');
    go.disabled = false;
    dialog.showModal();
    byId('confirm-cancel').focus();
  }

  async function send({ key, id }: LockRow): Promise<string> {
    const reply = await window.fetch(`${base}/release`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', [header.name]: header.value },
      body: JSON.stringify({ key, id }),
      redirect: 'error',
    });
    if (!reply.ok) throw new Error(FAILURES[reply.status] ?? `the server answered ${reply.status}`);
    const { outcome } = (await reply.json()) as { outcome: string };
    return `${key} ${OUTCOMES[outcome] ?? outcome}.`;
  }

  async function confirm(): Promise<void> {
    if (!asked) return;
    go.disabled = true;
    say(message, 'Releasing …');
    try {
      const said = await send(asked);
      dialog.close();
      // The button that opened it is gone with the lock.
      byId('detail').focus({ preventScroll: true });
      announce(said);
    } catch (error) {
      // It stays open: whoever asked is to know, and may try again.
      say(message, `Not released: ${(error as Error).message}.`);
      go.disabled = false;
    }
  }

  go.addEventListener('click', () => void confirm());
  byId('confirm-cancel').addEventListener('click', () => dialog.close());

  return { ask };
}

export type Release = ReturnType<typeof createRelease>;
