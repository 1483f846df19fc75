/** Compiled only: what each further entry exports can be named where no optional package is installed. */
export * as dashboard from 'nestjs-fenced-lock/dashboard';
export * as postgres from 'nestjs-fenced-lock/postgres';
export * as terminus from 'nestjs-fenced-lock/terminus';
export * as testing from 'nestjs-fenced-lock/testing';
