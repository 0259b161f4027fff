import Decoder from 'kafkajs/src/protocol/decoder';
import decodeMessages from 'kafkajs/src/protocol/requests/fetch/v4/decodeMessages';
import response from 'kafkajs/src/protocol/requests/fetch/v11/response';

import { readRecordBatches } from './record-batches';

/**
 * Has kafkajs read its brokers' answers to fetches with `readRecordBatches`, in this whole process. Its own decoder takes
 * what that can't read, and all answers of brokers before Kafka 2.3.
 */
export function readFetchAnswersFast(): void {
  response.decode = decodeAnswer;
}

/** Of version 11, https://kafka.apache.org/protocol#The_Messages_Fetch. */
async function decodeAnswer(answer: Buffer): Promise<unknown> {
  const decoder = new Decoder(answer);
  const clientSideThrottleTime = decoder.readInt32();
  const errorCode = decoder.readInt16();
  const sessionId = decoder.readInt32();
  const responses = await decoder.readArrayAsync(async () => ({
    topicName: decoder.readString(),
    partitions: await decoder.readArrayAsync(decodePartition),
  }));
  // From this version on it's the client that has to wait: kafkajs does so for `clientSideThrottleTime`.
  return { throttleTime: 0, clientSideThrottleTime, errorCode, sessionId, responses };
}

async function decodePartition(decoder: Decoder): Promise<unknown> {
  return {
    partition: decoder.readInt32(),
    errorCode: decoder.readInt16(),
    highWatermark: decoder.readInt64().toString(),
    lastStableOffset: decoder.readInt64().toString(),
    lastStartOffset: decoder.readInt64().toString(),
    abortedTransactions: decoder.readArray(() => ({
      producerId: decoder.readInt64().toString(),
      firstOffset: decoder.readInt64().toString(),
    })),
    preferredReadReplica: decoder.readInt32(),
    messages: await readMessages(decoder),
  };
}

async function readMessages(decoder: Decoder): Promise<unknown[]> {
  const start = decoder.offset;
  const size = decoder.readInt32();
  if (size > 0 && decoder.canReadBytes(size)) {
    const records = readRecordBatches(decoder.readBytes(size) as Buffer);
    if (records !== undefined) return records;
  }
  decoder.offset = start;
  return decodeMessages(decoder);
}
