/** `node --import ./test/support/ts-loader.mjs file.ts`: runs the sources as they are, decorators and their metadata included. */
import { register } from 'node:module';

register('./ts-loader-hooks.mjs', import.meta.url);
