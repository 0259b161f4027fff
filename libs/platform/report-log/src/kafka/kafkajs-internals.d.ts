// Of kafkajs 2.2.4, which has no further releases: what `fetch-answers.ts` and the tests beside it take from its inside.

declare module 'kafkajs/src/protocol/decoder' {
  class Decoder {
    offset: number;
    readonly buffer: Buffer;
    constructor(buffer: Buffer);
    readInt16(): number;
    readInt32(): number;
    readInt64(): bigint;
    readString(): string | null;
    readArray<T>(read: (decoder: Decoder) => T): T[];
    readArrayAsync<T>(read: (decoder: Decoder) => Promise<T>): Promise<T[]>;
    canReadBytes(length: number): boolean;
    readBytes(length?: number): Buffer | null;
  }
  export = Decoder;
}

declare module 'kafkajs/src/protocol/requests/fetch/v4/decodeMessages' {
  import type Decoder from 'kafkajs/src/protocol/decoder';
  function decodeMessages(decoder: Decoder): Promise<unknown[]>;
  export = decodeMessages;
}

declare module 'kafkajs/src/protocol/requests/fetch/v11/response' {
  const response: { decode(answer: Buffer): Promise<unknown> };
  export = response;
}

declare module 'kafkajs/src/protocol/requests/fetch' {
  import type response from 'kafkajs/src/protocol/requests/fetch/v11/response';
  interface Version {
    readonly response: typeof response;
  }
  const fetch: {
    readonly versions: readonly string[];
    protocol(which: { version: number }): (asked: { topics: readonly []; maxWaitTime: number }) => Version;
  };
  export = fetch;
}
