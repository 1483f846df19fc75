/** One instance of the shop, as the load balancer and the operator see it. */
export interface Pod {
  readonly name: string;
  readonly url: string;
  /** Stops it where it stands, and says how. */
  freeze(): string;
  /** Lets it go on, as if nothing had happened. */
  thaw(): void;
  close(): Promise<void>;
}
