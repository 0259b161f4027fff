import { type Pool } from 'pg';

/**
 * Lets a process outlive the loss of any of a pool's connections. A lost one says so by an event, and where nobody
 * listens that ends the process: an idle one through the pool, and one that the pool has just handed over by itself,
 * before its new owner can listen.
 *
 * @param onLost told of a connection that was lost while idle; the pool replaces it
 */
export function outliveConnections(pool: Pool, onLost: (error: Error) => void = () => undefined): void {
  pool.on('error', (error) => onLost(error));
  // A query that the connection is lost under fails with it, whoever else listens.
  pool.on('connect', (client) => client.on('error', () => undefined));
}
