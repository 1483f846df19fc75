/** One pod under the name that it is given, with a dashboard. It does with locks what its parent says. */
import 'reflect-metadata';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import type { PodOrder } from './pod-process.js';

const { POD_NAME = 'pod', POD_NODES = '', POD_PORT = '0' } = process.env;
// On Kubernetes the host has the name of the pod; here all of them are on one host.
os.hostname = () => POD_NAME;
syncBuiltinESMExports();

const { startPod } = await import('./pod-app.js');
const { url, obey } = await startPod(POD_NODES.split(','), Number(POD_PORT));
process.on('message', (order: PodOrder) => void obey(order));
process.send!({ type: 'ready', url });
