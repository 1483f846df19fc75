/** Where a pod says what it does. Also the token that Nest injects it by. */
export abstract class Journal {
  abstract write(event: string, token?: number): void;
}
