/** All that the shop asks of PostgreSQL: single statements, each atomic by itself. Also the token that Nest injects it by. */
export abstract class Database {
  abstract query<Row = unknown>(sql: string, params?: readonly unknown[]): Promise<{ rows: Row[] }>;
  abstract close(): Promise<void>;
}
