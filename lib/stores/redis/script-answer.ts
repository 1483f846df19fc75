import type { NodeReply, NodeRequest } from './lock-node.js';

/** What is said of a connection that broke under a command. */
export const CONNECTION_LOST = 'connection lost';
/** How clients say that the connection broke under a command: as advice on options that a user must not change here. */
const LOST = /^(Reached the max retries per request|Stream isn't writeable|Connection is closed)/;

/** What comes before the words of a server: of Redis 6, where a script fails; of a client that has asked a Cluster again and again. */
const PREAMBLE =
  /^(?:ERR Error running script.*?-(?=[A-Z]+ )|Too many Cluster redirections\. Last error: ReplyError: )/s;
/** How servers say to a script that the user may not: for a command, some key, or a channel. To whoever asks by themselves they say NOPERM. */
const DENIED = /ACL failure|The user executing the script can't|no permissions/i;

/** Why a call failed, in words that are worth showing. */
export function reason(error: unknown): string {
  const { message, name } = (error ?? {}) as Partial<Error>;
  const text = message || name || String(error);
  if (LOST.test(text)) return CONNECTION_LOST;
  const said = text.replace(PREAMBLE, '').trim();
  return DENIED.test(said) && !isDenial(said) ? `NOPERM ${said.replace(/^ERR /, '')}` : said;
}

/** Whether the user lacks a right. */
export function isDenial(why: string): boolean {
  return why.startsWith('NOPERM');
}

/** What a script said; a text is an error. */
export function toReply(answer: unknown): NodeReply | string {
  // A number may come as text: some clients are set to do so.
  if (!Array.isArray(answer)) return { status: 'yes', value: Number(answer) };
  const [code, value] = answer as [unknown, unknown];
  const status = Number(code);
  if (status < 0) return reason(value);
  if (status === 2) return { status: 'quarantined', value: Number(value) };
  if (!Array.isArray(value)) return { status: status === 0 ? 'no' : 'yes', value: Number(value) };
  const [owner, remainingMs, fence, waiters] = value as unknown[];
  if (status === 0) return { status: 'no', value: Number(remainingMs), holder: String(owner) };
  const state = { owner: String(owner), remainingMs: Number(remainingMs) };
  const line = Number(waiters) > 0 ? { waiters: Number(waiters) } : {};
  return { status: 'yes', value: Number(fence), state: { ...state, ...line } };
}

/** Whether this may have been refused only because it had been carried out before: what was to be released is gone, or the holder is the one who asks. */
export function isOwnDoing({ verb, owner }: NodeRequest, reply: NodeReply): boolean {
  return reply.status === 'no' && (verb === 'release' || reply.holder === owner);
}
