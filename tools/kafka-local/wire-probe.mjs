// Two requests of Kafka's protocol, enough to know that a broker serves: https://kafka.apache.org/protocol
import { randomInt } from 'node:crypto';
import { connect } from 'node:net';

const HOST = '127.0.0.1';
const METADATA = { key: 3, version: 1 };
const FIND_COORDINATOR = { key: 10, version: 1 };
const CLIENT = 'kafka-local';

const int16 = (value) => {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
};
const int32 = (value) => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};
const string = (value) => Buffer.concat([int16(Buffer.byteLength(value)), Buffer.from(value)]);

/** The ids of the brokers that the one on this port takes for alive. */
export async function brokersSeenFrom(port) {
  const noTopics = int32(0);
  const answer = await request(port, METADATA, noTopics);
  const count = answer.readInt32BE(0);
  const ids = [];
  for (let at = 4; ids.length < count;) {
    ids.push(answer.readInt32BE(at));
    at += 4;
    at += 2 + answer.readInt16BE(at); // host
    at += 4; // port
    at += 2 + Math.max(0, answer.readInt16BE(at)); // rack, -1 for none
  }
  return ids;
}

/** 0 when a coordinator of this kind serves; asking makes the broker create the topic that it needs. */
export async function coordinatorError(port, kind) {
  const type = Buffer.from([{ group: 0, transaction: 1 }[kind]]);
  const answer = await request(port, FIND_COORDINATOR, Buffer.concat([string(CLIENT), type]));
  return answer.readInt16BE(4); // after the throttle time
}

/** One request, one answer, one connection; resolves to the answer's body. */
function request(port, { key, version }, body, timeoutMs = 2000) {
  return new Promise((resolve, reject) => {
    const correlation = randomInt(2 ** 31 - 1);
    const message = Buffer.concat([int16(key), int16(version), int32(correlation), string(CLIENT), body]);
    const socket = connect(port, HOST);
    const fail = (error) => {
      socket.destroy();
      reject(error);
    };
    socket.setTimeout(timeoutMs, () => fail(new Error(`no answer within ${timeoutMs} ms`)));
    socket.on('error', fail);
    socket.on('close', () => reject(new Error('the connection was closed without an answer')));
    socket.on('connect', () => socket.write(Buffer.concat([int32(message.length), message])));
    let received = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      if (received.length < 4 || received.length < 4 + received.readInt32BE(0)) return;
      if (received.readInt32BE(4) !== correlation) fail(new Error('the answer belongs to another request'));
      else resolve(received.subarray(8, 4 + received.readInt32BE(0)));
      socket.destroy();
    });
  });
}
