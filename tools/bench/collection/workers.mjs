import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { startWorker } from '../form/worker.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));

const starter =
  (file) =>
  (stops, ...args) => {
    const worker = startWorker(path.join(here, file), args);
    stops.add(() => worker.stop());
    return worker;
  };

/** Each starts a process that ends with `stops`. */
export const startDevices = starter('devices.mjs');
export const startProducer = starter('producer.mjs');
export const startConsumer = starter('consumer.mjs');
export const startEcho = starter('echo.mjs');
export const startCopyStream = starter('copy-stream.mjs');
