import { createServer, type Socket } from 'node:net';

import { connectImpatiently } from './kafka-connection';

let refusing: { readonly port: number; close(): void };

/** Takes connections and ends them at once. */
beforeAll(async () => {
  const server = createServer((socket: Socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  refusing = { port, close: () => server.close() };
});
afterAll(() => refusing.close());

const tryToConnect = async (times: number, onWarning?: (line: string) => void): Promise<void> => {
  const kafka = connectImpatiently({ brokers: [`127.0.0.1:${refusing.port}`], clientId: 'spec', onWarning });
  for (let i = 0; i < times; i++)
    await kafka
      .admin()
      .connect()
      .catch(() => undefined);
};

it('tells what the client warns of, and the same once', async () => {
  const lines: string[] = [];
  await tryToConnect(3, (line) => lines.push(line));
  expect(lines.length).toBeGreaterThan(0);
  expect(new Set(lines).size).toBe(lines.length);
  expect(lines.every((line) => line.startsWith('Kafka client, '))).toBe(true);
});

it('warns of nothing that is meant to be so', async () => {
  const lines: string[] = [];
  connectImpatiently({
    brokers: ['127.0.0.1:1'],
    clientId: 'spec',
    onWarning: (line) => lines.push(line),
  }).producer({
    idempotent: true,
    createPartitioner: () => () => 0,
  });
  expect(lines).toEqual([]);
});

it('prints nothing by itself', async () => {
  const write = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  const log = jest.spyOn(console, 'log').mockReturnValue(undefined);
  await tryToConnect(1);
  expect([...write.mock.calls, ...log.mock.calls]).toEqual([]);
  jest.restoreAllMocks();
});
