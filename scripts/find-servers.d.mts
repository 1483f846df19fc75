export declare const serverCache: string;
export declare const postgresPackage: string;
export declare function findRedisServer(): string | undefined;
export declare function findPostgresBin(): string | undefined;
export declare function findPgBouncer(): string | undefined;
export declare function findChromium(): string | undefined;
export declare function findFaketime(): string | undefined;
