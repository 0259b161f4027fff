import { type Stopped, stopOnSignal } from './shutdown';

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('stopOnSignal', () => {
  const before = process.listenerCount('SIGTERM');
  afterEach(() => expect(process.listenerCount('SIGTERM')).toBe(before));

  it('stops in order at SIGTERM and tells so', async () => {
    const told: string[] = [];
    const stopped = stopOnSignal({
      timeoutMs: 1_000,
      onSignal: (signal) => told.push(signal),
      stop: async () => {
        await settle();
        told.push('stopped');
      },
    });
    process.emit('SIGTERM', 'SIGTERM');
    expect(await stopped).toEqual<Stopped>({ signal: 'SIGTERM', outcome: 'in-order' });
    expect(told).toEqual(['SIGTERM', 'stopped']);
  });

  it('gives up at the deadline', async () => {
    const stopped = stopOnSignal({ timeoutMs: 20, stop: () => new Promise(() => undefined) });
    process.emit('SIGINT', 'SIGINT');
    expect(await stopped).toEqual<Stopped>({ signal: 'SIGINT', outcome: 'timed-out' });
  });

  it('tells of a stop that failed, also of one that throws at once', async () => {
    const error = new Error('no');
    const stopped = stopOnSignal({
      timeoutMs: 1_000,
      stop: () => {
        throw error;
      },
    });
    process.emit('SIGINT', 'SIGINT');
    expect(await stopped).toEqual<Stopped>({ signal: 'SIGINT', outcome: 'failed', error });
  });

  it('stops once, and hears the second signal as impatience', async () => {
    let stops = 0;
    let impatience = 0;
    let finish = (): void => undefined;
    const stopped = stopOnSignal({
      timeoutMs: 1_000,
      onImpatience: () => (impatience += 1),
      stop: () => {
        stops += 1;
        return new Promise((resolve) => (finish = resolve));
      },
    });
    process.emit('SIGINT', 'SIGINT');
    await settle();
    process.emit('SIGINT', 'SIGINT');
    finish();
    await stopped;
    expect({ stops, impatience }).toEqual({ stops: 1, impatience: 1 });
  });
});
