import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { startWorker } from '../form/worker.mjs';

const PROCESS = path.join(path.dirname(fileURLToPath(import.meta.url)), 'client-process.mjs');

/** @param {{ client: string, folder: string }} contestant @param {string[]} brokers */
export const startClient = ({ client, folder }, brokers) =>
  startWorker(PROCESS, [client, folder, ...brokers]);
