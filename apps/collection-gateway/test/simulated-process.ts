import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';

import { type Crash } from './crash-plan';

const running = new AsyncLocalStorage<SimulatedProcess>();

/**
 * What `kill -9` can reach, within one process: the sockets that were opened by what ran in it. Killed, it loses
 * them all at once and gets no others, so whatever of it goes on running has no effect outside.
 */
export class SimulatedProcess {
  readonly died: Promise<void>;
  private readonly sockets = new Set<Socket>();
  private living = true;
  private tellDeath: () => void = () => undefined;
  private crashAt: (bytes: Buffer) => Crash | undefined = () => undefined;

  constructor() {
    this.died = new Promise((resolve) => (this.tellDeath = resolve));
  }

  get alive(): boolean {
    return this.living;
  }

  /** What the work opens, now and later, is this process's. */
  run<T>(work: () => T): T {
    return running.run(this, work);
  }

  kill(): void {
    this.living = false;
    this.tellDeath();
    for (const socket of this.sockets) socket.destroy(new Error('the process was killed'));
  }

  /** For clients that make their sockets themselves. */
  socket(): Socket {
    const socket = new Socket();
    this.adopt(socket);
    return socket;
  }

  /** Where what is about to be sent is lost, and what with it. */
  crashAtWrite(crash: (bytes: Buffer) => Crash | undefined): void {
    this.crashAt = crash;
  }

  adopt(socket: Socket): void {
    if (!this.living) {
      socket.connect = () => socket.destroy(new Error('the process was killed'));
      return;
    }
    this.sockets.add(socket);
    socket.once('close', () => this.sockets.delete(socket));
    const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
    socket.write = ((...args: unknown[]) => {
      const crash = Buffer.isBuffer(args[0]) ? this.crashAt(args[0]) : undefined;
      if (crash === undefined) return write(...args);
      const lose = (): void => this.lose(socket, crash);
      if (crash.when === 'after') write(args[0], lose);
      else lose();
      return false;
    }) as Socket['write'];
  }

  private lose(socket: Socket, { loses }: Crash): void {
    if (loses === 'process') this.kill();
    else socket.destroy(new Error('the connection was lost'));
  }
}

/** Gives sockets that libraries open to the process that they run in; until the result is called. */
export function attributeSockets(): () => void {
  const opened = (message: unknown): void =>
    running.getStore()?.adopt((message as { readonly socket: Socket }).socket);
  subscribe('net.client.socket', opened);
  return () => void unsubscribe('net.client.socket', opened);
}
