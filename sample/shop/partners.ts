/** What the shop has to ask of others over the network, each time with its lock held and the clock ticking. */
export type Errand =
  | 'charge the card'
  | 'check for fraud'
  | 'audit the figures'
  | 'mail the invoices'
  | 'count the stock'
  | 'check a price';

export class Partners {
  constructor(private readonly url: string) {}

  /** Resolves when the partner is done, which may be long after. A partner that is shown the token can tell who came in which order. */
  async ask(errand: Errand, { token = 0 } = {}): Promise<void> {
    const response = await fetch(`${this.url}/${encodeURIComponent(errand)}?token=${token}`, { method: 'POST' });
    if (!response.ok) throw new Error(`The partner asked to ${errand} answered ${response.status}.`);
  }
}
