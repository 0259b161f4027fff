import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

const HOST = '127.0.0.1';
// Below every system's range for outgoing connections, one of which could otherwise sit on the port of a broker that is down.
const LOWEST = 15_000;
const HIGHEST = 32_000;

/** Different loopback ports that nobody listens on at the moment. */
export async function freePorts(count) {
  const ports = new Set();
  while (ports.size < count) {
    const port = randomInt(LOWEST, HIGHEST);
    if (!ports.has(port) && (await isFree(port))) ports.add(port);
  }
  return [...ports];
}

export function isFree(port) {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, HOST, () => probe.close(() => resolve(true)));
  });
}
