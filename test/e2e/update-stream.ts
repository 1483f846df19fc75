/** The updates of a dashboard, as a browser gets them. */
export class UpdateStream {
  readonly updates: any[] = [];
  readonly ended: Promise<void>;
  #wake: () => void = () => undefined;

  private constructor(
    readonly response: Response,
    private readonly abort: AbortController,
  ) {
    this.ended = this.#read();
  }

  static async open(url: string, headers: Record<string, string>): Promise<UpdateStream> {
    const abort = new AbortController();
    return new UpdateStream(await fetch(url, { headers, signal: abort.signal }), abort);
  }

  /** The client leaves. */
  async close(): Promise<void> {
    this.abort.abort();
    await this.ended.catch(() => undefined);
  }

  /** The first update that fits, of those before as well. */
  async until(fits: (update: any) => boolean): Promise<any> {
    for (;;) {
      const found: unknown = this.updates.find(fits);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  async #read(): Promise<void> {
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of this.response.body as unknown as AsyncIterable<Uint8Array>) {
      text += decoder.decode(chunk, { stream: true });
      const events = text.split('\n\n');
      text = events.pop()!;
      for (const event of events) this.updates.push(JSON.parse(event.replace(/^data: /, '')));
      this.#wake();
    }
  }
}
