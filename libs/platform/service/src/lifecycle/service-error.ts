export type ServiceErrorCode = 'port-in-use' | 'port-forbidden' | 'host-unknown';

/** Why a service can't start. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';

  constructor(
    readonly code: ServiceErrorCode,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

/** What a failure to listen means to the reader; undefined for other errors. */
export function listenFailure(
  error: unknown,
  { host, port }: { host: string; port: number },
): ServiceError | undefined {
  const { code } = error as NodeJS.ErrnoException;
  const told = (kind: ServiceErrorCode, message: string): ServiceError =>
    new ServiceError(kind, message, { cause: error });
  if (code === 'EADDRINUSE') {
    return told(
      'port-in-use',
      `port ${port} on ${host} is in use by another program. Stop that one, or set UNDERTONE_PORT to another port (0 takes a free one).`,
    );
  }
  if (code === 'EACCES') {
    return told(
      'port-forbidden',
      `this user may not listen on port ${port} of ${host}. Set UNDERTONE_PORT to a port above 1023.`,
    );
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return told(
      'host-unknown',
      `${host} is not an address of this machine. Set UNDERTONE_HOST to one that is, or to 0.0.0.0.`,
    );
  }
  return undefined;
}
